use super::*;

/// Feeds everything there is to an elector that has stopped; it must stay silent for ever.
fn assert_silent_for_ever(bench: &mut ElectorBench) {
    assert!(bench.elector.phase() == ElectorPhase::Stopped);
    assert_eq!(bench.timeout, None);
    for input in [
        Input::Start,
        Input::Timeout,
        Input::Hint,
        Input::Opportunity,
        Input::Resign { term: None, successor: None },
        Input::WorkEnded { term: term(5) },
        Input::Health { healthy: false },
        Input::Health { healthy: true },
        Input::Stop,
        Input::Reply { request: RequestId(1), reply: granted(9) },
        Input::Reply { request: RequestId(2), reply: Reply::Resign(Ok(())) },
    ] {
        bench.pass(s(10));
        assert_eq!(bench.feed(input), []);
        assert_eq!(bench.timeout, None);
    }
}

/// What `stop` may take when the store does not answer and the work ends at once.
fn longest_silence() -> Duration {
    timing().attempt_timeout() * 3 + timing().renew_every() / 4
}

#[test]
fn before_the_start_it_is_over_at_once() {
    let mut bench = ElectorBench::idle(|_| ());
    assert_eq!(bench.feed(Input::Stop), [Output::Stopped]);
    assert_silent_for_ever(&mut bench);
}

#[test]
fn a_follower_the_store_has_not_heard_of_just_leaves() {
    let mut bench = ElectorBench::idle(|candidate| candidate.priority = Priority::new(0).unwrap());
    bench.feed(Input::Start);
    assert_eq!(bench.feed(Input::Stop), [Output::Stopped]);
    assert_silent_for_ever(&mut bench);
}

#[test]
fn a_follower_stands_by_no_longer() {
    let mut bench = ElectorBench::following();
    let resign = only_request(&bench.feed(Input::Stop));
    assert!(matches!(resign.verb, Verb::Resign { term: None, reason: LossReason::Stopped, .. }));
    assert_eq!(bench.reply(resign.id, Reply::Resign(Ok(()))), [Output::Stopped]);
    assert_silent_for_ever(&mut bench);
}

#[test]
fn the_wait_of_a_follower_does_not_send_the_release_again() {
    let (mut bench, campaign) = ElectorBench::campaigning();
    bench.reply(campaign.id, held(4, ms(300)));
    let resign = only_request(&bench.feed(Input::Stop));
    assert_eq!(bench.sleeps(), Some(timing().attempt_timeout()));
    assert_eq!(bench.run_until(bench.now + ms(999)), []);
    assert_eq!(bench.reply(resign.id, Reply::Resign(Ok(()))), [Output::Stopped]);
}

#[test]
fn a_grant_that_comes_while_stopping_is_given_back() {
    let (mut bench, campaign) = ElectorBench::campaigning();
    assert_eq!(bench.feed(Input::Stop), []);
    let outputs = bench.reply(campaign.id, granted(5));
    let resign = only_request(&outputs);
    assert_eq!(outputs.len(), 1, "it is never elected");
    assert_eq!(
        resign.verb,
        Verb::Resign {
            nonce: campaign_nonce(&campaign),
            term: Some(term(5)),
            successor: None,
            reason: LossReason::Stopped
        }
    );
    assert_eq!(bench.reply(resign.id, Reply::Resign(Ok(()))), [Output::Stopped]);
    assert_silent_for_ever(&mut bench);
}

#[test]
fn a_campaign_without_an_answer_is_given_back_by_its_nonce() {
    let (mut bench, campaign) = ElectorBench::campaigning();
    bench.feed(Input::Stop);
    let resign = only_request(&bench.wake());
    assert!(matches!(resign.verb, Verb::Resign { nonce, term: None, .. } if nonce == campaign_nonce(&campaign)));
    assert_eq!(bench.reply(campaign.id, granted(5)), [], "the answer comes too late");
    assert_eq!(bench.reply(resign.id, Reply::Resign(Ok(()))), [Output::Stopped]);
    assert_silent_for_ever(&mut bench);
}

