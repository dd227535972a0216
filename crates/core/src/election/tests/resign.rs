use super::*;

#[test]
fn the_work_gets_its_grace_and_the_lease_is_kept_until_it_ended() {
    let mut bench = ElectorBench::leading();
    let trust = bench.trust();
    let kill_at = bench.now + timing().grace();
    assert_eq!(
        bench.feed(Input::Resign { term: None, successor: Some(id("next")) }),
        [lost(5, LossReason::Resigned, kill_at)]
    );
    assert_eq!(bench.elector.leads_under(), None);
    assert_eq!(bench.run_until(kill_at - Duration::from_nanos(1)), [], "neither renewed nor released");
    assert_eq!(bench.run_until(trust.until - Duration::from_nanos(1)), [kill(5)]);
    let resign = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
    let Verb::Resign { term: released, successor, reason, .. } = resign.verb else { panic!("{resign:?}") };
    assert_eq!((released, successor, reason), (Some(term(5)), Some(id("next")), LossReason::Resigned));
}

#[test]
fn the_grace_never_reaches_beyond_what_can_be_trusted() {
    let mut bench = ElectorBench::leading();
    let trust = bench.trust();
    bench.now = trust.stop_at - Duration::from_nanos(1);
    let outputs = bench.feed(Input::Resign { term: None, successor: None });
    assert!(matches!(outputs.last(), Some(Output::Lost { kill_at, .. }) if *kill_at <= trust.kill_at), "{outputs:?}");
    bench.run_until(trust.kill_at);
}

#[test]
fn too_late_is_expired() {
    let mut bench = ElectorBench::leading();
    bench.now = bench.trust().stop_at;
    let outputs = bench.feed(Input::Resign { term: None, successor: None });
    assert!(matches!(outputs[..], [Output::Lost { reason: LossReason::Expired, .. }]), "{outputs:?}");
}

#[test]
fn a_renewal_under_way_brings_nothing_back() {
    let mut bench = ElectorBench::leading();
    let renewal = only_request(&bench.wake());
    bench.feed(Input::Resign { term: None, successor: None });
    assert_eq!(bench.reply(renewal.id, renewed()), []);
    assert_eq!(bench.reply(renewal.id, not_holder(Some(9))), []);
    assert!(bench.is_draining());
}

#[test]
fn it_is_ignored_unless_leading() {
    let (campaigning, _) = ElectorBench::campaigning();
    let (resigning, _) = ElectorBench::resigning();
    for mut bench in [campaigning, ElectorBench::following(), ElectorBench::draining(), resigning] {
        let before = bench.clone();
        assert_eq!(bench.feed(Input::Resign { term: None, successor: Some(id("next")) }), []);
        assert_eq!(bench.elector.state(), before.elector.state());
    }
}

#[test]
fn a_resignation_of_another_term_is_ignored() {
    let mut bench = ElectorBench::leading();
    assert_eq!(bench.feed(Input::Resign { term: Some(term(4)), successor: None }), []);
    assert!(bench.elector.leads_under().is_some());
    let outputs = bench.feed(Input::Resign { term: Some(term(5)), successor: None });
    assert!(matches!(outputs[..], [Output::Lost { reason: LossReason::Resigned, .. }]), "{outputs:?}");
}
