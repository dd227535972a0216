//! A clock that moves when a test says so.

use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select};
use tenure_core::Instant;
use tokio::sync::watch;

/// A clock that stands still until it is moved. Moving it wakes everything that waits for it.
///
/// ```
/// use std::time::Duration;
/// use tenure::Clock;
/// use tenure::testing::VirtualClock;
///
/// let hands = VirtualClock::new();
/// let clock = Clock::controlled_by(&hands);
/// let before = clock.now();
/// hands.advance(Duration::from_secs(3600));
/// assert_eq!(clock.now().saturating_since(before), Duration::from_secs(3600));
/// ```
///
/// What waits for time to pass waits for ever if nobody moves the clock. [`drive`](Self::drive) and
/// [`block_on`](Self::block_on) wait for a future and move the clock meanwhile.
pub struct VirtualClock {
    nanos: AtomicU64,
    /// The wall clock's reading when this clock shows zero, in milliseconds since the Unix epoch.
    wall_zero_ms: AtomicU64,
    moved: watch::Sender<()>,
    /// The waiters for this clock, and their deadlines.
    deadlines: Mutex<BTreeMap<u64, Instant>>,
    last_deadline: AtomicU64,
    participants: Mutex<Vec<Participant>>,
}

/// Begins to wait until a thread that uses this clock has done what it can at this instant; `None` once it has ended.
type Participant = Arc<dyn Fn() -> Option<BoxFuture<'static, ()>> + Send + Sync>;

/// A future that is still not done after this much virtual time is not waiting for time.
const DRIVEN_AT_MOST: Duration = Duration::from_secs(24 * 60 * 60);

/// The work of one thread may give another something to do at the same instant.
const ROUNDS: usize = 3;

/// The wall clock starts at 2030-01-01 00:00:00 UTC, when this clock shows one second.
const WALL_ZERO_MS: u64 = 1_893_456_000_000 - 1_000;

