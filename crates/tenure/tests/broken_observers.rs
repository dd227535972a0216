//! A tracing subscriber and a metrics recorder that panic, each time they are told anything on a thread of the library: they
//! are code of the application, and end no election.

#![expect(clippy::panic, reason = "all of this is a test, its helpers too")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use metrics::{Counter, CounterFn, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use tenure::Timing;
use tenure::blocking::Client;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};

/// How often each of them has panicked.
static TOLD: AtomicUsize = AtomicUsize::new(0);
static COUNTED: AtomicUsize = AtomicUsize::new(0);

/// Threads of tests print what they want.
fn breaks(times: &AtomicUsize) {
    if thread::current().name().is_some_and(|name| name.starts_with("tenure")) {
        times.fetch_add(1, Ordering::Relaxed);
        panic!("the pipe is closed");
    }
}

struct BrokenPipe;

impl Subscriber for BrokenPipe {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        breaks(&TOLD);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        breaks(&TOLD);
    }

    fn enter(&self, _: &Id) {
        breaks(&TOLD);
    }

    fn exit(&self, _: &Id) {
        breaks(&TOLD);
    }
}

#[derive(Debug)]
struct BrokenExporter;

impl CounterFn for BrokenExporter {
    fn increment(&self, _: u64) {
        breaks(&COUNTED);
    }

    fn absolute(&self, _: u64) {}
}

impl Recorder for BrokenExporter {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(Arc::new(Self))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        breaks(&COUNTED);
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        breaks(&COUNTED);
        Histogram::noop()
    }
}

#[test]
fn observers_that_panic_end_no_election() {
    // What panics say would be pages.
    std::panic::set_hook(Box::new(|_| ()));
    tracing::subscriber::set_global_default(BrokenPipe).unwrap();
    metrics::set_global_recorder(BrokenExporter).unwrap();
    let place = tempfile::tempdir().unwrap();
    let client = Client::open(&format!("sqlite:{}", place.path().join("a.db").display())).unwrap();
    let timing = Timing::from_ttl(Duration::from_secs(3)).unwrap();
    let candidacy = client.election("x").unwrap().candidate().timing(timing).start().unwrap();
    let leadership = candidacy.elected_timeout(Duration::from_secs(20)).unwrap().expect("it is elected");
    let mut events = candidacy.events();
    let mut renewals = 0;
    while renewals < 2 {
        let event = events.next().expect("events go on");
        renewals += u32::from(matches!(event.kind, tenure::EventKind::Renewed { .. }));
    }
    assert!(leadership.is_valid() && candidacy.is_leader());
    candidacy.resign().unwrap();
    candidacy.stop();
    assert!(TOLD.load(Ordering::Relaxed) > 0 && COUNTED.load(Ordering::Relaxed) > 0, "they were told something");
}
