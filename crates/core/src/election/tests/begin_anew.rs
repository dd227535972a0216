use super::*;

impl ElectorBench {
    /// What ran it has broken down, just now.
    fn begin_anew(&mut self, unreleased: Option<Unreleased>) -> Vec<Output> {
        self.drawn += 1;
        let draw = Draw { nonce: Nonce::from_bits(self.drawn), spread: self.spread };
        self.elector.begin_anew(self.now, draw, unreleased);
        self.feed(Input::Timeout)
    }

    /// The lease under term 5, as its surroundings know it.
    fn lease(&self, is_lost: bool) -> Unreleased {
        let (term, trust) = self.elector.leads_under().expect("it leads");
        Unreleased { nonce: self.elector.nonce().unwrap(), term, trust, is_lost }
    }
}

#[test]
fn a_leader_loses_its_term_and_releases_it_when_its_work_has_ended() {
    let mut bench = ElectorBench::leading();
    let lease = bench.lease(false);
    let outputs = bench.begin_anew(Some(lease));
    let kill_at = bench.now + timing().grace();
    assert_eq!(outputs, [Output::Lost { term: term(5), reason: LossReason::Unhealthy, kill_at }]);
    let resign = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
    assert!(matches!(resign.verb, Verb::Resign { nonce, term: Some(_), .. } if nonce == lease.nonce));
    bench.reply(resign.id, Reply::Resign(Ok(())));
    let campaign = only_request(&bench.wake());
    assert_ne!(campaign_nonce(&campaign), lease.nonce, "a nonce is never used again after a resignation");
}

#[test]
fn a_loss_that_was_told_is_not_told_again() {
    let mut bench = ElectorBench::leading();
    let lease = bench.lease(true);
    assert_eq!(bench.begin_anew(Some(lease)), []);
    assert!(bench.is_draining());
    bench.pass(s(60));
    let outputs = bench.feed(Input::Timeout);
    assert!(outputs.contains(&Output::KillWork { term: term(5) }), "{outputs:?}");
}

#[test]
fn work_has_no_more_time_than_its_lease_had() {
    let mut bench = ElectorBench::leading();
    let lease = bench.lease(false);
    bench.now = lease.trust.stop_at;
    let lost = Output::Lost { term: term(5), reason: LossReason::Unhealthy, kill_at: lease.trust.kill_at };
    assert_eq!(bench.begin_anew(Some(lease)), [lost]);
}

#[test]
fn what_a_campaign_may_have_won_is_withdrawn_first() {
    let (mut bench, campaign) = ElectorBench::campaigning();
    let withdrawal = only_request(&bench.begin_anew(None));
    let nonce = campaign_nonce(&campaign);
    assert!(matches!(withdrawal.verb, Verb::Resign { nonce: of, term: None, .. } if of == nonce));
    assert!(withdrawal.id > campaign.id, "a late answer to the campaign is for nobody");
    let again = only_request(&bench.reply(withdrawal.id, Reply::Resign(Ok(()))));
    assert_ne!(campaign_nonce(&again), nonce);
}

#[test]
fn terms_that_were_seen_stay_seen() {
    let mut bench = ElectorBench::leading();
    let lease = bench.lease(false);
    bench.begin_anew(Some(lease));
    let resign = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
    bench.reply(resign.id, Reply::Resign(Ok(())));
    let campaign = only_request(&bench.wake());
    let outputs = bench.reply(campaign.id, granted(5));
    assert!(outputs.contains(&Output::Report(Anomaly::Regressed { seen: term(5), shown: term(5) })), "{outputs:?}");
    assert!(bench.elector.leads_under().is_none());
}

#[test]
fn an_unwell_candidate_stays_unwell() {
    let mut bench = ElectorBench::following();
    bench.feed(Input::Health { healthy: false });
    let withdrawal = only_request(&bench.begin_anew(None));
    bench.reply(withdrawal.id, Reply::Resign(Ok(())));
    let until = bench.now + s(60);
    assert_eq!(bench.run_until(until), []);
    let campaign = only_request(&bench.feed(Input::Health { healthy: true }));
    assert!(matches!(campaign.verb, Verb::Campaign { .. }));
}