impl VirtualClock {
    /// A clock that shows one second past its zero.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            nanos: AtomicU64::new(1_000_000_000),
            wall_zero_ms: AtomicU64::new(WALL_ZERO_MS),
            moved: watch::Sender::new(()),
            deadlines: Mutex::default(),
            last_deadline: AtomicU64::new(0),
            participants: Mutex::default(),
        })
    }

    /// The present time of this clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.nanos.load(Ordering::Acquire))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::AcqRel);
        self.moved.send_replace(());
    }

    /// The wall clock in milliseconds since the Unix epoch. It starts at 2030-01-01 00:00:00 UTC.
    #[must_use]
    pub fn unix_ms(&self) -> u64 {
        self.wall_zero_ms.load(Ordering::Acquire) + self.now().as_nanos() / 1_000_000
    }

    /// Sets the wall clock forward or back, as an administrator would; this clock is not affected.
    pub fn set_unix_ms(&self, unix_ms: u64) {
        let zero = unix_ms.saturating_sub(self.now().as_nanos() / 1_000_000);
        self.wall_zero_ms.store(zero, Ordering::Release);
        self.moved.send_replace(());
    }

    /// Waits for a future, and moves the clock to the next deadline whenever the future waits and no
    /// `Client` on this clock has anything to do at this instant.
    ///
    /// Other threads of the test, such as callbacks and handlers, go by real time: the clock does not wait for them. Cancel safe
    /// if the future is.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
    /// use std::sync::Arc;
    /// use tenure::testing::{Fault, FaultyStore, VirtualClock};
    /// use tenure::{Client, Clock, MemoryStore};
    ///
    /// let hands = VirtualClock::new();
    /// let clock = Clock::controlled_by(&hands);
    /// let store = FaultyStore::with_clock(Arc::new(MemoryStore::with_clock(clock.clone())), clock.clone());
    /// let candidacy = Client::builder().clock(clock).with_store(store.clone())?.election("report")?.candidate().start()?;
    /// hands.drive(candidacy.elected()).await?;
    /// store.inject_everywhere(&Fault::BlackHole);
    /// hands.drive(candidacy.stop()).await; // without a word of the store, which takes a while
    /// # Ok(()) }
    /// ```
    ///
    /// # Panics
    /// When the future waits and nothing waits for the clock, or when it still waits after a day of virtual time: then it does
    /// not wait for time.
    pub async fn drive<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let begun = self.now();
        loop {
            if let Some(output) = self.settle(future.as_mut()).await {
                return output;
            }
            let passed = self.now().saturating_since(begun);
            match self.next_deadline() {
                Some(at) if passed < DRIVEN_AT_MOST => self.advance(at.saturating_since(self.now())),
                next => give_up(type_name::<F>(), passed, next),
            }
        }
    }

    /// [`drive`](Self::drive) for plain threads.
    ///
    /// # Panics
    /// As [`drive`](Self::drive), and inside an async runtime, where it would keep other tasks from going on.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match tokio::runtime::Builder::new_current_thread().build() {
            Ok(runtime) => runtime.block_on(self.drive(future)),
            Err(error) => unreachable!("a runtime without drivers needs nothing of the system: {error}"),
        }
    }

    /// Registers a way to wait until a thread that uses this clock has done everything due at this instant. A `Client`
    /// registers itself; `None` says that the thread has ended.
    pub fn attach(&self, participant: impl Fn() -> Option<BoxFuture<'static, ()>> + Send + Sync + 'static) {
        self.participants.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(participant));
    }

    /// Polls the future until all who go by this clock have done what they can at this instant. `None` if it waits even then.
    async fn settle<F: Future>(&self, mut future: Pin<&mut F>) -> Option<F::Output> {
        for _ in 0..ROUNDS {
            let participants = self.participants.lock().unwrap_or_else(PoisonError::into_inner).clone();
            // Twice: a thread takes in first what was answered, and then does what follows from it.
            for participant in participants.iter().chain(&participants) {
                let Some(rest) = participant() else { continue };
                if let Either::Left((output, _)) = select(future.as_mut(), rest).await {
                    return Some(output);
                }
            }
            // Other tasks of the same thread have their turn.
            tokio::task::yield_now().await;
            let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
            if let Poll::Ready(output) = polled {
                return Some(output);
            }
        }
        self.participants.lock().unwrap_or_else(PoisonError::into_inner).retain(|participant| participant().is_some());
        None
    }

    fn next_deadline(&self) -> Option<Instant> {
        let now = self.now();
        self.with_deadlines(|deadlines| deadlines.values().copied().filter(|at| *at > now).min())
    }

    fn with_deadlines<T>(&self, change: impl FnOnce(&mut BTreeMap<u64, Instant>) -> T) -> T {
        change(&mut self.deadlines.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) async fn sleep_until(self: &Arc<Self>, at: Instant) {
        let mut deadline = Deadline::new(self);
        deadline.sleep_until(at).await;
    }

    async fn passed(&self, at: Instant) {
        let mut moved = self.moved.subscribe();
        while self.now() < at {
            if moved.changed().await.is_err() {
                return;
            }
        }
    }
}

impl fmt::Debug for VirtualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualClock").field("now", &self.now()).finish_non_exhaustive()
    }
}

/// A repeated wait for the clock. The clock knows its deadline even between two waits.
#[derive(Debug)]
pub(crate) struct Deadline {
    clock: Arc<VirtualClock>,
    id: u64,
}

impl Deadline {
    pub(crate) fn new(clock: &Arc<VirtualClock>) -> Self {
        let id = clock.last_deadline.fetch_add(1, Ordering::Relaxed);
        Self { clock: Arc::clone(clock), id }
    }

    /// Completes when the time has come; never if there is no deadline. Cancel safe.
    pub(crate) async fn wait_until(&mut self, at: Option<Instant>) {
        let Some(at) = at else {
            self.clear();
            return std::future::pending().await;
        };
        self.sleep_until(at).await;
    }

    async fn sleep_until(&mut self, at: Instant) {
        self.clock.with_deadlines(|deadlines| deadlines.insert(self.id, at));
        self.clock.passed(at).await;
    }

    fn clear(&self) {
        self.clock.with_deadlines(|deadlines| deadlines.remove(&self.id));
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.clear();
    }
}

#[expect(clippy::panic, reason = "a test that cannot go on has to fail, and not to hang")]
fn give_up(future: &str, passed: Duration, next: Option<Instant>) -> ! {
    match next {
        None => panic!(
            "{future} waits after {passed:?} of virtual time, and nothing waits for the clock: no deadline can wake it. \
             It waits for something that the test has to do, such as releasing a reply that is held"
        ),
        Some(_) => panic!(
            "{future} still waits after {passed:?} of virtual time, although the clock was moved from deadline to \
             deadline: it does not wait for time"
        ),
    }
}
