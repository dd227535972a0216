use super::*;

fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

#[test]
fn the_hold_is_four_fifths_of_the_ttl_by_default() {
    let timing = Timing::from_ttl(seconds(15.0)).unwrap();
    let exact = seconds(12.0) - Timing::QUANTUM;
    assert!(timing.hold() <= exact, "the margin is rounded to the safe side");
    assert!(exact - timing.hold() < Duration::from_micros(1));
}

#[test]
fn every_preset_survives_two_failed_renewals() {
    for preset in Preset::ALL {
        let timing = preset.timing();
        assert_eq!(timing.survives(), 2, "{preset}");
        assert!(timing.needed() <= timing.usable(), "{preset}");
    }
}

#[test]
fn the_pairs_people_use_elsewhere_are_accepted() {
    for (renew, ttl) in [(5.0, 15.0), (10.0, 30.0), (30.0, 90.0)] {
        let timing = Timing::builder(seconds(ttl)).renew_every(seconds(renew)).build().unwrap();
        assert_eq!(timing.survives(), 1, "{renew}/{ttl}");
        assert!(timing.attempt_timeout() >= Duration::from_millis(300), "{:?}", timing.attempt_timeout());
        assert!(timing.grace() > Duration::ZERO);
    }
}

#[test]
fn the_documented_configurations_are_accepted() {
    let build = |ttl: f64, renew: f64, grace: f64| {
        Timing::builder(seconds(ttl)).renew_every(seconds(renew)).grace(seconds(grace)).build().unwrap()
    };
    assert_eq!(build(15.0, 2.0, 3.0).survives(), 2);
    assert_eq!(build(3.0, 0.5, 0.3).survives(), 2);
    assert_eq!(build(15.0, 3.0, 0.0).survives(), 2);
}

#[test]
fn short_ttls_are_derived_too() {
    for millis in [200, 300, 1_000, 3_000] {
        let timing = Timing::from_ttl(Duration::from_millis(millis)).unwrap();
        assert_eq!(timing.survives(), 2, "{millis} ms");
    }
}

#[test]
fn a_renewal_at_a_third_of_the_ttl_or_later_is_refused_when_work_needs_grace() {
    let error = Timing::builder(seconds(15.0)).renew_every(seconds(5.0)).grace(seconds(2.0)).build().unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, TimingError::TooTight(_)), "{text}");
    for number in ["15s", "5s", "2.000s", "200.000ms"] {
        assert!(text.contains(number), "{number} is missing in: {text}");
    }
}

#[test]
fn an_interval_the_message_suggests_is_accepted() {
    let builder = Timing::builder(seconds(6.0));
    let TimingError::TooTight(tight) = builder.renew_every(seconds(5.0)).build().unwrap_err() else {
        panic!("too tight")
    };
    let TooTight { max_renew_every, attempt_timeout, grace, .. } = *tight;
    builder.renew_every(max_renew_every).attempt_timeout(attempt_timeout).grace(grace).build().unwrap();
}

#[test]
fn a_grace_that_leaves_no_time_to_lead_is_named() {
    let text = Timing::builder(seconds(1.0)).grace(seconds(5.0)).build().unwrap_err().to_string();
    assert!(text.starts_with("grace 5s") && text.contains("ttl of 1s") && !text.contains("0ns"), "{text}");
}

#[test]
fn impossible_values_are_refused() {
    for ttl in [Duration::ZERO, Duration::from_millis(199), Duration::MAX, seconds(86_401.0)] {
        assert!(matches!(Timing::from_ttl(ttl), Err(TimingError::TtlOutOfRange { .. })), "{ttl:?}");
    }
    let builder = Timing::builder(seconds(15.0));
    assert!(matches!(builder.renew_every(Duration::ZERO).build(), Err(TimingError::Zero { .. })));
    assert!(matches!(builder.attempt_timeout(Duration::ZERO).build(), Err(TimingError::Zero { .. })));
    assert!(matches!(builder.grace(seconds(11.0)).renew_every(seconds(1.0)).build(), Err(TimingError::TooTight(_))));
    assert!(matches!(builder.grace(seconds(12.0)).build(), Err(TimingError::NoTimeToLead { .. })));
    assert!(matches!(builder.reaction(Duration::MAX).build(), Err(TimingError::NoTimeToLead { .. })));
    let longest = builder.renew_every(Duration::MAX).grace(Duration::MAX).attempt_timeout(Duration::MAX);
    assert!(matches!(longest.build(), Err(TimingError::NoTimeToLead { .. })));
    assert!(matches!(
        builder.renew_every(seconds(1.0)).attempt_timeout(seconds(2.0)).build(),
        Err(TimingError::AttemptTooLong { .. })
    ));
}

#[test]
fn an_interval_shorter_than_any_store_call_is_refused_and_does_not_panic() {
    for micros in [1, 999] {
        let builder = Timing::builder(seconds(15.0)).renew_every(Duration::from_micros(micros));
        assert!(matches!(builder.build(), Err(TimingError::AttemptTooLong { .. })), "{micros} us");
    }
    let shortest = Timing::builder(seconds(15.0)).renew_every(Duration::from_millis(1)).build().unwrap();
    assert_eq!(shortest.attempt_timeout(), Timing::QUANTUM);
}

#[test]
fn trust_ends_in_order() {
    let timing = Preset::Fast.timing();
    let sent_at = Instant::from_nanos(7);
    let trust = timing.trust_from(sent_at);
    assert_eq!(trust.until, sent_at + timing.hold());
    assert_eq!(trust.kill_at, trust.until - timing.reaction());
    assert_eq!(trust.stop_at, trust.kill_at - timing.grace());
}

#[test]
fn a_group_of_ten_at_thirty_seconds_asks_less_than_every_other_second() {
    let prediction = Preset::Normal.timing().predict(10);
    assert!(prediction.requests_per_minute <= 30.0, "{prediction:?}");
    assert!(prediction.max_failover > seconds(30.0));
    assert!(prediction.outage_survived > seconds(5.0), "{prediction:?}");
}

#[test]
fn less_drift_gives_a_longer_hold() {
    let careful = Timing::builder(seconds(15.0)).build().unwrap();
    let known = Timing::builder(seconds(15.0)).drift(Drift::from_ppb(5_000_000).unwrap()).build().unwrap();
    assert!(known.hold() > careful.hold());
}
