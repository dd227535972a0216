//! All stores keep the same rules: the same requests, drawn from a seed, get the same answers from each of them.

#![expect(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

mod ledgers;
mod mailboxes;
mod stores;
