//! What metrics show, and that they show nothing else.

use std::sync::{LazyLock, mpsc};
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tenure::blocking::Client;
use tenure::store::{StoreError, StoreErrorKind};
use tenure::testing::{Fault, Operation};
use tenure::{ChannelName, Timing, metrics};

use crate::support::{HeldUp, Lab, elected, eventually, timing};

static EXPORTER: LazyLock<PrometheusHandle> = LazyLock::new(|| {
    let failover = Matcher::Full("tenure_failover_seconds".to_owned());
    let exporter = PrometheusBuilder::new().set_buckets_for_metric(failover, &[1.0]).unwrap();
    let exporter = exporter.install_recorder().unwrap();
    metrics::describe();
    exporter
});

/// What the page shows of one class, written as far as is needed to tell it from others.
struct Page(&'static str, &'static str);

impl Page {
    /// Each test has a class of its own: all share one process.
    fn of(class: &'static str) -> Self {
        LazyLock::force(&EXPORTER);
        Self(class, "election")
    }

    fn of_locks(class: &'static str) -> Self {
        Self(Self::of(class).0, "lock")
    }

    /// The value of a metric whose labels, but for the class, are written like this.
    fn now(&self, metric: &str, labels: &str) -> f64 {
        metrics::refresh();
        // Those of an older system have its one label.
        let kind = if metric.starts_with("tenure_") { format!(",key_kind=\"{}\"", self.1) } else { String::new() };
        let start = format!("{metric}{{key_class=\"{}\"{kind}{labels}}} ", self.0);
        let shown = EXPORTER.render().lines().find_map(|line| line.strip_prefix(&start)?.parse().ok());
        shown.expect("the page has this metric")
    }

    fn get(&self, metric: &str) -> f64 {
        self.now(metric, "")
    }
}

#[test]
fn an_election_from_its_beginning_to_its_end() {
    let (lab, page) = (Lab::new().classed("whole life"), Page::of("whole life"));
    let candidacy = elected(lab.candidate("a"));
    lab.settle();
    assert_eq!((page.get("tenure_is_leader"), page.get("tenure_term")), (1.0, 1.0));
    let stop_in = page.get("tenure_expiry_seconds");
    assert!((20.0..20.9).contains(&stop_in), "{stop_in}: led for 20.8 s");
    assert_eq!((page.get("leader_acquired_total"), page.get("leader_lost_total")), (1.0, 0.0));
    assert_eq!(page.now("tenure_transitions_total", ",reason=\"elected\""), 1.0);
    assert_eq!(page.get("leader_renewals_total"), 0.0);
    lab.pass(timing().renew_every() * 3);
    let renewals = page.get("leader_renewals_total");
    assert!(renewals >= 2.0 && page.get("tenure_renewal_seconds_count") == renewals, "{renewals}");
    assert_eq!(page.get("leader_renewal_failures_total"), 0.0);
    candidacy.request_resign();
    eventually("the resignation", || page.get("leader_lost_total") == 1.0);
    assert_eq!(page.now("tenure_transitions_total", ",reason=\"resigned\""), 1.0);
    candidacy.stop();
    for gauge in ["tenure_is_leader", "tenure_term", "tenure_expiry_seconds", "tenure_messages_waiting"] {
        assert_eq!(page.get(gauge), 0.0, "{gauge}");
    }
}

#[test]
fn a_paused_process_shows_no_leader_when_its_time_is_over() {
    let (lab, page) = (Lab::new().classed("paused"), Page::of("paused"));
    let candidacy = elected(lab.candidate("a"));
    lab.settle();
    assert_eq!(page.get("tenure_is_leader"), 1.0);
    let paused = HeldUp::new(&lab.client);
    let stop_in = Duration::from_secs_f64(page.get("tenure_expiry_seconds"));
    lab.hands.advance(stop_in - Duration::from_millis(1));
    assert!(candidacy.is_leader() && page.get("tenure_is_leader") == 1.0, "not a moment too early");
    lab.hands.advance(Duration::from_millis(2));
    assert_eq!(page.get("leader_lost_total"), 0.0, "the driver cannot have noticed");
    for gauge in ["tenure_is_leader", "tenure_term", "tenure_expiry_seconds"] {
        assert_eq!(page.get(gauge), 0.0, "{gauge}");
    }
    drop(paused);
    eventually("the driver to notice", || page.now("tenure_transitions_total", ",reason=\"expired\"") == 1.0);
}

