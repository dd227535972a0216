use super::*;

const UNUSABLE: Reply = Reply::Campaign(Err(WriteOutcome::Unusable));

#[test]
fn trust_counts_from_the_sending_and_not_from_the_answer() {
    let (mut bench, request) = ElectorBench::campaigning();
    let sent_at = bench.now;
    bench.pass(ms(900));
    let outputs = bench.reply(request.id, granted(5));
    let trust = timing().trust_from(sent_at);
    assert_eq!(trust.until, sent_at + timing().hold());
    assert_eq!(outputs, [Output::Elected { term: term(5), trust }]);
    assert_eq!(bench.elector.leads_under(), Some((term(5), trust)));
}

#[test]
fn a_grant_after_the_attempt_timed_out_is_worth_nothing() {
    let (mut bench, request) = ElectorBench::campaigning();
    bench.pass(timing().attempt_timeout());
    assert_eq!(bench.reply(request.id, granted(5)), []);
    assert!(bench.is_following());
    // Leaving now gives back what it may hold without having heard of it.
    let resign = only_request(&bench.feed(Input::Stop));
    assert!(matches!(resign.verb, Verb::Resign { nonce, term: None, .. } if nonce == campaign_nonce(&request)));
}

#[test]
fn a_lost_grant_is_recognised_by_its_nonce_and_trusted_from_the_second_asking() {
    let (mut bench, first) = ElectorBench::campaigning();
    bench.wake();
    let second = only_request(&bench.wake());
    assert_eq!(campaign_nonce(&second), campaign_nonce(&first));
    let sent_at = bench.now;
    bench.pass(ms(3));
    assert_eq!(bench.reply(first.id, granted(5)), [], "the first answer has no say any more");
    let outputs = bench.reply(second.id, granted(5));
    assert_eq!(outputs, [Output::Elected { term: term(5), trust: timing().trust_from(sent_at) }]);
}

#[test]
fn the_nonce_is_kept_after_every_failure() {
    for failure in [WriteOutcome::Refused, WriteOutcome::NotSent, WriteOutcome::Unknown, WriteOutcome::Replaced] {
        let (mut bench, first) = ElectorBench::campaigning();
        assert_eq!(bench.reply(first.id, Reply::Campaign(Err(failure))), []);
        assert_eq!(campaign_nonce(&only_request(&bench.wake())), campaign_nonce(&first), "{failure:?}");
    }
}

#[test]
fn a_grant_that_is_of_no_use_is_given_back_and_followed_by_a_fresh_nonce() {
    let (mut bench, campaign) = ElectorBench::campaigning();
    let resign = only_request(&bench.reply(campaign.id, UNUSABLE));
    let nonce = campaign_nonce(&campaign);
    let reason = LossReason::Withdrawn;
    assert_eq!(resign.verb, Verb::Resign { nonce, term: None, successor: None, reason });
    assert_eq!(bench.reply(resign.id, Reply::Resign(Ok(()))), [], "it backs off");
    let again = only_request(&bench.wake());
    assert_ne!(campaign_nonce(&again), nonce);
    assert!(matches!(bench.reply(again.id, granted(5))[..], [Output::Elected { .. }]));
}

#[test]
fn a_nonce_is_not_used_again_although_nobody_answers_its_resignation() {
    let (mut bench, campaign) = ElectorBench::campaigning();
    let mut sent = requests(&bench.reply(campaign.id, UNUSABLE));
    while !bench.is_following() {
        sent.extend(requests(&bench.wake()));
    }
    assert_eq!((sent.len(), sent.iter().all(is_resign)), (2, true), "{sent:?}");
    assert_ne!(campaign_nonce(&only_request(&bench.wake())), campaign_nonce(&campaign));
}

