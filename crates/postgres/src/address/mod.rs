//! Addresses: from a URL, or the configuration of another driver, to servers and how to reach them.
//!
//! | file | what it holds |
//! |---|---|
//! | `parse`, `driver` | the two ways to a configuration |
//! | `settings`, `environment` | what an address says, and what counts where it is silent |
//! | `hosts`, `server` | the servers that it names, and one of them as the driver wants it |
//! | `tls`, `certificates`, `passfile` | encryption, its files, and passwords |

mod certificates;
pub(super) mod driver;
pub(super) mod environment;
mod hosts;
pub(super) mod parse;
mod passfile;
pub(super) mod server;
mod settings;
pub(super) mod tls;
