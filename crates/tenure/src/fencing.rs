//! Fences that reject stale writes to PostgreSQL and Redis.
//!
//! A leader's write can still be in flight when its lease ends. Only a resource that compares terms can reject it; the
//! guide `docs/fencing.md` shows how databases, services and scripts do that.

#[cfg(feature = "postgres")]
#[doc(inline)]
pub use tenure_postgres::fencing::{PostgresFence, PostgresFenceError};
#[cfg(feature = "redis")]
#[doc(inline)]
pub use tenure_redis::fencing::{RedisFence, is_stale};
