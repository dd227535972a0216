//! Sees that a holder is gone: waits for its lock on a second connection, each time for a bounded while.
//!
//! A wait without a bound would keep the server from clearing up old rows. Only a few of all who stand by wait for a holder,
//! and only for one of its locks: they all end together. Whether enough wait already is asked over the session that is
//! there, so the others need no second connection. What is waited for is never kept: whoever is woken campaigns, and the
//! server tells all others by itself, in case those who waited stand still.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tenure_store::remote::hub::Ear;
use tenure_store::{Hint, Interest};
use tokio::sync::Notify;
use tokio_postgres::types::{ToSql, Type};

use super::super::connect::Session;
use super::super::error::Fault;
use super::book::Lock;
use super::locks::{self, Sight};
use super::notice::{Notice, channel_name};
use super::office::Office;
use super::push::part;

/// What is to be waited for.
#[derive(Default)]
pub(super) struct Posts {
    posts: Mutex<VecDeque<Post>>,
    added: Notify,
    /// The holder that is waited for this moment; 0 when none is.
    waits_for: AtomicI32,
}

/// One lock of a holder.
#[derive(Debug, Clone, Copy)]
struct Post {
    holder: i32,
    id: i64,
    /// How long one wait lasts.
    bound: Duration,
    /// How long others may go first, at most.
    pause: Duration,
}

/// The second connection.
struct Watch {
    session: Session,
    /// Which part of a bound its waits last, so that those who began together do not end together.
    part: f64,
    /// How long each wait on it lasts.
    bound: Option<Duration>,
}

/// What became of a wait.
enum Wait {
    /// The lock was free.
    Over,
    /// It still is not.
    Bounded,
    /// Enough others wait for it.
    Watched,
}

const WAIT: &str = include_str!("sql/wait.sql");
/// So many wait for a holder. One would do if it could not be gone itself; more would only cost more connections.
pub(super) const WAITERS_MAX: i64 = 5;
const BOUND_MIN: Duration = Duration::from_millis(500);
const BOUND_MAX: Duration = Duration::from_secs(15);
/// When there can be no second connection, candidates are told to look by themselves this often.
const BACK_OFF: Duration = Duration::from_secs(2);
/// Before the first wait, up to this long, so that of many only a few go on.
pub(super) const PAUSE: Duration = Duration::from_millis(200);
/// A connection that is not needed is kept this long: after a change there is soon somebody else to wait for.
const KEPT_FOR: Duration = Duration::from_secs(5);
/// Whoever gives a lock back says so within this. It is little beside what is waited for after a leader that did not.
const WORD: Duration = Duration::from_millis(10);

impl Posts {
    /// Too few wait for this holder.
    pub(super) fn add(&self, holder: i32, id: i64, ttl: Duration, pause: Duration) {
        let mut posts = self.posts();
        if !posts.iter().any(|post| post.holder == holder) {
            posts.push_back(Post { holder, id, bound: (ttl / 2).clamp(BOUND_MIN, BOUND_MAX), pause });
            self.added.notify_one();
        }
    }

    /// The next one, which goes to the end of the line; with several, each wait is shorter.
    fn next(&self) -> Option<Post> {
        let mut posts = self.posts();
        let count = u32::try_from(posts.len()).unwrap_or(u32::MAX);
        let post = posts.pop_front()?;
        posts.push_back(Post { pause: Duration::ZERO, ..post });
        Some(Post { bound: (post.bound / count).max(BOUND_MIN), ..post })
    }

