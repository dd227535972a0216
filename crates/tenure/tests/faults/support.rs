//! A store, and candidates that meet in it as different processes would.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use tenure::blocking::{Candidacy, CandidacyBuilder, Client};
use tenure::testing::FaultyStore;
use tenure::{Clock, Event, EventKind, Leadership, LossReason, Timing};
use tenure_testkit::PATIENCE;
use tenure_testkit::running_store::RunningStore;
use tenure_testkit::scenario::ELECTION;
use tenure_testkit::stores::Backend;
use tenure_testkit::test_timing::TestTiming;

/// A store, and the timing of all candidates in it.
pub(crate) struct TimedStore {
    pub(crate) store: RunningStore,
    pub(crate) timing: Timing,
}

impl TimedStore {
    pub(crate) fn new(store: &dyn Backend, timing: TestTiming) -> Self {
        Self { store: RunningStore::on(store), timing: timing.validated() }
    }

    /// A candidacy with a driver of its own.
    pub(crate) fn candidate(&self, id: &str) -> CandidacyBuilder {
        self.stand(&Client::open(&self.store.url()).unwrap(), id)
    }

    /// The same, cut off from the store when the test says so.
    pub(crate) fn candidate_at_risk(&self, id: &str) -> (Arc<FaultyStore>, CandidacyBuilder) {
        let store = FaultyStore::new(tenure::store::open(&self.store.url().parse().unwrap()).unwrap());
        let client = Client::builder().clock(Clock::boottime()).with_store(Arc::clone(&store) as _).unwrap();
        (store, self.stand(&client, id))
    }

    pub(crate) fn stand(&self, client: &Client, id: &str) -> CandidacyBuilder {
        client.election(ELECTION).unwrap().candidate().timing(self.timing).id(id)
    }
}

/// Waits until it leads.
pub(crate) fn elected(candidacy: &Candidacy) -> Leadership {
    candidacy.elected_timeout(PATIENCE).unwrap().expect("nobody was elected in all that time")
}

/// What an election tells, kept until a test asks.
pub(crate) struct EventLog(Receiver<Event>);

impl EventLog {
    /// Begins to listen.
    pub(crate) fn by(candidacy: &Candidacy) -> Self {
        let (sender, receiver) = channel();
        let mut events = candidacy.events();
        std::thread::spawn(move || while events.next().is_some_and(|event| sender.send(event).is_ok()) {});
        Self(receiver)
    }

    /// The first event to come in which this is found, and what was found.
    pub(crate) fn find<T>(&self, what: &str, find: impl Fn(&EventKind) -> Option<T>) -> (Event, T) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let event = self.0.recv_timeout(left).unwrap_or_else(|error| panic!("waited for {what}: {error}"));
            if let Some(found) = find(&event.kind) {
                return (event, found);
            }
        }
    }

    /// Why leadership was lost, when it is.
    pub(crate) fn loss(&self) -> (Event, LossReason) {
        self.find("a loss", |kind| if let EventKind::Lost { reason, .. } = kind { Some(*reason) } else { None })
    }

    /// Whether a loss is among what nobody has looked at yet.
    pub(crate) fn has_lost(&self) -> bool {
        self.0.try_iter().any(|event| matches!(event.kind, EventKind::Lost { .. }))
    }

    /// What went wrong according to what nobody has looked at yet.
    pub(crate) fn errors_so_far(&self) -> Vec<String> {
        let error =
            |event: Event| if let EventKind::Error { error } = event.kind { Some(error.to_string()) } else { None };
        self.0.try_iter().filter_map(error).collect()
    }

    /// When leadership began.
    pub(crate) fn election(&self) -> Event {
        self.find("an election", |kind| matches!(kind, EventKind::Elected { .. }).then_some(())).0
    }

    /// Waits for an error in whose words this is found. A busy machine may add others.
    pub(crate) fn error_with(&self, words: &str) {
        let is_it = |kind: &EventKind| matches!(kind, EventKind::Error { error } if error.to_string().contains(words));
        self.find(words, |kind| is_it(kind).then_some(()));
    }
}
