use super::*;

const HEALTHY: Input = Input::Health { healthy: true };
const UNHEALTHY: Input = Input::Health { healthy: false };

#[test]
fn an_unwell_leader_resigns_with_grace() {
    let mut bench = ElectorBench::leading();
    let kill_at = bench.now + timing().grace();
    assert_eq!(bench.feed(UNHEALTHY), [lost(5, LossReason::Unhealthy, kill_at)]);
    let resign = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
    assert!(matches!(resign.verb, Verb::Resign { reason: LossReason::Unhealthy, .. }));
    bench.reply(resign.id, Reply::Resign(Ok(())));
    assert_eq!(bench.run_until(bench.now + s(600)), [], "and does not campaign until it is well");
    assert!(matches!(only_request(&bench.feed(HEALTHY)).verb, Verb::Campaign { .. }));
}

#[test]
fn a_leader_that_is_not_fed_in_time_resigns() {
    let mut bench = ElectorBench::leading_as(|candidate| candidate.health_within = Some(ms(1_500)));
    bench.pass(s(1));
    assert_eq!(bench.feed(HEALTHY), []);
    bench.pass(ms(1_499));
    let outputs = bench.feed(Input::Timeout);
    assert!(requests(&outputs).iter().all(is_renew) && bench.elector.leads_under().is_some());
    bench.pass(ms(1));
    let outputs = bench.feed(Input::Timeout);
    assert!(matches!(outputs[..], [Output::Lost { reason: LossReason::Unhealthy, .. }]), "{outputs:?}");
}

#[test]
fn feeding_too_late_does_not_undo_it() {
    let mut bench = ElectorBench::leading_as(|candidate| candidate.health_within = Some(ms(1_500)));
    bench.pass(ms(1_500));
    let outputs = bench.feed(HEALTHY);
    assert!(matches!(outputs[..], [Output::Lost { reason: LossReason::Unhealthy, .. }]), "{outputs:?}");
}

#[test]
fn an_unwell_follower_is_silent() {
    let mut bench = ElectorBench::following();
    assert_eq!(bench.feed(UNHEALTHY), []);
    assert_eq!(bench.run_until(bench.now + s(60)), []);
    assert_eq!(bench.feed(Input::Hint), []);
    assert_eq!(bench.run_until(bench.now + s(60)), []);
    assert!(matches!(only_request(&bench.feed(HEALTHY)).verb, Verb::Campaign { .. }), "its moment has passed");
}

#[test]
fn whoever_is_unwell_from_the_start_waits_to_become_well() {
    let mut bench = ElectorBench::idle(|_| ());
    bench.feed(UNHEALTHY);
    bench.feed(Input::Start);
    assert_eq!(bench.run_until(bench.now + s(60)), []);
    only_request(&bench.feed(HEALTHY));
}

#[test]
fn a_grant_to_an_unwell_candidate_is_given_back() {
    let (mut bench, campaign) = ElectorBench::campaigning();
    assert_eq!(bench.feed(UNHEALTHY), []);
    let resign = only_request(&bench.reply(campaign.id, granted(5)));
    assert_eq!(
        resign.verb,
        Verb::Resign {
            nonce: campaign_nonce(&campaign),
            term: Some(term(5)),
            successor: None,
            reason: LossReason::Unhealthy
        }
    );
}

#[test]
fn falling_ill_and_recovering_during_a_campaign_is_no_matter() {
    let (mut bench, campaign) = ElectorBench::campaigning();
    bench.feed(UNHEALTHY);
    bench.feed(HEALTHY);
    assert!(matches!(bench.reply(campaign.id, granted(5))[..], [Output::Elected { .. }]));
}

#[test]
fn feeding_causes_no_campaigns() {
    let mut bench = ElectorBench::following_as(|candidate| candidate.health_within = Some(s(1)));
    let end = bench.timeout.unwrap().max(bench.now + s(9));
    while bench.now + ms(500) < end {
        bench.pass(ms(500));
        assert_eq!(bench.feed(HEALTHY), []);
    }
}

#[test]
fn a_follower_that_recovers_before_its_moment_goes_on_sleeping() {
    let mut bench = ElectorBench::following();
    let moment = bench.timeout;
    for _ in 0..100 {
        bench.pass(ms(50));
        assert_eq!(bench.feed(UNHEALTHY), []);
        bench.pass(ms(1));
        assert_eq!(bench.feed(HEALTHY), [], "nothing has changed in the store");
    }
    assert_eq!(bench.timeout, moment);
    only_request(&bench.wake());
}

#[test]
fn the_gate_is_armed_by_the_start_and_ends_with_the_stop() {
    let mut bench = ElectorBench::idle(|candidate| candidate.health_within = Some(s(1)));
    assert_eq!(bench.feed(HEALTHY), []);
    assert_eq!(bench.timeout, None);
    let campaign = only_request(&bench.feed(Input::Start));
    bench.feed(Input::Stop);
    bench.reply(campaign.id, Reply::Campaign(Err(WriteOutcome::NotSent)));
    assert!(bench.elector.phase() == ElectorPhase::Stopped);
    assert_eq!(bench.timeout, None);
    assert_eq!(bench.feed(HEALTHY), []);
    assert_eq!(bench.timeout, None);
}
