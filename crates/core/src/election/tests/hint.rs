use super::*;

#[test]
fn a_follower_looks_at_once() {
    let mut bench = ElectorBench::following();
    bench.pass(s(1));
    assert!(matches!(only_request(&bench.feed(Input::Hint)).verb, Verb::Campaign { .. }));
}

#[test]
fn a_lower_priority_looks_a_little_later_however_often_it_is_told() {
    let mut bench = ElectorBench::idle(|candidate| candidate.priority = Priority::new(8).unwrap());
    bench.feed(Input::Start);
    let request = only_request(&bench.wake());
    bench.reply(request.id, held(4, s(10)));
    bench.pass(s(1));
    let hinted_at = bench.now;
    assert_eq!(bench.feed(Input::Hint), []);
    bench.pass(ms(60));
    assert_eq!(bench.feed(Input::Hint), []);
    assert_eq!(bench.timeout, Some(hinted_at + ms(100)));
}

#[test]
fn an_answer_that_a_hint_overtook_is_checked_again() {
    let mut bench = ElectorBench::following();
    bench.pass(s(1));
    let first = only_request(&bench.feed(Input::Hint));
    assert_eq!(bench.feed(Input::Hint), []);
    let outputs = bench.reply(first.id, held(4, s(9)));
    let again = requests(&outputs).pop().unwrap_or_else(|| {
        assert!(bench.sleeps().unwrap() <= ms(10));
        only_request(&bench.wake())
    });
    assert!(matches!(again.verb, Verb::Campaign { .. }));
}

/// How many campaigns a storm of hints, one per answer, causes within a second when every answer takes a millisecond.
fn campaigns_in_a_storm(bench: &mut ElectorBench, answer: &Reply) -> usize {
    let end = bench.now + s(1);
    let mut sent = 0;
    while bench.now < end {
        let outputs = bench.feed(Input::Hint);
        let asked = requests(&outputs);
        sent += asked.len();
        bench.feed(Input::Hint);
        bench.pass(ms(1));
        for request in asked {
            let more = requests(&bench.reply(request.id, answer.clone()));
            sent += more.len();
            bench.pass(ms(1));
            for request in more {
                sent += requests(&bench.reply(request.id, answer.clone())).len();
            }
        }
    }
    sent
}

#[test]
fn hints_that_lead_to_nothing_are_not_followed_in_a_tight_loop() {
    let sent = campaigns_in_a_storm(&mut ElectorBench::following(), &held(4, s(10)));
    assert!((10..=200).contains(&sent), "{sent} campaigns in a second");
}

#[test]
fn neither_are_hints_about_a_reservation() {
    let sent = campaigns_in_a_storm(&mut ElectorBench::following(), &reserved(s(1)));
    assert!((10..=200).contains(&sent), "{sent} campaigns in a second");
}

#[test]
fn hints_do_not_defeat_the_back_off() {
    let sent = campaigns_in_a_storm(&mut ElectorBench::following(), &Reply::Campaign(Err(WriteOutcome::NotSent)));
    assert!((2..=17).contains(&sent), "{sent} campaigns in a second");
}

#[test]
fn whoever_resigned_does_not_race_its_successor_because_of_the_hint_its_own_release_caused() {
    let (mut bench, resign) = ElectorBench::resigning();
    bench.reply(resign.id, Reply::Resign(Ok(())));
    assert_eq!(bench.feed(Input::Hint), []);
    assert_eq!(bench.sleeps(), Some(ms(1_200)));
}

#[test]
fn a_hint_to_a_leader_makes_it_renew_now() {
    let mut bench = ElectorBench::leading();
    bench.pass(ms(100));
    assert!(is_renew(&only_request(&bench.feed(Input::Hint))));
}

#[test]
fn a_renewal_that_a_hint_overtook_is_followed_by_another() {
    let mut bench = ElectorBench::leading();
    let renewal = only_request(&bench.wake());
    assert_eq!(bench.feed(Input::Hint), []);
    bench.pass(ms(2));
    bench.reply(renewal.id, renewed());
    assert_eq!(bench.sleeps(), Some(ms(8)));
    let renewal = only_request(&bench.wake());
    bench.reply(renewal.id, renewed());
    assert_eq!(bench.sleeps(), Some(ms(1_800)), "and by no more than that");
}

#[test]
fn hints_to_a_leader_are_not_followed_in_a_tight_loop() {
    let mut bench = ElectorBench::leading();
    let end = bench.now + s(1);
    let mut sent = 0;
    while bench.now < end {
        bench.pass(ms(1));
        for request in requests(&bench.feed(Input::Hint)) {
            sent += 1;
            bench.reply(request.id, renewed());
        }
    }
    assert!((10..=101).contains(&sent), "{sent} renewals in a second");
}

#[test]
fn nor_do_they_defeat_the_back_off_of_a_leader() {
    let mut bench = ElectorBench::leading();
    let end = bench.now + s(1);
    let mut sent = 0;
    while bench.now < end {
        bench.pass(ms(1));
        for request in requests(&bench.feed(Input::Hint)) {
            sent += 1;
            bench.reply(request.id, Reply::Renew(Err(WriteOutcome::NotSent)));
        }
    }
    assert!((2..=17).contains(&sent), "{sent} renewals in a second");
}

#[test]
fn whoever_is_on_the_way_out_does_not_look() {
    let (resigning, _) = ElectorBench::resigning();
    for mut bench in [ElectorBench::draining(), resigning] {
        let before = bench.clone();
        assert_eq!(bench.feed(Input::Hint), []);
        assert_eq!(bench.elector.state(), before.elector.state());
    }
}