#[test]
fn elections_of_one_class_add_up() {
    let (lab, page) = (Lab::new().classed("several"), Page::of("several"));
    let client = &lab.client;
    let long = Timing::from_ttl(Duration::from_secs(90)).unwrap();
    let first = elected(client.election("first").unwrap().candidate().timing(long));
    let second = elected(client.election("second").unwrap().candidate().timing(timing()));
    lab.settle();
    assert_eq!((page.get("tenure_is_leader"), page.get("leader_acquired_total")), (2.0, 2.0));
    assert!(page.get("tenure_expiry_seconds") < 21.0, "the shortest counts");
    second.stop();
    lab.settle();
    assert!(page.get("tenure_is_leader") == 1.0 && page.get("tenure_expiry_seconds") > 21.0);
    first.stop();
}

#[test]
fn what_a_store_fails_is_counted() {
    let (lab, page) = (Lab::new().classed("failing"), Page::of("failing"));
    let refusal = |kind| Fault::Fail(StoreError::refused(kind, "no"));
    lab.store.inject_once(Operation::Campaign, refusal(StoreErrorKind::ReadOnly));
    let candidacy = lab.candidate("a").start().unwrap();
    lab.pass(timing().renew_every());
    assert!(candidacy.is_leader());
    lab.store.inject_once(Operation::Renew, refusal(StoreErrorKind::Full));
    lab.store.inject_once(Operation::Renew, Fault::BlackHole);
    lab.pass(timing().renew_every() * 3);
    assert!(candidacy.is_leader(), "two failures are survived");
    assert_eq!(page.get("tenure_campaign_failures_total"), 1.0);
    assert_eq!(page.get("leader_renewal_failures_total"), 2.0);
    for kind in ["read_only", "full", "timed_out"] {
        assert_eq!(page.now("tenure_store_errors_total", &format!(",kind=\"{kind}\"")), 1.0, "{kind}");
    }
    assert_eq!(page.now("tenure_store_errors_total", ",kind=\"denied\""), 0.0, "shown before it counts");
}

#[test]
fn a_failover_is_counted_from_the_end_of_the_lease() {
    let (lab, page) = (Lab::new(), Page::of("failover"));
    let first = lab.leader("a");
    let rival = lab.classed("failover");
    let second = rival.candidate("b").start().unwrap();
    rival.settle();
    lab.store.inject_everywhere(&Fault::BlackHole);
    for _ in 0..800 {
        lab.hands.advance(Duration::from_millis(50));
        lab.settle();
        rival.settle();
    }
    assert!(second.is_leader() && !first.is_leader());
    let seconds = page.get("tenure_failover_seconds_sum");
    assert_eq!(page.get("tenure_failover_seconds_count"), 1.0);
    assert!(seconds < 0.2, "{seconds}: not from when it was last seen, a whole ttl ago");
    assert_eq!(page.now("tenure_transitions_total", ",reason=\"elected\""), 1.0);
}

#[test]
fn a_handover_is_a_failover_and_a_first_election_is_none() {
    let (lab, page) = (Lab::new().classed("handover"), Page::of("handover"));
    let first = elected(lab.candidate("a"));
    lab.settle();
    assert_eq!(page.get("tenure_failover_seconds_count"), 0.0, "nobody led before");
    let second = lab.candidate("b").start().unwrap();
    lab.pass(Duration::from_secs(1));
    first.stop();
    eventually("the successor", || second.is_leader());
    lab.settle();
    assert_eq!(page.get("tenure_failover_seconds_count"), 1.0);
    assert!(page.get("tenure_failover_seconds_sum") < 1.0, "from when it was free, not from the end it would have had");
}

