//! The rules by which a store's records change, as pure functions: of the lease, the messages and the jobs of an election.
//!
//! Stores that decide in their own process run these rules on what they keep, and so does the simulation: what is proved of
//! them there is proved of the stores. Lua and SQL that decide in a server are held to them by tests.

pub mod ledger;
pub mod mailbox;
pub mod record;
