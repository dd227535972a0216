//! Every right history passes, and every wrong one made from it is noticed.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tenure_history::{Check, History, HistoryVerdict, Limits};

/// The same runs every time, unless `PROPTEST_RNG_SEED` and `PROPTEST_CASES` say otherwise.
fn config() -> ProptestConfig {
    let base = ProptestConfig::default();
    let rng_seed = match base.rng_seed {
        RngSeed::Random => RngSeed::Fixed(0x415),
        seed @ RngSeed::Fixed(_) => seed,
    };
    ProptestConfig { rng_seed, failure_persistence: None, ..base }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ReignEnding {
    Resigned,
    /// It says only afterwards that it lost.
    Paused,
    Killed,
}

#[derive(Debug, Clone)]
struct Reign {
    candidate: usize,
    pid: usize,
    term: u64,
    start: u64,
    end: u64,
    /// When the end is told, which may be long after.
    told: u64,
    ending: ReignEnding,
}

impl Reign {
    fn elected(&self) -> String {
        let Self { candidate, pid, term, start, end, .. } = self;
        format!(
            r#"{{"event":"elected","election":"e","candidate":"c{candidate}","pid":{pid},"term":{term},"boot_ns":{start},"trusted_until_boot_ns":{}}}"#,
            end + 5
        )
    }

    fn ended(&self) -> String {
        let Self { candidate, pid, term, end, told, .. } = self;
        match self.ending {
            ReignEnding::Killed => {
                format!(r#"{{"event":"killed","candidate":"c{candidate}","pid":{pid},"boot_ns":{end}}}"#)
            }
            ReignEnding::Resigned | ReignEnding::Paused => format!(
                r#"{{"event":"lost","election":"e","candidate":"c{candidate}","pid":{pid},"term":{term},"reason":"x","boot_ns":{told},"trusted_until_boot_ns":{end}}}"#
            ),
        }
    }

    fn lines(&self) -> [String; 2] {
        [self.elected(), self.ended()]
    }
}

fn reigns() -> impl Strategy<Value = Vec<Reign>> {
    let ending = prop_oneof![Just(ReignEnding::Resigned), Just(ReignEnding::Paused), Just(ReignEnding::Killed)];
    vec((0..4_usize, 1..1_000_u64, 0..500_u64, 1..5_u64, ending), 2..30).prop_map(|steps| {
        let (mut now, mut term, mut pids) = (1_000, 0, [1; 4]);
        let reign = |(candidate, length, gap, growth, ending): (usize, u64, u64, u64, ReignEnding)| {
            let (start, end, pid) = (now, now + length, pids[candidate]);
            now = end + gap;
            term += growth;
            // Whoever was killed comes back as another process; so does, here, whoever was paused.
            pids[candidate] += usize::from(ending != ReignEnding::Resigned);
            let told = if ending == ReignEnding::Paused { end + 2_000 } else { end };
            Reign { candidate, pid, term, start, end, told, ending }
        };
        steps.into_iter().map(reign).collect()
    })
}

/// A history, and one of its leaderships that is not the last.
fn with_victim() -> impl Strategy<Value = (Vec<Reign>, usize)> {
    reigns().prop_flat_map(|reigns| {
        let others = 0..reigns.len() - 1;
        (Just(reigns), others)
    })
}

fn judge(lines: impl IntoIterator<Item = String>) -> HistoryVerdict {
    History::parse(lines).verdict(&Limits::default())
}

fn judge_all(reigns: &[Reign]) -> HistoryVerdict {
    judge(reigns.iter().flat_map(Reign::lines))
}

fn notices(verdict: &HistoryVerdict, check: Check) -> bool {
    verdict.violations().any(|violation| violation.check == check)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_right_history_passes_in_any_order(
        (reigns, lines) in reigns().prop_flat_map(|reigns| {
            let lines: Vec<String> = reigns.iter().flat_map(Reign::lines).collect();
            (Just(reigns), Just(lines).prop_shuffle())
        })
    ) {
        let verdict = judge(lines);
        prop_assert!(verdict.is_good(), "{verdict}");
        let election = &verdict.elections[0];
        prop_assert_eq!(election.leaderships.len(), reigns.len());
        let gaps: Vec<u64> = reigns.windows(2).map(|pair| pair[1].start - pair[0].end).collect();
        let measured: Vec<u64> = election.takeovers.iter().map(|takeover| takeover.took_ns).collect();
        prop_assert_eq!(measured, gaps);
    }

    #[test]
    fn a_leader_that_begins_too_early_is_noticed((mut reigns, at) in with_victim(), early in 1..2_000_u64) {
        let start = (reigns[at].end.saturating_sub(early)).max(reigns[at].start + 1);
        prop_assume!(start < reigns[at].end);
        reigns[at + 1].start = start;
        let same = (reigns[at].candidate, reigns[at].pid) == (reigns[at + 1].candidate, reigns[at + 1].pid);
        let verdict = judge_all(&reigns);
        prop_assert!(notices(&verdict, if same { Check::Alternation } else { Check::Overlap }), "{verdict}");
    }

    #[test]
    fn a_loss_that_comes_too_late_is_noticed((mut reigns, at) in with_victim()) {
        prop_assume!(reigns[at].pid != reigns[at + 1].pid || reigns[at].candidate != reigns[at + 1].candidate);
        reigns[at].end = reigns[at + 1].start + 1;
        reigns[at].told = reigns[at].told.max(reigns[at].end);
        let verdict = judge_all(&reigns);
        prop_assert!(notices(&verdict, Check::Overlap), "{verdict}");
    }

    #[test]
    fn a_term_that_does_not_grow_is_noticed((mut reigns, at) in with_victim(), back in 0..3_u64) {
        reigns[at + 1].term = reigns[at].term.saturating_sub(back).max(1);
        let verdict = judge_all(&reigns);
        prop_assert!(notices(&verdict, Check::Terms), "{verdict}");
    }

    #[test]
    fn an_end_that_is_not_told_is_noticed((reigns, at) in with_victim()) {
        let kept = reigns.iter().enumerate().flat_map(|(index, reign)| {
            let [elected, ended] = reign.lines();
            [Some(elected), (index != at).then_some(ended)].into_iter().flatten()
        });
        let verdict = judge(kept);
        prop_assert!(!verdict.is_good(), "{verdict}");
    }

    #[test]
    fn a_beginning_that_is_not_told_is_noticed((reigns, at) in with_victim()) {
        prop_assume!(reigns[at].ending != ReignEnding::Killed);
        let missing = reigns[at].elected();
        let verdict = judge(reigns.iter().flat_map(Reign::lines).filter(|line| *line != missing));
        prop_assert!(notices(&verdict, Check::Alternation), "{verdict}");
    }

    #[test]
    fn no_text_makes_it_panic(lines in vec("\\PC{0,60}|\\{\"event\":\"(elected|lost|killed)\",\\PC{0,60}\\}", 0..20)) {
        let history = History::parse(&lines);
        let verdict = history.verdict(&Limits::default());
        let begins_like_an_event = |line: &String| line.trim_ascii_start().starts_with('{');
        let text = lines.iter().filter(|line| !begins_like_an_event(line) && !line.trim_ascii().is_empty());
        prop_assert_eq!(verdict.other_lines, text.count());
        prop_assert!(verdict.malformed.iter().all(|malformed| begins_like_an_event(&lines[malformed.line.line - 1])));
        prop_assert!(tenure_history::timeline::html(&verdict).ends_with("</html>\n"));
    }
}
