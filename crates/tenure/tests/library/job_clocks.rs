//! Jobs when wall clocks are wrong, or are set.

use std::sync::Arc;
use std::time::Duration;

use tenure::blocking::Client;
use tenure::cron::{JobError, Missed, RunOutcome};
use tenure::testing::{Fault, FaultyStore, Operation, VirtualClock};
use tenure::{Clock, ElectionError, MemoryStore};

use crate::job_support::{MINUTE, Notes, SECOND, at, at_ms, minutely, pass_idly, report};
use crate::support::{Lab, elected, eventually, next_trouble, timing};

#[test]
fn a_clock_that_is_set_back_repeats_nothing() {
    let lab = Lab::new();
    let notes = Notes::default();
    let _election = elected(lab.candidate("a").job(minutely(), notes.handler()));
    pass_idly(&lab, MINUTE * 3);
    lab.hands.set_unix_ms(at_ms(30));
    pass_idly(&lab, MINUTE * 3);
    assert_eq!(notes.ticks(), [60, 120, 180], "until 180 everything is decided");
    pass_idly(&lab, MINUTE);
    assert_eq!(notes.ticks(), [60, 120, 180, 240]);
}

#[test]
fn a_mark_that_is_far_in_the_future_is_reported_once_with_what_to_do() {
    let lab = Lab::new();
    let notes = Notes::default();
    lab.hands.set_unix_ms(at_ms(7_200));
    let candidacy = elected(lab.candidate("a").job(minutely(), notes.handler()));
    let mut events = lab.events(&candidacy);
    pass_idly(&lab, MINUTE);
    lab.hands.set_unix_ms(at_ms(0));
    pass_idly(&lab, SECOND * 30);
    let error = next_trouble(&mut events, |_| true);
    assert!(matches!(&error, ElectionError::Job(JobError::MarkAhead { mark, .. }) if *mark == at(7_260)), "{error}");
    assert!(error.to_string().contains("2030-01-01T02:01:00Z"), "{error}");
    assert!(error.to_string().contains("tenure cron forget"), "{error}");
    assert_eq!(notes.ticks(), [7_260]);
    lab.client.election("x").unwrap().forget_job("report").unwrap();
    pass_idly(&lab, MINUTE * 2 + SECOND * 30);
    assert!(notes.ticks().ends_with(&[120, 180]), "{:?}", notes.ticks());
}

#[test]
fn a_clock_that_is_set_forward_is_noticed_and_what_it_skipped_was_missed() {
    for (missed, expected) in [(Missed::Once, &[60, 3_600, 3_660][..]), (Missed::Skip, &[60, 3_660][..])] {
        let lab = Lab::new();
        let notes = Notes::default();
        let _election = elected(lab.candidate("a").job(minutely().missed(missed), notes.handler()));
        pass_idly(&lab, MINUTE);
        lab.hands.set_unix_ms(at_ms(3_605));
        pass_idly(&lab, SECOND * 60);
        assert_eq!(notes.ticks(), expected, "{missed}");
        assert!(report(&lab).unwrap().missed >= 58);
    }
}

#[test]
fn a_clock_that_is_set_is_noticed_within_ten_seconds() {
    let lab = Lab::new();
    let notes = Notes::default();
    let job = tenure::cron::Job::new("report", "0 12 * * *").unwrap();
    let _election = elected(lab.candidate("a").job(job, notes.handler()));
    lab.settle();
    let noon = 12 * 60 * 60;
    lab.hands.set_unix_ms(at_ms(noon - 5));
    pass_idly(&lab, SECOND * 10);
    assert_eq!(notes.ticks(), [noon]);
    assert!(notes.runs()[0].late_by().is_none_or(|by| by <= SECOND * 10));
}

/// A process whose clocks go beside those of the store.
struct Apart {
    hands: Arc<VirtualClock>,
    stores: Arc<VirtualClock>,
    store: Arc<FaultyStore>,
    client: Client,
}

impl Apart {
    /// Its wall clock is ahead of the store's by this.
    fn new(ahead: Duration) -> Self {
        let (hands, stores) = (VirtualClock::new(), VirtualClock::new());
        hands.set_unix_ms(hands.unix_ms() + u64::try_from(ahead.as_millis()).unwrap());
        let memory = MemoryStore::with_clock(Clock::controlled_by(&stores));
        let clock = Clock::controlled_by(&hands);
        let store = FaultyStore::with_clock(Arc::new(memory), clock.clone());
        let client = Client::builder().clock(clock).with_store(Arc::clone(&store) as _).unwrap();
        Self { hands, stores, store, client }
    }

    fn pass(&self, time: Duration) {
        let step = Duration::from_millis(500);
        for _ in 0..time.as_millis() / step.as_millis() {
            self.stores.advance(step);
            self.hands.advance(step);
            for _ in 0..2 {
                self.client.store().examine().unwrap();
            }
            let ended = || {
                let jobs = self.client.election("x").unwrap().jobs(10).unwrap();
                jobs.iter().flat_map(|job| &job.runs).all(|run| run.end.is_some())
            };
            eventually("all runs to end", ended);
            for _ in 0..2 {
                self.client.store().examine().unwrap();
            }
        }
    }
}

#[test]
fn a_clock_that_is_ahead_fires_by_the_stores_and_is_reported_once() {
    let apart = Apart::new(SECOND * 300);
    let notes = Notes::default();
    let (tell, told) = std::sync::mpsc::channel();
    // The first thing that happens is too early for a subscription to events.
    let builder =
        apart.client.election("x").unwrap().candidate().timing(timing()).on_error(move |error| tell.send(error));
    let _election = elected(builder.job(minutely(), notes.handler()));
    let mut seen = Vec::new();
    for _ in 0..60 * 5 {
        let before = notes.runs().len();
        apart.pass(SECOND);
        seen.extend(notes.ticks()[before..].iter().map(|tick| (*tick, apart.stores.unix_ms())));
    }
    let ticks: Vec<u64> = seen.iter().map(|(tick, _)| *tick).collect();
    assert_eq!(ticks, [60, 120, 180, 240, 300], "by the store's clock");
    for (tick, at_store) in &seen {
        assert!((at_ms(*tick).saturating_sub(1_000)..at_ms(*tick + 2)).contains(at_store), "{tick}: {at_store}");
    }
    let errors: Vec<ElectionError> = told.try_iter().collect();
    let [ElectionError::Job(JobError::ClockAhead { by })] = &errors[..] else { panic!("{errors:?}") };
    assert!(*by >= SECOND * 299 && *by <= SECOND * 301, "{by:?}");
    let claims = apart.store.requests(Operation::Claim);
    assert!(claims <= 40, "{claims} claims for five ticks");
}

#[test]
fn a_tick_that_was_asked_for_too_early_is_run_when_it_is_due_though_the_refusal_was_lost() {
    let apart = Apart::new(SECOND * 185);
    let notes = Notes::default();
    apart.store.inject_once(Operation::Claim, Fault::LoseReply);
    let builder = apart.client.election("x").unwrap().candidate().timing(timing());
    let _election = elected(builder.job(minutely().missed(Missed::Once), notes.handler()));
    apart.pass(MINUTE * 4);
    assert_eq!(notes.ticks(), [60, 120, 180, 240]);
    let ends: Vec<_> =
        apart.client.election("x").unwrap().jobs(10).unwrap()[0].runs.iter().map(|run| run.end.clone()).collect();
    assert!(ends.iter().flatten().all(|end| end.outcome == RunOutcome::Succeeded), "{ends:?}");
}
