use super::*;

#[test]
fn a_leader_renews_in_time_and_with_bounded_jitter() {
    for (spread, due) in [(0, ms(1_800)), (u32::MAX, ms(2_200))] {
        let (mut bench, request) = ElectorBench::campaigning();
        bench.spread = spread;
        bench.reply(request.id, granted(5));
        assert_eq!(bench.sleeps(), Some(due));
        let renewal = only_request(&bench.wake());
        assert!(
            matches!(renewal.verb, Verb::Renew { nonce, term: t } if nonce == campaign_nonce(&request) && t == term(5))
        );
    }
}

#[test]
fn a_renewal_without_an_answer_is_tried_again_soon() {
    let mut bench = ElectorBench::leading();
    let first = only_request(&bench.wake());
    assert_eq!(bench.sleeps(), Some(timing().attempt_timeout()));
    assert_eq!(bench.wake(), []);
    assert!(bench.sleeps().unwrap() <= timing().renew_every() / 4);
    let second = only_request(&bench.wake());
    assert!(is_renew(&second) && second.id > first.id);
}

#[test]
fn leadership_survives_as_many_failed_renewals_as_promised() {
    let mut bench = ElectorBench::leading();
    bench.spread = u32::MAX;
    for _ in 0..timing().survives() {
        only_request(&bench.wake());
        assert_eq!(bench.wake(), [], "the attempt runs out");
    }
    let last = only_request(&bench.wake());
    bench.pass(timing().attempt_timeout() - ms(1));
    assert!(matches!(bench.reply(last.id, renewed())[..], [Output::Trusted { .. }]));
}

#[test]
fn not_renewed_in_time_is_lost_with_the_grace_that_is_left() {
    let mut bench = ElectorBench::leading();
    let trust = bench.trust();
    let before = bench.run_until(trust.stop_at - Duration::from_nanos(1));
    assert!(before.iter().all(|output| matches!(output, Output::Send(request) if is_renew(request))), "{before:?}");
    bench.now = trust.stop_at;
    assert_eq!(bench.feed(Input::Timeout), [lost(5, LossReason::Expired, trust.kill_at)]);
    assert_eq!(bench.elector.leads_under(), None);
    assert_eq!(bench.timeout, Some(trust.kill_at));
    assert_eq!(bench.wake(), [kill(5)]);
    assert_eq!(bench.timeout, Some(trust.until));
    assert_eq!(bench.wake(), [Output::Report(Anomaly::StuckWork { term: term(5) })]);
    assert_eq!(bench.timeout, None, "nothing but the end of the work matters now");
}

#[test]
fn a_pause_into_the_grace_leaves_only_the_rest_of_it() {
    let mut bench = ElectorBench::leading();
    let trust = bench.trust();
    bench.now = trust.stop_at + s(1);
    assert_eq!(bench.feed(Input::Timeout), [lost(5, LossReason::Expired, trust.kill_at)]);
    assert_eq!(bench.timeout, Some(trust.kill_at));
}

#[test]
fn a_pause_past_the_grace_kills_at_once() {
    let mut bench = ElectorBench::leading();
    let trust = bench.trust();
    bench.now = trust.kill_at;
    assert_eq!(bench.feed(Input::Timeout), [lost(5, LossReason::Expired, trust.kill_at), kill(5)]);
}

#[test]
fn a_pause_past_everything_tells_everything_in_order() {
    let mut bench = ElectorBench::leading();
    let trust = bench.trust();
    bench.pass(s(3600));
    assert_eq!(bench.feed(Input::Timeout), [lost(5, LossReason::Expired, trust.kill_at), kill(5)]);
    // What ended the work during the pause gets a moment to say so before anybody is alarmed.
    let stuck = Output::Report(Anomaly::StuckWork { term: term(5) });
    assert_eq!(bench.run_until(bench.now + timing().reaction()), [stuck]);
}

#[test]
fn a_pause_of_half_a_ttl_is_survived() {
    let mut bench = ElectorBench::leading();
    bench.pass(ms(7_500));
    let renewal = only_request(&bench.feed(Input::Timeout));
    assert!(matches!(bench.reply(renewal.id, renewed())[..], [Output::Trusted { .. }]));
}