    /// Whether this process is the one that will be woken when this holder is gone.
    pub(super) fn is_waiting_for(&self, holder: i32) -> bool {
        self.waits_for.load(Ordering::Relaxed) == holder
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
    let mut watch = None;
    loop {
        if !has_post(office, watch.is_some()).await {
            watch = None;
        }
        let Some(office) = office.upgrade() else { return };
        if let Err(fault) = stand_watch(&office, ear, &mut watch).await {
            log!(debug, "nobody is woken when a leader is gone: {fault}");
            watch = None;
            office.posts.waits_for.store(0, Ordering::Relaxed);
            office.posts.posts().clear();
            drop(office);
            // Waits because a server that has no room, or is about to end, is not to be asked again at once.
            tokio::time::sleep(BACK_OFF).await;
            ear.tell(Interest::Own, Hint::anywhere());
        }
    }
}

/// Waits until there is something to wait for, or a connection has been kept for long enough, or the handle is gone. Nobody
/// is kept alive by it.
async fn has_post(office: &Weak<Office>, is_kept: bool) -> bool {
    let began = Instant::now();
    while let Some(office) = office.upgrade() {
        if !office.posts.posts().is_empty() {
            return true;
        }
        if is_kept && began.elapsed() >= KEPT_FOR {
            return false;
        }
        // Waits because the end of a handle is not told.
        let _ = tokio::time::timeout(BACK_OFF, office.posts.added.notified()).await;
    }
    false
}

/// Until nothing is left to wait for.
async fn stand_watch(office: &Office, ear: &Ear, watch: &mut Option<Watch>) -> Result<(), Fault> {
    while let Some(post) = office.posts.next() {
        if !post.pause.is_zero() {
            // Waits because of many who would wait at the same time all but a few should stop.
            tokio::time::sleep(post.pause.mul_f64(part())).await;
        }
        watch.take_if(|watch| watch.session.is_closed());
        let outcome = match watch {
            Some(watch) => watch.wait(office, &post).await?,
            None => match look(office, &post).await? {
                Some(outcome) => outcome,
                None => {
                    let (session, _messages) = office.endpoint.connect().await?;
                    watch.insert(Watch { session, part: 1.0 - part() / 5.0, bound: None }).wait(office, &post).await?
                }
            },
        };
        match outcome {
            Wait::Over => {
                office.posts.remove(post.holder);
                // Waits because a lock that was given back can be used at once, and one that was not cannot.
                tokio::time::sleep(WORD).await;
                for key in office.standing().waiting_for(post.holder, office.clock.now()) {
                    ear.tell(Interest::Own, Hint::at(key));
                }
            }
            Wait::Watched => {
                office.posts.remove(post.holder);
                office.standing().watched(post.holder);
            }
            Wait::Bounded => {
                if office.standing().waiting_for(post.holder, office.clock.now()).is_empty() {
                    office.posts.remove(post.holder);
                }
            }
        }
    }
    Ok(())
}

/// What a wait would come to, as far as the session that is there can tell; none if it would be a wait.
async fn look(office: &Office, post: &Post) -> Result<Option<Wait>, Fault> {
    let session = office.session().await?;
    // What it is marked with is of no interest here.
    let sights = locks::look(&session, &[Lock { id: post.id, tag: 0 }]).await?;
    Ok(match sights.get(&post.id) {
        Some(Sight::Held(holder)) if holder.pid == post.holder => {
            (holder.waiters >= WAITERS_MAX).then_some(Wait::Watched)
        }
        _ => Some(Wait::Over),
    })
}

impl Watch {
    async fn wait(&mut self, office: &Office, post: &Post) -> Result<Wait, Fault> {
        let bound = post.bound.mul_f64(self.part);
        if self.bound != Some(bound) {
            limit(&self.session, bound).await?;
            self.bound = Some(bound);
        }
        office.posts.waits_for.store(post.holder, Ordering::Relaxed);
        let outcome = wait(&self.session, post).await;
        office.posts.waits_for.store(0, Ordering::Relaxed);
        outcome
    }
}

/// How long each wait on this session lasts from now on.
async fn limit(session: &Session, bound: Duration) -> Result<(), Fault> {
    let sql = "SELECT pg_catalog.set_config('lock_timeout', $1, false), \
               pg_catalog.set_config('statement_timeout', '60s', false), \
               pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)";
    session.query(sql, &[(&bound.as_millis().to_string(), Type::TEXT)]).await.map(drop)
}

async fn wait(session: &Session, post: &Post) -> Result<Wait, Fault> {
    let told = Notice::Gone(post.holder).payload();
    let parameters: [(&(dyn ToSql + Sync), Type); 4] =
        [(&post.id, Type::INT8), (&WAITERS_MAX, Type::INT8), (&channel_name(), Type::TEXT), (&told, Type::TEXT)];
    match session.query(WAIT, &parameters).await {
        Ok(rows) if rows.is_empty() => Ok(Wait::Watched),
        Ok(_) => Ok(Wait::Over),
        Err(Fault::Refused(error)) if error.code().is_some_and(|code| code.code() == "55P03") => Ok(Wait::Bounded),
        Err(fault) => Err(fault),
    }
}