#[test]
fn every_other_answer_to_a_campaign_ends_it_too() {
    for reply in [held(4, s(10)), reserved(s(1)), Reply::Campaign(Err(WriteOutcome::Unknown))] {
        let (mut bench, campaign) = ElectorBench::campaigning();
        bench.feed(Input::Stop);
        let resign = only_request(&bench.reply(campaign.id, reply));
        assert!(matches!(resign.verb, Verb::Resign { term: None, .. }));
        assert_eq!(bench.reply(resign.id, Reply::Resign(Ok(()))), [Output::Stopped]);
    }
    for failure in [WriteOutcome::NotSent, WriteOutcome::Refused] {
        let (mut bench, campaign) = ElectorBench::campaigning();
        bench.feed(Input::Stop);
        assert_eq!(bench.reply(campaign.id, Reply::Campaign(Err(failure))), [Output::Stopped], "nothing was written");
    }
}

#[test]
fn a_regressed_grant_while_stopping_still_ends() {
    let mut bench = ElectorBench::following();
    let campaign = only_request(&bench.wake());
    bench.feed(Input::Stop);
    let resign = only_request(&bench.reply(campaign.id, granted(2)));
    assert_eq!(bench.reply(resign.id, Reply::Resign(Ok(()))), [Output::Stopped]);
}

#[test]
fn a_leader_stops_its_work_then_releases_then_leaves() {
    let mut bench = ElectorBench::leading();
    let kill_at = bench.now + timing().grace();
    assert_eq!(bench.feed(Input::Stop), [lost(5, LossReason::Stopped, kill_at)]);
    bench.pass(s(1));
    let resign = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
    assert!(matches!(resign.verb, Verb::Resign { term: Some(_), reason: LossReason::Stopped, .. }));
    assert_eq!(bench.reply(resign.id, Reply::Resign(Ok(()))), [Output::Stopped]);
    assert_silent_for_ever(&mut bench);
}

#[test]
fn stuck_work_does_not_hold_it_up_for_ever() {
    let mut bench = ElectorBench::leading();
    let until = bench.trust().until;
    bench.feed(Input::Stop);
    let outputs = bench.run_until(until);
    assert_eq!(outputs, [kill(5), Output::Report(Anomaly::StuckWork { term: term(5) }), Output::Stopped]);
    assert_silent_for_ever(&mut bench);
}

#[test]
fn work_that_was_stuck_before_does_not_hold_it_up_at_all() {
    let mut bench = ElectorBench::draining();
    bench.run_until(bench.now + s(60));
    assert_eq!(bench.feed(Input::Stop), [Output::Stopped]);
    assert_silent_for_ever(&mut bench);
}

#[test]
fn whoever_is_draining_leaves_when_the_work_has_ended() {
    let mut bench = ElectorBench::draining();
    assert_eq!(bench.feed(Input::Stop), []);
    let resign = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
    assert_eq!(bench.reply(resign.id, Reply::Resign(Ok(()))), [Output::Stopped]);
}

#[test]
fn whoever_was_superseded_leaves_without_a_release() {
    let mut bench = ElectorBench::leading();
    let renewal = only_request(&bench.wake());
    bench.reply(renewal.id, not_holder(Some(6)));
    assert_eq!(bench.feed(Input::Stop), []);
    assert_eq!(bench.feed(Input::WorkEnded { term: term(5) }), [Output::Stopped]);
}

#[test]
fn whoever_is_resigning_leaves_after_it() {
    let (mut bench, resign) = ElectorBench::resigning();
    assert_eq!(bench.feed(Input::Stop), []);
    assert_eq!(bench.reply(resign.id, Reply::Resign(Ok(()))), [Output::Stopped]);
    assert_silent_for_ever(&mut bench);
}

#[test]
fn a_dead_store_does_not_hold_it_up() {
    let (campaigning, _) = ElectorBench::campaigning();
    let (resigning, _) = ElectorBench::resigning();
    for mut bench in [campaigning, ElectorBench::following(), ElectorBench::draining(), resigning] {
        let begun = bench.now;
        let mut outputs = bench.feed(Input::Stop);
        outputs.extend(bench.feed(Input::WorkEnded { term: term(5) }));
        outputs.extend(bench.run_until(begun + longest_silence()));
        assert_eq!(outputs.iter().filter(|output| **output == Output::Stopped).count(), 1);
        assert_eq!(outputs.last(), Some(&Output::Stopped));
        assert_silent_for_ever(&mut bench);
    }
}

#[test]
fn a_storm_of_stops_is_one_stop() {
    let mut bench = ElectorBench::leading();
    bench.feed(Input::Stop);
    for _ in 0..5 {
        assert_eq!(bench.feed(Input::Stop), []);
    }
    let resign = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
    assert_eq!(bench.feed(Input::Stop), []);
    assert_eq!(bench.reply(resign.id, Reply::Resign(Ok(()))), [Output::Stopped]);
}
