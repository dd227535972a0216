//! Releasing the lease of a process that died, from another process.
//!
//! A lease that nobody gives back is free when it has run out. A process that lives on beside the leader, and knows that
//! nothing of the leader's work is left, need not let everybody wait for that: it is handed, while all is well, what it
//! takes to [open the store](StoreAccess) and to [release the lease](OrphanLease), and resigns in the place of the dead.
//!
//! The resignation is conditional on nonce and term, as every other: it releases this grant and no later one. That the
//! nonce may still be on its way to the store in a campaign of the dead process does no harm: whatever that is granted,
//! nobody acts under it, and it runs out.

mod helper;
mod order;
mod orphan_lease;
mod store_access;

use std::time::Duration;

pub(crate) use self::helper::CrashHelper;
pub use self::order::{HelperOrder, READY};
pub use self::orphan_lease::OrphanLease;
pub use self::store_access::{StoreAccess, credential_variables};
use crate::store::StoreError;

/// The hidden command of `tenure` that is a crash helper.
pub const CRASH_HELPER: &str = "__crash-helper";

/// Releases these leases, in one attempt that takes `limit` at most. Blocks this thread.
///
/// Call it only when nothing acts under these leases any more.
///
/// # Errors
/// When the store cannot be opened, does not answer in time, or refuses. The leases then run out, unless the store has
/// released them without saying so.
pub fn release(access: StoreAccess, leases: Vec<OrphanLease>, limit: Duration) -> Result<(), StoreError> {
    let (answer, answered) = std::sync::mpsc::channel();
    // On a thread of its own, because a file system that hangs holds up whoever opens a file. It is not waited for.
    let attempt = move || {
        // Whoever waited has gone.
        let _ = answer.send(attempt(&access, &leases));
    };
    let thread = std::thread::Builder::new().name("tenure-release".to_owned()).spawn(attempt);
    if let Err(error) = thread {
        return Err(not_sent(format!("cannot start a thread: {error}")));
    }
    answered.recv_timeout(limit).unwrap_or_else(|_| {
        let message = format!("no answer from the store within {limit:?}");
        Err(StoreError::unknown(crate::store::StoreErrorKind::TimedOut, message))
    })
}

fn attempt(access: &StoreAccess, leases: &[OrphanLease]) -> Result<(), StoreError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| not_sent(format!("cannot start a runtime: {error}")))?;
    let batch: Vec<_> = leases.iter().map(OrphanLease::resignation).collect();
    runtime.block_on(async {
        let store = access.open()?;
        store.resign(&batch).await.into_iter().collect()
    })
}

fn not_sent(message: String) -> StoreError {
    StoreError::not_sent(crate::store::StoreErrorKind::Unavailable, message)
}
