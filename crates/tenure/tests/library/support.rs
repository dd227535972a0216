//! A store that can be broken, a clock that can be moved, and a driver between them.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use tenure::blocking::{Candidacy, CandidacyBuilder, Client, Events};
use tenure::testing::{FaultyStore, VirtualClock};
use tenure::{CandidateId, Clock, ElectionError, Event, EventKind, MemoryStore, MessageState, Timing};
pub(crate) use tenure_testkit::eventually;

/// One process with a driver of its own, in a world where time passes only when a test says so.
pub(crate) struct Lab {
    pub(crate) hands: Arc<VirtualClock>,
    pub(crate) memory: MemoryStore,
    pub(crate) store: Arc<FaultyStore>,
    pub(crate) client: Client,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let hands = VirtualClock::new();
        let memory = MemoryStore::with_clock(Clock::controlled_by(&hands));
        Self::on(&hands, &memory, None)
    }

    /// The same, with elections that are a class of their own in metrics.
    pub(crate) fn classed(&self, class: &'static str) -> Self {
        Self::on(&self.hands, &self.memory, Some(class))
    }

    /// A second process that meets the first in its store, and whose calls have faults of their own.
    pub(crate) fn rival(&self) -> Self {
        Self::on(&self.hands, &self.memory, None)
    }

    fn on(hands: &Arc<VirtualClock>, memory: &MemoryStore, class: Option<&'static str>) -> Self {
        let clock = Clock::controlled_by(hands);
        let store = FaultyStore::with_clock(Arc::new(memory.clone()), clock.clone());
        let mut client = Client::builder().clock(clock);
        if let Some(class) = class {
            client = client.key_class(move |_| class.to_owned());
        }
        let client = client.with_store(Arc::clone(&store) as _).unwrap();
        Self { hands: Arc::clone(hands), memory: memory.clone(), store, client }
    }

    /// A candidacy in the election that all tests hold.
    pub(crate) fn candidate(&self, name: &str) -> CandidacyBuilder {
        self.client.election("x").unwrap().candidate().timing(timing()).id(id(name))
    }

    /// A candidate that leads.
    pub(crate) fn leader(&self, name: &str) -> Candidacy {
        elected(self.candidate(name))
    }

    /// Returns when the driver has done everything it could at this instant: it does what is due, and takes in what was
    /// answered, before it obeys.
    pub(crate) fn settle(&self) {
        for _ in 0..2 {
            self.client.store().examine().unwrap();
        }
    }

    /// Events from this very instant on.
    pub(crate) fn events(&self, candidacy: &Candidacy) -> Events {
        let events = candidacy.events();
        self.settle();
        events
    }

    /// Lets time pass in small steps, with everything done on time that is due on the way.
    pub(crate) fn pass(&self, time: Duration) {
        let step = Duration::from_millis(50);
        let mut left = time;
        while left > Duration::ZERO {
            let by = left.min(step);
            self.hands.advance(by);
            self.settle();
            left -= by;
        }
    }
}

/// Starts a candidacy and waits until it leads.
pub(crate) fn elected(builder: CandidacyBuilder) -> Candidacy {
    let candidacy = builder.start().unwrap();
    candidacy.elected_timeout(PATIENCE).unwrap().expect("a lone candidate is elected");
    candidacy
}

/// The timing of all tests that do not care: a ttl of half a minute, of which 24 s are trusted and 20.8 s are led.
pub(crate) fn timing() -> Timing {
    Timing::from_ttl(Duration::from_secs(30)).unwrap()
}

pub(crate) fn id(text: &str) -> CandidateId {
    CandidateId::new(text).unwrap()
}

/// How long a test waits, in real time, for what must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The messages in a state, of the election that all tests hold, by payload.
pub(crate) fn lying(lab: &Lab, state: MessageState) -> Vec<String> {
    let messages = lab.client.election("x").unwrap().messages(state, 100).unwrap();
    messages.iter().map(|message| message.payload.to_string()).collect()
}

/// Skips to the next error of interest.
pub(crate) fn next_trouble(events: &mut Events, wanted: impl Fn(&ElectionError) -> bool) -> ElectionError {
    let event = next(events, |kind| matches!(kind, EventKind::Error { error } if wanted(error)));
    match event.kind {
        EventKind::Error { error } => error,
        _ => unreachable!("only troubles are of interest"),
    }
}

/// Skips to the next event of interest.
pub(crate) fn next(events: &mut Events, wanted: impl Fn(&EventKind) -> bool) -> Event {
    loop {
        let event = events.next_timeout(PATIENCE).expect("the event that is waited for comes in time");
        let event = event.expect("events go on until the one that is waited for");
        if wanted(&event.kind) {
            return event;
        }
    }
}

/// A small executor of another make than tokio's.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct UnparkThread(Thread);
    impl Wake for UnparkThread {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(UnparkThread(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

/// The driver, caught in the middle of something: nothing of it runs until this is dropped.
pub(crate) struct HeldUp {
    _until_dropped: mpsc::Sender<()>,
}

impl HeldUp {
    /// Waking whoever waits for an answer is the driver's last act before the answer is read, and here it takes long.
    pub(crate) fn new(client: &Client) -> Self {
        struct HoldDriver(mpsc::Sender<()>, Mutex<mpsc::Receiver<()>>);
        impl Wake for HoldDriver {
            fn wake(self: Arc<Self>) {
                self.0.send(()).unwrap();
                let _ = self.1.lock().unwrap().recv();
            }
        }
        let (caught, is_caught) = mpsc::channel();
        let (until_dropped, dropped) = mpsc::channel();
        let waker = Waker::from(Arc::new(HoldDriver(caught, Mutex::new(dropped))));
        loop {
            let store = client.as_ref().store();
            let mut answer = pin!(store.examine());
            // An answer that is there already leaves nobody to be woken.
            if answer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                is_caught.recv().unwrap();
                return Self { _until_dropped: until_dropped };
            }
        }
    }
}
