//! What is particular to the SQLite store: files, processes and the kernel between them.
#![cfg(feature = "sqlite")]

mod crash;
mod death;
mod files;
mod handover;
mod roles;
mod support;
