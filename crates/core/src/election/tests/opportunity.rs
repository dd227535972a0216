use super::*;

#[test]
fn a_leader_joins_the_renewals_of_others_when_halfway_there() {
    let mut bench = ElectorBench::leading();
    bench.pass(ms(999));
    assert_eq!(bench.feed(Input::Opportunity), []);
    bench.pass(ms(1));
    let renewal = only_request(&bench.feed(Input::Opportunity));
    assert!(is_renew(&renewal));
    // Its own timer does not ask a second time.
    assert_eq!(bench.run_until(bench.now + ms(900)), []);
    bench.reply(renewal.id, renewed());
    assert_eq!(bench.feed(Input::Opportunity), [], "it has only just asked");
    assert!(is_renew(&only_request(&bench.wake())), "and goes on renewing");
}

#[test]
fn one_renewal_at_a_time() {
    let mut bench = ElectorBench::leading();
    only_request(&bench.wake());
    bench.pass(ms(999));
    assert_eq!(bench.feed(Input::Opportunity), []);
}

#[test]
fn back_off_is_not_cut_short() {
    let mut bench = ElectorBench::leading();
    let renewal = only_request(&bench.wake());
    bench.pass(ms(999));
    bench.reply(renewal.id, Reply::Renew(Err(WriteOutcome::Unknown)));
    bench.pass(ms(10));
    assert_eq!(bench.feed(Input::Opportunity), []);
}

#[test]
fn it_means_nothing_to_anybody_else() {
    let (campaigning, _) = ElectorBench::campaigning();
    let (resigning, _) = ElectorBench::resigning();
    for mut bench in [campaigning, ElectorBench::following(), ElectorBench::draining(), resigning] {
        let before = bench.clone();
        assert_eq!(bench.feed(Input::Opportunity), []);
        assert_eq!(bench.elector.state(), before.elector.state());
    }
}
