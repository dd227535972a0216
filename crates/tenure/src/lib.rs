//! Leader election that never lies.

mod clock;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;

pub use clock::Clock;
pub use store::{MemoryStore, Store, StoreError, StoreUrl};