#[test]
fn a_store_whose_grants_are_of_no_use_is_asked_less_and_less_often() {
    let (mut bench, mut campaign) = ElectorBench::campaigning();
    let pauses = [0; 8].map(|_| {
        let resign = only_request(&bench.reply(campaign.id, UNUSABLE));
        bench.reply(resign.id, Reply::Resign(Ok(())));
        let pause = bench.sleeps().unwrap();
        campaign = only_request(&bench.wake());
        pause
    });
    assert!(pauses.is_sorted() && pauses[7] >= timing().renew_every() / 2, "{pauses:?}");
}

#[test]
fn a_store_that_answers_nonsense_to_campaigns_alone_is_asked_less_and_less_often() {
    let (mut bench, mut request) = ElectorBench::campaigning();
    let begun = bench.now;
    let mut asked = 0;
    while bench.now < begun + s(60) {
        let reply =
            if is_resign(&request) { Reply::Resign(Ok(())) } else { Reply::Campaign(Err(WriteOutcome::Unknown)) };
        let sent = requests(&bench.reply(request.id, reply));
        request = sent.first().cloned().unwrap_or_else(|| only_request(&bench.wake()));
        asked += 1;
    }
    // Three requests in two pauses of a second or two.
    assert!(asked < 120, "{asked} requests in a minute");
}

#[test]
fn hints_that_keep_leading_to_failures_are_followed_less_and_less_often() {
    let (mut bench, mut request) = ElectorBench::campaigning();
    let begun = bench.now;
    let mut asked = 0;
    while bench.now < begun + s(60) {
        bench.reply(request.id, Reply::Campaign(Err(WriteOutcome::Refused)));
        bench.feed(Input::Hint);
        request = only_request(&bench.wake());
        asked += 1;
    }
    assert!(asked < 120, "{asked} requests in a minute");
}

#[test]
fn the_first_hint_after_many_failures_is_followed_at_once() {
    let (mut bench, mut request) = ElectorBench::campaigning();
    for _ in 0..10 {
        bench.reply(request.id, Reply::Campaign(Err(WriteOutcome::NotSent)));
        request = only_request(&bench.wake());
    }
    bench.reply(request.id, Reply::Campaign(Err(WriteOutcome::NotSent)));
    bench.feed(Input::Hint);
    assert!(bench.sleeps().unwrap() <= timing().renew_every() / 16, "{:?}", bench.sleeps());
}

#[test]
fn a_term_that_was_held_is_followed_by_a_fresh_nonce() {
    let (mut bench, resign) = ElectorBench::resigning();
    let Verb::Resign { nonce, .. } = resign.verb else { panic!("{resign:?}") };
    bench.reply(resign.id, Reply::Resign(Ok(())));
    assert_ne!(campaign_nonce(&only_request(&bench.wake())), nonce);
}

#[test]
fn an_unknown_id_is_ignored() {
    let (mut bench, request) = ElectorBench::campaigning();
    let before = bench.clone();
    for wrong in [RequestId(0), RequestId(request.id.0 + 1), RequestId(u64::MAX)] {
        assert_eq!(bench.reply(wrong, granted(5)), []);
        assert_eq!(bench.elector.state(), before.elector.state());
    }
}

#[test]
fn a_question_is_not_answered_before_it_was_asked() {
    let mut bench = ElectorBench::following();
    bench.now = bench.timeout.unwrap();
    let campaign = only_request(&bench.reply(RequestId(2), granted(5)));
    assert_eq!(campaign.id, RequestId(2));
    assert_eq!(bench.elector.leads_under(), None);
}

#[test]
fn an_answer_to_another_verb_is_ignored() {
    let (mut bench, request) = ElectorBench::campaigning();
    let before = bench.clone();
    for wrong in [renewed(), not_holder(None), Reply::Resign(Ok(()))] {
        assert_eq!(bench.reply(request.id, wrong), []);
        assert_eq!(bench.elector.state(), before.elector.state());
        assert_eq!(bench.timeout, before.timeout);
    }
}

