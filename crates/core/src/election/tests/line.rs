//! Those who stand by: who comes next, who is woken, and what becomes of the lease when one of them goes.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::election::tests::*;
use crate::store_rules::record::{Effects, Moment, ProcessToken, RESERVATION, Record, WOKEN_BY_RESIGNATION, Wake};

/// One election in a store that sees deaths. Candidates are numbers; each is a process of its own.
struct StandByLine {
    record: Record,
    now: Instant,
    gone: RefCell<BTreeSet<u128>>,
}

impl StandByLine {
    /// One leads, and the others stand by in the order of their numbers.
    fn of(count: u128) -> Self {
        let mut line = Self { record: Record::default(), now: Instant::ZERO, gone: RefCell::default() };
        assert!(line.takes(0));
        for number in 1..count {
            line.pass(ms(1));
            assert!(!line.takes(number));
        }
        line
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    fn dies(&self, number: u128) {
        self.gone.borrow_mut().insert(number);
    }

    fn campaigns(&mut self, number: u128) -> (CampaignReply, Vec<Wake>) {
        let request = Campaign {
            key: key(),
            candidate: id(&number.to_string()),
            nonce: Nonce::from_bits(number),
            ttl: s(30),
            priority: Priority::MAX,
            metadata: Metadata::default(),
            stand_by_for: s(45),
        };
        self.step(number, |record, at, effects| {
            let is_free = record.is_free_for(&request, at);
            let before = record.last_term;
            let reply = record.campaign(&request, at, effects);
            assert_eq!(is_free, record.last_term > before, "what is promised is what happens");
            reply
        })
    }

    fn takes(&mut self, number: u128) -> bool {
        matches!(self.campaigns(number).0, CampaignReply::Granted { .. })
    }

    fn resigns(&mut self, number: u128, successor: Option<&str>) -> Vec<(u128, Duration)> {
        let (nonce, successor) = (Nonce::from_bits(number), successor.map(id));
        let request = Resign { key: key(), nonce, term: None, successor, reason: LossReason::Stopped };
        let ((), woken) = self.step(number, |record, at, effects| record.resign(&request, at, effects));
        woken.iter().map(|wake| (wake.process.0, wake.after)).collect()
    }

    fn watched_by(&self, number: u128, rank: u32) -> Vec<(u128, Duration)> {
        let is_gone = |process: ProcessToken| self.gone.borrow().contains(&process.0);
        let at = Moment { now: self.now, unix_ms: 0, process: ProcessToken(number), is_gone: &is_gone };
        let watches = self.record.watches(Nonce::from_bits(number), rank, &at);
        watches.iter().map(|watch| (watch.process.0, watch.after)).collect()
    }

    fn step<T>(
        &mut self,
        number: u128,
        act: impl FnOnce(&mut Record, &Moment<'_>, &mut Effects) -> T,
    ) -> (T, Vec<Wake>) {
        let mut effects = Effects::default();
        let is_gone = |process: ProcessToken| self.gone.borrow().contains(&process.0);
        let at = Moment { now: self.now, unix_ms: 0, process: ProcessToken(number), is_gone: &is_gone };
        let answer = act(&mut self.record, &at, &mut effects);
        (answer, effects.wake)
    }
}

fn key() -> ElectionKey {
    ElectionKey { namespace: Namespace::default(), name: ElectionName::new("nightly").unwrap() }
}

#[test]
fn a_resignation_wakes_a_bounded_number_one_after_the_other() {
    let mut line = StandByLine::of(100);
    let woken = line.resigns(0, None);
    let numbers: Vec<u128> = woken.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=16).collect::<Vec<_>>());
    assert_eq!([woken[0].1, woken[1].1], [Duration::ZERO, RESERVATION]);
    let steps: Vec<Duration> = woken[1..].windows(2).map(|two| two[1].1 - two[0].1).collect();
    assert_eq!(steps, [RESERVATION / 16; WOKEN_BY_RESIGNATION - 2]);
    assert!(woken[15].1 < RESERVATION * 2);
}

#[test]
fn the_dead_are_neither_woken_nor_waited_for() {
    let mut line = StandByLine::of(30);
    (1..10).for_each(|number| line.dies(number));
    let woken = line.resigns(0, None);
    assert_eq!((woken[0].0, woken.len()), (10, 16));
    assert!(line.takes(10));
}

#[test]
fn a_process_is_woken_once() {
    let mut line = StandByLine::of(10);
    let one = line.record.standing_by[0].process;
    line.record.standing_by.iter_mut().for_each(|stand_by| stand_by.process = one);
    assert_eq!(line.resigns(0, None), [(1, Duration::ZERO)]);
}

#[test]
fn while_an_absent_successor_is_waited_for_all_others_come_after_it() {
    let mut line = StandByLine::of(4);
    let woken = line.resigns(0, Some("absent"));
    assert_eq!(woken[0], (1, RESERVATION));
    assert!(!line.takes(1));
    line.pass(RESERVATION);
    assert!(line.takes(1));
}

