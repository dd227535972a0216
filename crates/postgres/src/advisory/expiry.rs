//! Releases expired locks: an advisory lock never expires by itself, and a lease must.

use std::sync::Weak;
use std::time::Duration;

use super::locks;
use super::notice::{Notice, tell_released};
use super::session::LockSession;

/// The delay before cleaning up after a failed statement, unless that happens earlier.
const AGAIN: Duration = Duration::from_secs(1);

/// Runs until the session is over.
pub(super) async fn watch(session: Weak<LockSession>) {
    loop {
        let Some(session) = session.upgrade().filter(|session| !session.is_over()) else { return };
        let (next, clock) = (session.held_locks().next_lapse(), session.clock.clone());
        let is_unsure = session.is_unsure();
        let changed = session.changed.notified();
        tokio::select! {
            () = changed => {}
            // Looks now and then whether the session is still there, and holds it only that long.
            () = tokio::time::sleep(AGAIN) => {
                if is_unsure {
                    let _turn = session.turn.lock().await;
                    // Whoever wants something of it will be told what is wrong.
                    let _ = tidy(&session).await;
                }
            }
            () = async { match next {
                Some(at) => clock.sleep_until(at).await,
                None => std::future::pending().await,
            } } => {
                let _turn = session.turn.lock().await;
                let _ = tidy(&session).await;
            }
        }
    }
}

/// Gives back what has lapsed, and clears up after a statement that failed. Must be called by whoever has the turn.
pub(super) async fn tidy(session: &LockSession) -> Result<(), super::PostgresStoreError> {
    let lapsed = session.held_locks().take_lapsed(session.now());
    if !lapsed.is_empty() {
        log!(debug, count = lapsed.len(), "releasing locks that were not renewed");
        let release = session.next_release();
        locks::release(session, &lapsed, &release).await?;
        let notices: Vec<Notice> = lapsed.into_iter().map(|hold| Notice::Freed(hold.key, None)).collect();
        tell_released(session, &notices, &release).await;
    }
    if session.is_unsure() {
        locks::audit(session).await?;
    }
    Ok(())
}
