use super::*;

const ENDED: fn(u64) -> Input = |number| Input::WorkEnded { term: term(number) };

#[test]
fn the_lease_is_released_then_and_not_before() {
    let mut bench = ElectorBench::draining();
    let resign = only_request(&bench.feed(ENDED(5)));
    assert!(matches!(resign.verb, Verb::Resign { term: Some(t), reason: LossReason::Resigned, .. } if t == term(5)));
    assert_eq!(bench.feed(ENDED(5)), [], "once");
}

#[test]
fn work_of_another_term_does_not_count() {
    let mut bench = ElectorBench::draining();
    for number in [4, 6] {
        assert_eq!(bench.feed(ENDED(number)), []);
        assert!(bench.is_draining());
    }
}

#[test]
fn it_is_ignored_while_leading() {
    let mut bench = ElectorBench::leading();
    let before = bench.clone();
    assert_eq!(bench.feed(ENDED(5)), []);
    assert_eq!(bench.elector.state(), before.elector.state());
}

#[test]
fn a_killed_work_is_not_killed_again() {
    let mut bench = ElectorBench::draining();
    assert_eq!(bench.wake(), [kill(5)]);
    let resign = only_request(&bench.feed(ENDED(5)));
    let outputs = bench.run_until(bench.now + s(5));
    assert!(!outputs.contains(&kill(5)));
    assert!(is_resign(&resign));
}

#[test]
fn an_expired_lease_is_released_while_there_is_trust_left() {
    let mut bench = ElectorBench::leading();
    let until = bench.trust().until;
    bench.now = bench.trust().stop_at;
    bench.feed(Input::Timeout);
    bench.run_until(until - Duration::from_nanos(1));
    let resign = only_request(&bench.feed(ENDED(5)));
    assert!(matches!(resign.verb, Verb::Resign { term: Some(_), reason: LossReason::Expired, .. }));
}

#[test]
fn a_lease_that_ran_out_is_left_alone() {
    let mut bench = ElectorBench::leading();
    bench.now = bench.trust().until;
    bench.feed(Input::Timeout);
    let campaign = only_request(&bench.feed(ENDED(5)));
    assert!(matches!(campaign.verb, Verb::Campaign { .. }));
}

#[test]
fn whoever_resigned_lets_others_go_first_even_when_it_could_not_release() {
    let mut bench = ElectorBench::draining();
    bench.run_until(bench.now + s(60));
    assert_eq!(bench.feed(ENDED(5)), []);
    assert_eq!(bench.sleeps(), Some(ms(1_200)));
}

#[test]
fn stuck_work_is_not_campaigned_beside() {
    let mut bench = ElectorBench::draining();
    let outputs = bench.run_until(bench.now + s(3_600));
    assert_eq!(outputs, [kill(5), Output::Report(Anomaly::StuckWork { term: term(5) })]);
    for input in [Input::Hint, Input::Opportunity, Input::Health { healthy: true }, Input::Start, Input::Timeout] {
        assert_eq!(bench.feed(input), []);
        assert!(bench.is_draining());
    }
    bench.feed(ENDED(5));
    let outputs = bench.run_until(bench.now + s(10));
    assert!(matches!(requests(&outputs).first(), None | Some(Request { verb: Verb::Campaign { .. }, .. })));
}