#[test]
fn a_duplicate_grant_changes_nothing() {
    let (mut bench, request) = ElectorBench::campaigning();
    bench.reply(request.id, granted(5));
    let before = bench.clone();
    bench.pass(ms(500));
    for reply in [granted(5), granted(6), held(9, s(1))] {
        assert_eq!(bench.reply(request.id, reply), []);
        assert_eq!(bench.elector.leads_under(), before.elector.leads_under());
    }
}

#[test]
fn a_duplicate_grant_never_revives_a_released_term() {
    let (mut bench, campaign) = ElectorBench::campaigning();
    bench.reply(campaign.id, granted(5));
    bench.feed(Input::Resign { term: None, successor: None });
    let grant = Input::Reply { request: campaign.id, reply: granted(5) };
    assert_eq!(bench.feed(grant.clone()), [], "draining");
    let resign = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
    assert_eq!(bench.feed(grant.clone()), [], "resigning");
    bench.reply(resign.id, Reply::Resign(Ok(())));
    assert_eq!(bench.feed(grant.clone()), [], "following");
    let again = only_request(&bench.wake());
    assert_eq!(bench.feed(grant), [], "campaigning");
    // Not even under the id of the new campaign: the guard knows the term.
    let outputs = bench.reply(again.id, granted(5));
    assert!(outputs.contains(&Output::Report(Anomaly::Regressed { seen: term(5), shown: term(5) })), "{outputs:?}");
    assert_eq!(bench.elector.leads_under(), None);
}

#[test]
fn a_grant_at_or_below_a_seen_term_is_refused_reported_and_released() {
    for number in [1, 4] {
        let mut bench = ElectorBench::following();
        let campaign = only_request(&bench.wake());
        let outputs = bench.reply(campaign.id, granted(number));
        assert_eq!(outputs[0], Output::Report(Anomaly::Regressed { seen: term(4), shown: term(number) }));
        let resign = only_request(&outputs);
        assert_eq!(
            resign.verb,
            Verb::Resign {
                nonce: campaign_nonce(&campaign),
                term: Some(term(number)),
                successor: None,
                reason: LossReason::Regressed
            }
        );
        assert_eq!(outputs.len(), 2);
        bench.reply(resign.id, Reply::Resign(Ok(())));
        assert!(bench.sleeps().unwrap() >= s(1), "there is no hurry");
        let campaign = only_request(&bench.wake());
        assert!(matches!(bench.reply(campaign.id, granted(5))[..], [Output::Elected { .. }]), "above it all is well");
    }
}

#[test]
fn a_lower_term_in_other_hands_is_reported() {
    let mut bench = ElectorBench::following();
    let campaign = only_request(&bench.wake());
    let outputs = bench.reply(campaign.id, held(3, s(10)));
    assert!(outputs.contains(&Output::Report(Anomaly::Regressed { seen: term(4), shown: term(3) })), "{outputs:?}");
}

#[test]
fn who_leads_is_told_once_per_change() {
    let (mut bench, request) = ElectorBench::campaigning();
    let news = |number| Output::Observed { leader: Some(leader("rival", number)) };
    assert_eq!(bench.reply(request.id, held(4, s(10))), [news(4)]);
    let again = only_request(&bench.wake());
    assert_eq!(bench.reply(again.id, held(4, s(10))), []);
    let again = only_request(&bench.wake());
    assert_eq!(bench.reply(again.id, reserved(s(1))), [Output::Observed { leader: None }]);
    let again = only_request(&bench.wake());
    assert_eq!(bench.reply(again.id, held(6, s(10))), [news(6)]);
}

#[test]
fn whoever_leads_is_news_again_after_a_campaign_that_failed() {
    let silent = |bench: &mut ElectorBench, _: RequestId| drop(bench.wake());
    let failed =
        |bench: &mut ElectorBench, id: RequestId| drop(bench.reply(id, Reply::Campaign(Err(WriteOutcome::Refused))));
    for fails in [silent, failed] as [fn(&mut ElectorBench, RequestId); 2] {
        let (mut bench, request) = ElectorBench::campaigning();
        let news = [Output::Observed { leader: Some(leader("rival", 5)) }];
        assert_eq!(bench.reply(request.id, held(5, s(1))), news);
        let again = only_request(&bench.wake());
        fails(&mut bench, again.id);
        let again = only_request(&bench.wake());
        assert_eq!(bench.reply(again.id, held(5, s(1))), news);
    }
}

