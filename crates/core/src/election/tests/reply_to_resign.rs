use super::*;

const UNKNOWN: Reply = Reply::Resign(Err(WriteOutcome::Unknown));

#[test]
fn after_a_release_others_go_first() {
    let (mut bench, resign) = ElectorBench::resigning();
    assert_eq!(bench.reply(resign.id, Reply::Resign(Ok(()))), []);
    assert_eq!(bench.sleeps(), Some(ms(1_200)));
    assert!(matches!(only_request(&bench.wake()).verb, Verb::Campaign { .. }));
}

#[test]
fn a_failed_release_is_tried_once_more() {
    let (mut bench, first) = ElectorBench::resigning();
    assert_eq!(bench.reply(first.id, UNKNOWN), []);
    let second = only_request(&bench.wake());
    assert_eq!(second.verb, first.verb);
    assert_eq!(bench.reply(second.id, UNKNOWN), []);
    assert!(bench.is_following(), "the lease runs out by itself");
}

#[test]
fn a_release_without_an_answer_is_not_waited_for() {
    let (mut bench, _) = ElectorBench::resigning();
    let begun = bench.now;
    let mut sent = 0;
    while !bench.is_following() {
        sent += requests(&bench.wake()).len();
    }
    assert_eq!(sent, 1);
    assert!(bench.now.saturating_since(begun) <= timing().attempt_timeout() * 2 + timing().renew_every() / 4);
}

#[test]
fn foreign_answers_are_ignored() {
    let (mut bench, resign) = ElectorBench::resigning();
    for (request, reply) in [
        (RequestId(resign.id.0 - 1), Reply::Resign(Ok(()))),
        (RequestId(resign.id.0 + 1), UNKNOWN),
        (resign.id, granted(9)),
        (resign.id, renewed()),
    ] {
        let before = bench.clone();
        assert_eq!(bench.reply(request, reply), []);
        assert_eq!(bench.elector.state(), before.elector.state());
        assert_eq!(bench.timeout, before.timeout);
    }
}

#[test]
fn an_expired_leader_that_released_stands_again_at_once() {
    let mut bench = ElectorBench::leading();
    bench.now = bench.trust().stop_at;
    bench.feed(Input::Timeout);
    let resign = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
    assert!(is_resign(&resign));
    assert!(matches!(only_request(&bench.reply(resign.id, Reply::Resign(Ok(())))).verb, Verb::Campaign { .. }));
}
