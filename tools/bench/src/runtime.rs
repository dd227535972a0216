//! What asynchronous clients run on here.

use tokio::runtime::{Builder, Runtime};

/// The kind of runtime that a handle of the library has.
pub(crate) fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
