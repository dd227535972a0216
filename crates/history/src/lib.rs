//! Reads the events of real processes and says whether two of them ever led at once.