#[test]
fn a_rival_of_the_same_name_is_warned_about_once() {
    let (mut bench, request) = ElectorBench::campaigning();
    let warning = Output::Report(Anomaly::DuplicateId { candidate: id("me") });
    let outputs = bench.reply(request.id, held_by(Some(leader("me", 4)), s(10), 0));
    assert_eq!(outputs.iter().filter(|output| **output == warning).count(), 1);
    for number in [4, 5, 9] {
        let again = only_request(&bench.wake());
        let outputs = bench.reply(again.id, held_by(Some(leader("me", number)), s(10), 0));
        assert!(!outputs.contains(&warning));
    }
}

#[test]
fn a_lease_of_its_own_that_has_not_run_out_is_no_rival() {
    let mut bench = ElectorBench::leading();
    bench.now = bench.trust().until;
    bench.feed(Input::Timeout);
    let campaign = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
    let outputs = bench.reply(campaign.id, held_by(Some(leader("me", 5)), s(2), 0));
    assert_eq!(outputs, [Output::Observed { leader: Some(leader("me", 5)) }]);
    let campaign = only_request(&bench.wake());
    let outputs = bench.reply(campaign.id, held_by(Some(leader("me", 6)), s(2), 0));
    assert!(outputs.contains(&Output::Report(Anomaly::DuplicateId { candidate: id("me") })), "{outputs:?}");
}

#[test]
fn the_first_in_line_looks_when_the_lease_ends_and_the_others_a_little_later() {
    let (least, most) = (timing().ttl() / 16, timing().ttl() / 8);
    for (rank, spread, late) in [(0, u32::MAX, ms(0)), (1, 0, least), (1, u32::MAX, most), (7, 0, least)] {
        let (mut bench, request) = ElectorBench::campaigning();
        bench.spread = spread;
        bench.reply(request.id, held_by(Some(leader("rival", 4)), s(10), rank));
        assert_eq!(bench.sleeps(), Some(s(10) + Timing::QUANTUM + late), "rank {rank}");
    }
}

#[test]
fn a_lease_that_outlives_its_end_is_not_polled_in_a_tight_loop() {
    let (mut bench, mut request) = ElectorBench::campaigning();
    for _ in 0..3 {
        bench.reply(request.id, held(4, Duration::ZERO));
        assert_eq!(bench.sleeps(), Some(ms(10)));
        request = only_request(&bench.wake());
    }
}

#[test]
fn a_lower_priority_waits_longer_on_a_vacancy() {
    let (mut bench, request) = {
        let mut bench = ElectorBench::idle(|candidate| candidate.priority = Priority::new(8).unwrap());
        bench.feed(Input::Start);
        let request = only_request(&bench.wake());
        (bench, request)
    };
    bench.reply(request.id, held(4, s(10)));
    assert_eq!(bench.sleeps(), Some(s(10) + Timing::QUANTUM + ms(100)));
}

#[test]
fn a_store_whose_clock_is_years_ahead_is_not_waited_for() {
    let (mut bench, request) = ElectorBench::campaigning();
    bench.reply(request.id, held(4, s(1_000_000_000)));
    assert_eq!(bench.sleeps(), Some(s(15) + Timing::QUANTUM));
}

#[test]
fn a_longer_lease_than_its_own_does_not_make_it_lose_its_place() {
    let (mut bench, request) = ElectorBench::campaigning();
    bench.reply(request.id, held(4, s(45)));
    assert_eq!(bench.sleeps(), Some(s(15) + Timing::QUANTUM), "it stands by for one and a half of its own ttl");
}
