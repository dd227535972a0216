//! What tests of tenure need to be unkind: real processes and stores, signals, and a bad network.