#[test]
fn a_named_successor_that_is_known_to_be_gone_is_passed_over() {
    let mut line = StandByLine::of(4);
    line.dies(2);
    assert_eq!(line.resigns(0, Some("2"))[0], (1, Duration::ZERO));
    assert!(line.takes(1));
}

#[test]
fn a_successor_that_leaves_passes_the_lease_on() {
    let mut line = StandByLine::of(5);
    line.resigns(0, None);
    line.pass(ms(300));
    let woken = line.resigns(1, None);
    assert_eq!([woken[0], woken[1]], [(2, Duration::ZERO), (3, RESERVATION)]);
    assert!(!line.takes(3));
    assert!(line.takes(2));
}

#[test]
fn somebody_else_who_leaves_passes_nothing_on() {
    let mut line = StandByLine::of(5);
    assert_eq!(line.resigns(1, None), []);
    line.resigns(0, None);
    assert_eq!(line.resigns(3, None), []);
    line.pass(RESERVATION);
    // What was reserved is free by now.
    assert_eq!(line.resigns(2, None), []);
    assert!(line.takes(4));
}

#[test]
fn the_first_in_line_takes_over_from_the_dead() {
    let mut line = StandByLine::of(5);
    line.dies(0);
    line.dies(1);
    let (reply, woken) = line.campaigns(3);
    assert!(matches!(reply, CampaignReply::Held(Held { leader: None, remaining: RESERVATION, rank: 1 })), "{reply:?}");
    assert_eq!((woken[0].process, woken[0].after), (ProcessToken(2), Duration::ZERO));
    assert!(!line.takes(4));
    assert!(line.takes(2));
}

#[test]
fn a_newcomer_does_not_take_what_the_dead_left_to_the_line() {
    let mut line = StandByLine::of(3);
    line.dies(0);
    assert!(!line.takes(7));
    assert!(line.takes(1));
}

#[test]
fn a_successor_that_does_not_answer_costs_one_reservation() {
    let mut line = StandByLine::of(5);
    line.dies(0);
    assert!(!line.takes(2));
    line.pass(RESERVATION);
    assert!(line.takes(3));
}

#[test]
fn a_successor_that_dies_leaves_the_lease_to_the_next_in_line() {
    let mut line = StandByLine::of(5);
    line.resigns(0, None);
    line.dies(1);
    assert!(!line.takes(4));
    assert!(line.takes(2));
}

#[test]
fn a_lease_that_ran_out_is_anybodys() {
    let mut line = StandByLine::of(5);
    line.pass(s(31));
    assert!(line.takes(4));
}

#[test]
fn a_stand_by_watches_the_leader_and_the_two_before_it() {
    let line = StandByLine::of(6);
    assert_eq!(line.watched_by(1, 0), [(0, Duration::ZERO)]);
    assert_eq!(line.watched_by(2, 1), [(0, ms(5)), (1, Duration::ZERO)]);
    assert_eq!(line.watched_by(5, 4), [(0, ms(20)), (4, Duration::ZERO), (3, ms(5))]);
}

#[test]
fn the_dead_are_not_watched_and_leave_the_line() {
    let mut line = StandByLine::of(6);
    line.dies(4);
    line.dies(3);
    assert_eq!(line.watched_by(5, 2), [(0, ms(10)), (2, Duration::ZERO), (1, ms(5))]);
    assert!(!line.takes(5));
    assert_eq!(line.record.standing_by.len(), 3);
}

#[test]
fn nobody_watches_its_own_process_or_one_twice() {
    let mut line = StandByLine::of(6);
    line.record.standing_by[3].process = ProcessToken(0);
    line.record.standing_by[2].process = ProcessToken(5);
    assert_eq!(line.watched_by(5, 4), [(0, Duration::ZERO)]);
}

#[test]
fn whoever_the_lease_is_kept_for_is_watched_by_those_before_it_too() {
    let mut line = StandByLine::of(4);
    line.resigns(0, Some("3"));
    assert_eq!(line.watched_by(1, 0), [(3, Duration::ZERO)]);
}

#[test]
fn however_long_the_line_is_everybody_looks_within_a_reservation_and_not_at_once() {
    let mut line = StandByLine::of(2);
    let mut looks = BTreeSet::new();
    for rank in 0..400_u32 {
        // As random as nonces are.
        let nonce = Nonce::from_bits(u128::from(rank).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835));
        line.record.standing_by[0].nonce = nonce;
        let watches = line.step(1, |record, at, _| record.watches(nonce, rank, at)).0;
        assert!(watches[0].after <= RESERVATION);
        looks.insert(watches[0].after);
    }
    assert!(looks.len() > 390, "{} moments", looks.len());
}
