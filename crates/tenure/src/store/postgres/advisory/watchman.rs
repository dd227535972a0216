//! Sees that a holder is gone: waits for its lock on a second connection, each time for a bounded while.
//!
//! A wait without a bound would keep the server from clearing up old rows. Only one of all who stand by waits for a holder,
//! and only for one of its locks: they all end together. What is waited for is never kept: whoever is woken campaigns.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_postgres::types::Type;

use super::super::connect::Session;
use super::super::error::Fault;
use super::office::Office;
use crate::store::remote::hub::Ear;
use crate::store::{Hint, Interest};

/// What is to be waited for.
#[derive(Default)]
pub(super) struct Posts {
    posts: Mutex<VecDeque<Post>>,
    added: Notify,
}

/// One lock of a holder.
#[derive(Debug, Clone, Copy)]
struct Post {
    holder: i32,
    id: i64,
    /// How long one wait lasts.
    bound: Duration,
}

/// What became of a wait.
enum Wait {
    /// The lock was free.
    Over,
    /// It still is not.
    Bounded,
    /// Somebody else waits for it.
    Watched,
}

const WAIT: &str = include_str!("sql/wait.sql");
const BOUND_MIN: Duration = Duration::from_millis(500);
const BOUND_MAX: Duration = Duration::from_secs(15);
/// When there can be no second connection, candidates are told to look by themselves this often.
const BACK_OFF: Duration = Duration::from_secs(2);
/// Between two waits, up to this long, so that of several only one goes on.
const PAUSE: Duration = Duration::from_millis(200);

impl Posts {
    /// Nobody waits for this holder yet.
    pub(super) fn add(&self, holder: i32, id: i64, ttl: Duration) {
        let mut posts = self.posts();
        if !posts.iter().any(|post| post.holder == holder) {
            posts.push_back(Post { holder, id, bound: (ttl / 2).clamp(BOUND_MIN, BOUND_MAX) });
            self.added.notify_one();
        }
    }

    /// The next one, which goes to the end of the line; with several, each wait is shorter.
    fn next(&self) -> Option<Post> {
        let mut posts = self.posts();
        let count = u32::try_from(posts.len()).unwrap_or(u32::MAX);
        let post = posts.pop_front()?;
        posts.push_back(post);
        Some(Post { bound: (post.bound / count).max(BOUND_MIN), ..post })
    }

    fn remove(&self, holder: i32) {
        self.posts().retain(|post| post.holder != holder);
    }

    fn posts(&self) -> MutexGuard<'_, VecDeque<Post>> {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Goes on until the handle is gone.
pub(super) async fn watch(office: &Weak<Office>, ear: &Ear) {
    loop {
        let Some(endpoint) = next_endpoint(office).await else { return };
        let connected = endpoint.connect().await;
        let Some(office) = office.upgrade() else { return };
        let failed = match connected {
            Ok((session, _messages)) => {
                drop(endpoint);
                stand_watch(&office, ear, &session).await.err()
            }
            Err(fault) => Some(fault),
        };
        if let Some(fault) = failed {
            tracing::debug!("nobody is woken when a leader is gone: {fault}");
            office.posts.posts().clear();
            drop(office);
            // Waits because a server that has no room, or is about to end, is not to be asked again at once.
            tokio::time::sleep(BACK_OFF).await;
            ear.tell(Interest::Own, Hint::anywhere());
        }
    }
}

/// Waits until there is something to wait for. Nobody is kept alive by it.
async fn next_endpoint(office: &Weak<Office>) -> Option<super::super::connect::Endpoint> {
    loop {
        let office = office.upgrade()?;
        if !office.posts.posts().is_empty() {
            return Some(office.endpoint.clone());
        }
        // Waits because the end of a handle is not told.
        let _ = tokio::time::timeout(BACK_OFF, office.posts.added.notified()).await;
    }
}

/// Until nothing is left to wait for.
async fn stand_watch(office: &Office, ear: &Ear, session: &Session) -> Result<(), Fault> {
    let mut bound = None;
    while let Some(post) = office.posts.next() {
        if bound != Some(post.bound) {
            limit(session, post.bound).await?;
            bound = Some(post.bound);
        }
        match wait(session, &post).await? {
            Wait::Over => {
                office.posts.remove(post.holder);
                for key in office.standing().waiting_for(post.holder, office.clock.now()) {
                    ear.tell(Interest::Own, Hint::at(key));
                }
            }
            Wait::Watched => office.posts.remove(post.holder),
            Wait::Bounded => {
                if office.standing().waiting_for(post.holder, office.clock.now()).is_empty() {
                    office.posts.remove(post.holder);
                }
                let spread = f64::from(getrandom::u32().unwrap_or_default()) / f64::from(u32::MAX);
                // Waits because of several who wait at the same time all but one should stop.
                tokio::time::sleep(PAUSE.mul_f64(spread)).await;
            }
        }
    }
    Ok(())
}

/// How long each wait on this session lasts from now on.
async fn limit(session: &Session, bound: Duration) -> Result<(), Fault> {
    let sql = "SELECT set_config('lock_timeout', $1, false), set_config('statement_timeout', '60s', false)";
    session.query(sql, &[(&bound.as_millis().to_string(), Type::TEXT)]).await.map(drop)
}

async fn wait(session: &Session, post: &Post) -> Result<Wait, Fault> {
    match session.query(WAIT, &[(&post.id, Type::INT8)]).await {
        Ok(rows) if rows.is_empty() => Ok(Wait::Watched),
        Ok(_) => Ok(Wait::Over),
        Err(Fault::Refused(error)) if error.code().is_some_and(|code| code.code() == "55P03") => Ok(Wait::Bounded),
        Err(fault) => Err(fault),
    }
}
