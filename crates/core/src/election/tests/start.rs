use super::*;

#[test]
fn campaigns_at_once() {
    let mut bench = ElectorBench::idle(|_| ());
    let outputs = bench.feed(Input::Start);
    assert!(matches!(only_request(&outputs).verb, Verb::Campaign { .. }));
    assert_eq!(outputs.len(), 1);
    assert_eq!(bench.sleeps(), Some(timing().attempt_timeout()));
}

#[test]
fn nothing_happens_before() {
    let mut bench = ElectorBench::idle(|_| ());
    for input in [
        Input::Timeout,
        Input::Hint,
        Input::Opportunity,
        Input::Resign { term: None, successor: None },
        Input::WorkEnded { term: term(1) },
        Input::Reply { request: RequestId(1), reply: granted(1) },
        Input::Health { healthy: true },
    ] {
        assert_eq!(bench.feed(input), []);
        assert_eq!(bench.timeout, None);
    }
}

#[test]
fn a_second_start_is_ignored_in_every_state() {
    let (campaigning, _) = ElectorBench::campaigning();
    let (resigning, _) = ElectorBench::resigning();
    for mut bench in
        [campaigning, ElectorBench::following(), ElectorBench::leading(), ElectorBench::draining(), resigning]
    {
        let before = bench.clone();
        assert_eq!(bench.feed(Input::Start), []);
        assert_eq!(bench.elector.state(), before.elector.state());
        assert_eq!(bench.timeout, before.timeout);
    }
}

#[test]
fn each_step_below_the_keenest_waits_longer() {
    for (level, delay) in [(9, ms(50)), (5, ms(250)), (0, ms(500))] {
        let mut bench = ElectorBench::idle(|candidate| candidate.priority = Priority::new(level).unwrap());
        assert_eq!(bench.feed(Input::Start), []);
        assert_eq!(bench.sleeps(), Some(delay));
        only_request(&bench.wake());
    }
}

#[test]
fn a_clock_that_goes_back_is_not_believed() {
    let mut bench = ElectorBench::leading();
    bench.pass(s(1)).feed(Input::Timeout);
    let latest = bench.now;
    bench.now = Instant::ZERO;
    let renewal = only_request(&bench.feed(Input::Hint));
    bench.reply(renewal.id, renewed());
    assert_eq!(bench.trust(), timing().trust_from(latest));
}