#[test]
fn problems_are_counted() {
    let (lab, page) = (Lab::new(), Page::of("problems"));
    let _first = lab.leader("a");
    let _second = lab.classed("problems").candidate("a").start().unwrap();
    eventually("the warning", || page.now("tenure_problems_total", ",problem=\"duplicate_id\"") == 1.0);
}

#[test]
fn messages_wait_until_they_are_handled() {
    let (lab, page) = (Lab::new().classed("messages"), Page::of("messages"));
    let (go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let handle =
        move |_: tenure::Message, _: tenure::Leadership| wait.lock().unwrap().recv().map_err(|error| error.to_string());
    let channel = ChannelName::new("refresh").unwrap();
    // Sent before anybody leads, so that they are fetched together: a line is fetched again when it is settled.
    for payload in ["1", "2", "3"] {
        lab.client.election("x").unwrap().send("refresh", payload).unwrap();
    }
    let candidacy = elected(lab.candidate("a").on_message(channel, handle));
    eventually("all to be fetched", || page.get("tenure_messages_waiting") == 3.0);
    go.send(()).unwrap();
    eventually("one to be handled", || page.get("tenure_messages_waiting") == 2.0);
    go.send(()).unwrap();
    go.send(()).unwrap();
    eventually("all to be handled", || page.get("tenure_messages_waiting") == 0.0);
    candidacy.stop();
}

#[test]
fn a_real_store_is_measured_by_a_real_clock() {
    let page = Page::of("on disk");
    let place = tempfile::tempdir().unwrap();
    let client = Client::builder().key_class(|_| "on disk".to_owned());
    let client = client.open(&format!("sqlite:{}", place.path().join("a.db").display())).unwrap();
    let short = Timing::from_ttl(Duration::from_secs(5)).unwrap();
    let first = elected(client.election("x").unwrap().candidate().timing(short));
    eventually("a renewal", || page.get("leader_renewals_total") > 0.0);
    assert!(page.get("tenure_renewal_seconds_sum") > 0.0);
    let second = client.election("x").unwrap().candidate().timing(short).start().unwrap();
    let mut events = second.events();
    crate::support::next(&mut events, |kind| matches!(kind, tenure::EventKind::Observed { leader: Some(_) }));
    first.stop();
    eventually("the successor", || page.get("tenure_failover_seconds_count") == 1.0);
    assert_eq!((page.get("tenure_is_leader"), page.get("leader_acquired_total")), (1.0, 2.0));
    assert!(page.get("tenure_term") > 1.0);
    second.stop();
    assert_eq!((page.get("tenure_is_leader"), page.get("leader_lost_total")), (0.0, 2.0));
}

#[test]
fn locks_are_told_from_elections() {
    let (lab, elections, locks) = (Lab::new().classed("both"), Page::of("both"), Page::of_locks("both"));
    let client = &lab.client;
    let candidacy = elected(client.election("x").unwrap().candidate().timing(timing()));
    let guard = client.lock("y").unwrap().timing(timing()).acquire().unwrap();
    lab.settle();
    assert_eq!((elections.get("tenure_is_leader"), locks.get("tenure_is_leader")), (1.0, 1.0));
    guard.release().unwrap();
    lab.settle();
    assert_eq!((elections.get("tenure_is_leader"), locks.get("tenure_is_leader")), (1.0, 0.0));
    assert_eq!(locks.now("tenure_transitions_total", ",reason=\"stopped\""), 1.0);
    assert_eq!(elections.now("tenure_transitions_total", ",reason=\"stopped\""), 0.0);
    candidacy.stop();
}

#[test]
fn a_lock_alone_shows_no_election_without_a_leader() {
    let (lab, locks) = (Lab::new().classed("locks only"), Page::of_locks("locks only"));
    let client = &lab.client;
    let lock = client.lock("y").unwrap().timing(timing());
    lock.acquire().unwrap().release().unwrap();
    lab.settle();
    assert_eq!(locks.get("tenure_is_leader"), 0.0);
    let page = EXPORTER.render();
    assert!(!page.contains("key_class=\"locks only\",key_kind=\"election\""), "{page}");
}
