//! Leader election that never lies.

mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;

pub use clock::Clock;
pub use store::{MemoryStore, Store, StoreError, StoreUrl};
