//! What holds for every sequence of inputs. The checks themselves are in `world/monitor.rs`.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::world::{Op, TestClock, TestWorld};
use super::*;

/// The same runs every time, unless `PROPTEST_RNG_SEED` and `PROPTEST_CASES` say otherwise.
fn config() -> ProptestConfig {
    let base = ProptestConfig::default();
    let rng_seed = match base.rng_seed {
        RngSeed::Random => RngSeed::Fixed(0x7e92),
        seed @ RngSeed::Fixed(_) => seed,
    };
    ProptestConfig { rng_seed, failure_persistence: None, ..base }
}

/// As fast and as slow as is allowed, or true, or anything between.
fn clock() -> impl Strategy<Value = TestClock> {
    let rho = i32::try_from(Drift::ONE_NINTH.ppb()).unwrap();
    (prop_oneof![Just(0), Just(rho), Just(-rho), -rho..=rho], 0..1_u64 << 50)
        .prop_map(|(rate, zero)| TestClock::new(rate, zero))
}

fn candidates() -> impl Strategy<Value = [Candidate; 2]> {
    let health = prop_oneof![3 => Just(None), 1 => Just(Some(s(30)))];
    (0..=10_u8, health).prop_map(|(level, health_within)| {
        let priority = Priority::new(level).unwrap();
        let keen = Candidate { id: id("a"), timing: timing(), priority: Priority::MAX, health_within };
        [keen.clone(), Candidate { id: id("b"), priority, ..keen }]
    })
}

fn node() -> std::ops::Range<usize> {
    0..2
}

/// What may happen without anybody breaking the contract.
fn honest() -> BoxedStrategy<Op> {
    let feed = |input: fn(bool) -> Input| {
        (node(), any::<bool>()).prop_map(move |(node, yes)| Op::Feed { node, input: input(yes) })
    };
    prop_oneof![
        10 => prop_oneof![0..300_u64, 0..9_000_u64].prop_map(|millis| Op::Run { millis }),
        2 => (node(), prop_oneof![0..2_000_u64, 6_000..40_000_u64]).prop_map(|(node, millis)| Op::Pause { node, millis }),
        1 => node().prop_map(|node| Op::Crash { node }),
        1 => Just(Op::Handover),
        2 => feed(|_| Input::Hint),
        1 => feed(|_| Input::Opportunity),
        1 => feed(|named| Input::Resign { term: None, successor: named.then(|| id("b")) }),
        2 => feed(|healthy| Input::Health { healthy }),
    ]
    .boxed()
}

fn any_reply() -> impl Strategy<Value = Reply> {
    let failure = || {
        prop_oneof![
            Just(WriteOutcome::Refused),
            Just(WriteOutcome::Unknown),
            Just(WriteOutcome::Replaced),
            Just(WriteOutcome::Unusable)
        ]
    };
    prop_oneof![
        (1..9_u64).prop_map(granted),
        (1..9_u64, 0..12_000_u64).prop_map(|(number, millis)| held(number, ms(millis))),
        (0..2_000_u64).prop_map(|millis| reserved(ms(millis))),
        Just(renewed()),
        (0..9_u64).prop_map(|number| not_holder((number > 0).then_some(number))),
        failure().prop_map(|failure| Reply::Campaign(Err(failure))),
        failure().prop_map(|failure| Reply::Renew(Err(failure))),
        prop_oneof![Just(Ok(())), failure().prop_map(Err)].prop_map(Reply::Resign),
    ]
}

/// What may happen at all.
fn anything() -> BoxedStrategy<Op> {
    prop_oneof![
        20 => honest(),
        2 => (node(), 0..30_u64, any_reply())
            .prop_map(|(node, id, reply)| Op::Forge { node, request: RequestId(id), reply }),
        1 => Just(Op::Seize),
        1 => Just(Op::Flush),
        1 => (node(), 1..9_u64).prop_map(|(node, number)| Op::Feed { node, input: Input::WorkEnded { term: term(number) } }),
        1 => prop_oneof![Just(Input::Start), Just(Input::Stop)]
            .prop_flat_map(|input| node().prop_map(move |node| Op::Feed { node, input: input.clone() })),
    ]
    .boxed()
}

fn tape() -> impl Strategy<Value = Vec<u16>> {
    vec(any::<u16>(), 1..150)
}

proptest! {
    #![proptest_config(config())]

    /// Clocks drift as far as they may, messages are lost, late and doubled, processes pause and crash: never do two
    /// candidates act at once, and when the faults end one of them leads.
    #[test]
    fn two_candidates_never_act_at_once(
        store in clock(), clocks in [clock(), clock()], candidates in candidates(), ops in vec(honest(), 1..40), tape in tape(),
    ) {
        let mut world = TestWorld::new(store, &clocks, &candidates, tape);
        for op in ops {
            world.play(op);
        }
        world.heal();
        world.stop_all();
    }

    /// Even when the store is seized, flushed and lies, an elector keeps its word.
    #[test]
    fn an_elector_keeps_its_contract_whatever_happens(
        store in clock(), clocks in [clock(), clock()], candidates in candidates(), ops in vec(anything(), 1..60), tape in tape(),
    ) {
        let mut world = TestWorld::new(store, &clocks, &candidates, tape);
        for op in ops {
            world.play(op);
        }
        world.stop_all();
    }
}
