use super::*;

#[test]
fn trust_is_extended_from_the_sending_of_this_very_request() {
    let mut bench = ElectorBench::leading();
    let renewal = only_request(&bench.wake());
    let sent_at = bench.now;
    bench.pass(ms(900));
    let trust = timing().trust_from(sent_at);
    assert_eq!(bench.reply(renewal.id, renewed()), [Output::Trusted { term: term(5), trust }]);
    assert_eq!(bench.trust(), trust);
    // Without another answer it is this trust that ends.
    bench.run_until(trust.stop_at - Duration::from_nanos(1));
    assert!(bench.elector.leads_under().is_some());
    bench.run_until(trust.stop_at);
    assert!(bench.is_draining());
}

#[test]
fn an_answer_to_an_earlier_renewal_extends_nothing() {
    let mut bench = ElectorBench::leading();
    let trust = bench.trust();
    let first = only_request(&bench.wake());
    bench.wake();
    let second = only_request(&bench.wake());
    assert_eq!(bench.reply(first.id, renewed()), []);
    assert_eq!(bench.trust(), trust);
    assert!(matches!(bench.reply(second.id, renewed())[..], [Output::Trusted { .. }]));
}

#[test]
fn late_duplicate_and_foreign_answers_are_ignored() {
    let mut bench = ElectorBench::leading();
    let renewal = only_request(&bench.wake());
    for (request, reply) in [
        (RequestId(renewal.id.0 + 1), renewed()),
        (RequestId(renewal.id.0 - 1), not_holder(None)),
        (renewal.id, granted(9)),
        (renewal.id, Reply::Resign(Ok(()))),
    ] {
        let before = bench.clone();
        assert_eq!(bench.reply(request, reply), []);
        assert_eq!(bench.elector.state(), before.elector.state());
    }
    bench.reply(renewal.id, renewed());
    let trust = bench.trust();
    for reply in [renewed(), not_holder(None), Reply::Renew(Err(WriteOutcome::Replaced))] {
        assert_eq!(bench.reply(renewal.id, reply), [], "a duplicate");
        assert_eq!(bench.trust(), trust);
    }
}

#[test]
fn failures_are_retried_sooner_than_a_renewal_is_due() {
    for failure in [WriteOutcome::Refused, WriteOutcome::NotSent, WriteOutcome::Unknown] {
        let mut bench = ElectorBench::leading();
        bench.spread = u32::MAX;
        let trust = bench.trust();
        let mut pauses = Vec::new();
        for _ in 0..4 {
            let renewal = only_request(&bench.wake());
            assert_eq!(bench.reply(renewal.id, Reply::Renew(Err(failure))), []);
            pauses.push(bench.sleeps().unwrap());
        }
        assert_eq!(pauses, [ms(125), ms(250), ms(500), ms(500)], "{failure:?}");
        assert_eq!(bench.trust(), trust);
    }
}

#[test]
fn a_success_ends_the_back_off() {
    let mut bench = ElectorBench::leading();
    let renewal = only_request(&bench.wake());
    bench.reply(renewal.id, Reply::Renew(Err(WriteOutcome::Unknown)));
    let renewal = only_request(&bench.wake());
    bench.reply(renewal.id, renewed());
    assert_eq!(bench.sleeps(), Some(ms(1_800)));
}

#[test]
fn a_renewal_that_took_a_whole_interval_is_followed_by_the_next_at_once() {
    let slow = Timing::builder(s(15)).renew_every(s(2)).attempt_timeout(s(2)).grace(s(2)).build().unwrap();
    let mut bench = ElectorBench::leading_as(|candidate| candidate.timing = slow);
    let renewal = only_request(&bench.wake());
    bench.pass(ms(1_999));
    bench.reply(renewal.id, renewed());
    assert_eq!(bench.sleeps(), Some(Duration::ZERO), "now, and not in the past");
    assert!(is_renew(&only_request(&bench.wake())));
}

#[test]
fn whoever_is_overthrown_kills_at_once_and_releases_nothing() {
    let regressed = Output::Report(Anomaly::Regressed { seen: term(5), shown: term(2) });
    for (reply, reason, report) in [
        (not_holder(Some(6)), LossReason::Superseded, None),
        (not_holder(Some(5)), LossReason::Revoked, None),
        (not_holder(None), LossReason::Revoked, None),
        (not_holder(Some(2)), LossReason::Regressed, Some(regressed)),
    ] {
        let mut bench = ElectorBench::leading();
        let renewal = only_request(&bench.wake());
        let outputs = bench.reply(renewal.id, reply);
        let expected: Vec<Output> = [lost(5, reason, bench.now), kill(5)].into_iter().chain(report).collect();
        assert_eq!(outputs, expected);
        let outputs = bench.feed(Input::WorkEnded { term: term(5) });
        assert!(!requests(&outputs).iter().any(is_resign), "{reason:?}: {outputs:?}");
        let next = requests(&outputs).pop().unwrap_or_else(|| only_request(&bench.wake()));
        assert!(matches!(next.verb, Verb::Campaign { .. }), "it stands again");
    }
}

#[test]
fn a_store_that_was_replaced_is_told_when_the_work_has_ended() {
    let mut bench = ElectorBench::leading();
    let renewal = only_request(&bench.wake());
    let outputs = bench.reply(renewal.id, Reply::Renew(Err(WriteOutcome::Replaced)));
    let replaced = Output::Report(Anomaly::Replaced { term: term(5) });
    assert_eq!(outputs, [lost(5, LossReason::Regressed, bench.now), kill(5), replaced]);
    let resignation = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
    assert!(is_resign(&resignation), "{resignation:?}");
    let outputs = bench.reply(resignation.id, Reply::Resign(Ok(())));
    let next = requests(&outputs).pop().unwrap_or_else(|| only_request(&bench.wake()));
    assert!(matches!(next.verb, Verb::Campaign { .. }), "it stands again: {next:?}");
}

#[test]
fn the_term_that_superseded_it_must_be_surpassed() {
    let mut bench = ElectorBench::leading();
    let renewal = only_request(&bench.wake());
    bench.reply(renewal.id, not_holder(Some(8)));
    let campaign = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
    let outputs = bench.reply(campaign.id, granted(8));
    assert!(outputs.contains(&Output::Report(Anomaly::Regressed { seen: term(8), shown: term(8) })), "{outputs:?}");
}

#[test]
fn a_requested_handover_resigns_for_the_named_successor() {
    let mut bench = ElectorBench::leading();
    let renewal = only_request(&bench.wake());
    let handover = Some(Handover { successor: Some(id("next")) });
    let outputs = bench.reply(renewal.id, Reply::Renew(Ok(RenewReply::Renewed { handover })));
    let trust = timing().trust_from(bench.now);
    assert_eq!(
        outputs,
        [Output::Trusted { term: term(5), trust }, lost(5, LossReason::Requested, bench.now + timing().grace())]
    );
    let resign = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
    let Verb::Resign { term: released, successor, reason, .. } = resign.verb else { panic!("{resign:?}") };
    assert_eq!((released, successor, reason), (Some(term(5)), Some(id("next")), LossReason::Requested));
}