#[test]
fn a_renewal_answered_during_a_pause_does_not_save_the_leader() {
    let mut bench = ElectorBench::leading();
    let renewal = only_request(&bench.wake());
    bench.now = bench.trust().stop_at;
    let outputs = bench.reply(renewal.id, renewed());
    assert!(matches!(outputs[..], [Output::Lost { reason: LossReason::Expired, .. }]), "{outputs:?}");
}

#[test]
fn a_campaign_without_an_answer_is_tried_again_under_the_same_nonce() {
    let (mut bench, first) = ElectorBench::campaigning();
    assert_eq!(bench.wake(), []);
    let second = only_request(&bench.wake());
    assert_eq!(campaign_nonce(&second), campaign_nonce(&first));
    assert!(second.id > first.id);
}

#[test]
fn a_candidate_that_is_not_heard_twice_releases_what_it_may_hold_until_it_is_answered() {
    let (mut bench, first) = ElectorBench::campaigning();
    bench.wake();
    bench.wake();
    // The second attempt is not answered, either.
    assert_eq!(bench.wake(), []);
    let mut release = only_request(&bench.wake());
    for _ in 0..5 {
        let nonce = campaign_nonce(&first);
        assert_eq!(
            release.verb,
            Verb::Resign { nonce, term: None, successor: None, reason: LossReason::Unheard },
            "a campaign might keep a lease alive that nobody uses"
        );
        bench.wake();
        release = only_request(&bench.wake());
    }
    let campaign = only_request(&bench.reply(release.id, Reply::Resign(Ok(()))));
    assert_ne!(campaign_nonce(&campaign), campaign_nonce(&first), "what is still on its way must not release it");
}

#[test]
fn a_candidate_that_could_not_even_ask_goes_on_campaigning() {
    let (mut bench, mut campaign) = ElectorBench::campaigning();
    for _ in 0..5 {
        bench.reply(campaign.id, Reply::Campaign(Err(WriteOutcome::NotSent)));
        let next = only_request(&bench.wake());
        assert_eq!(campaign_nonce(&next), campaign_nonce(&campaign));
        campaign = next;
    }
}

#[test]
fn a_candidate_that_is_not_heard_still_leaves_in_a_bounded_time() {
    let (mut bench, _) = ElectorBench::campaigning();
    for _ in 0..8 {
        bench.wake();
    }
    bench.feed(Input::Stop);
    let outputs: Vec<Output> =
        (0..3).flat_map(|_| if bench.timeout.is_some() { bench.wake() } else { vec![] }).collect();
    assert_eq!(outputs.last(), Some(&Output::Stopped), "{outputs:?}");
}

#[test]
fn back_off_grows_up_to_a_renewal_interval() {
    let (mut bench, _) = ElectorBench::campaigning();
    bench.spread = u32::MAX;
    let pauses: Vec<Duration> = (0..8)
        .map(|_| {
            bench.wake();
            let pause = bench.sleeps().unwrap();
            only_request(&bench.wake());
            pause
        })
        .collect();
    assert_eq!(pauses[..5], [ms(125), ms(250), ms(500), s(1), s(2)]);
    assert!(pauses[5..].iter().all(|pause| *pause == s(2)));
}

#[test]
fn back_off_is_spread_between_half_and_all_of_it() {
    for (spread, pause) in [(0, ms(62) + Duration::from_micros(500)), (u32::MAX, ms(125))] {
        let (mut bench, _) = ElectorBench::campaigning();
        bench.spread = spread;
        bench.wake();
        assert_eq!(bench.sleeps(), Some(pause));
    }
}

#[test]
fn a_follower_sleeps_until_the_known_end_of_the_lease() {
    let mut bench = ElectorBench::following();
    assert_eq!(bench.sleeps(), Some(s(10) + Timing::QUANTUM));
    only_request(&bench.wake());
}

#[test]
fn an_early_call_changes_nothing() {
    let (campaigning, _) = ElectorBench::campaigning();
    for mut bench in [campaigning, ElectorBench::following(), ElectorBench::leading(), ElectorBench::draining()] {
        let before = bench.clone();
        bench.now = bench.timeout.unwrap() - Duration::from_nanos(1);
        assert_eq!(bench.feed(Input::Timeout), []);
        assert_eq!(bench.elector.state(), before.elector.state());
        assert_eq!(bench.timeout, before.timeout);
    }
}
