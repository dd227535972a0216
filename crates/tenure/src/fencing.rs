//! Making stale writes harmless, where `tenure` knows the resource.
//!
//! A leader's write can still be in flight when its lease ends. Only a resource that compares terms can refuse it; the
//! guide `docs/fencing.md` tells how to teach that to databases, services and scripts.

#[cfg(feature = "postgres")]
#[doc(inline)]
pub use tenure_postgres::fencing::{PostgresFence, PostgresFenceError};
#[cfg(feature = "redis")]
#[doc(inline)]
pub use tenure_redis::fencing::{RedisFence, is_stale};
