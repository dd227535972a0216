//! Each check passes what is right and is shown to notice what is not.

use std::time::Duration;

use super::Check;
use crate::history::History;
use crate::leadership::Ending;
use crate::verdict::{HistoryVerdict, Limits};

fn judge_within(lines: &[String], max_failover: Option<Duration>) -> HistoryVerdict {
    let history = History::parse(lines);
    let verdict = history.verdict(&Limits { max_failover });
    assert!(verdict.malformed.is_empty(), "{:?}", verdict.malformed);
    verdict
}

fn judge(lines: &[String]) -> HistoryVerdict {
    judge_within(lines, None)
}

/// Which checks were offended, and by which lines.
fn offended(verdict: &HistoryVerdict) -> Vec<(Check, Vec<usize>)> {
    verdict.violations().map(|v| (v.check, v.lines.iter().map(|source| source.line).collect())).collect()
}

fn line(event: &str, candidate: &str, boot_ns: u64, rest: &str) -> String {
    format!(r#"{{"event":"{event}","election":"e","candidate":"{candidate}","boot_ns":{boot_ns}{rest}}}"#)
}

fn elected(candidate: &str, term: u64, boot_ns: u64) -> String {
    line("elected", candidate, boot_ns, &format!(r#","term":{term},"trusted_until_boot_ns":{}"#, boot_ns + 100))
}

fn lost(candidate: &str, term: u64, boot_ns: u64) -> String {
    line("lost", candidate, boot_ns, &format!(r#","term":{term},"reason":"resigned""#))
}

/// As a process tells that was paused: afterwards.
fn lost_late(candidate: &str, term: u64, boot_ns: u64, trusted_until: u64) -> String {
    let rest = format!(r#","term":{term},"reason":"expired","trusted_until_boot_ns":{trusted_until}"#);
    line("lost", candidate, boot_ns, &rest)
}

fn renewed(candidate: &str, term: u64, boot_ns: u64) -> String {
    line("renewed", candidate, boot_ns, &format!(r#","term":{term},"trusted_until_boot_ns":{}"#, boot_ns + 100))
}

fn killed(candidate: &str, boot_ns: u64) -> String {
    format!(r#"{{"event":"killed","candidate":"{candidate}","boot_ns":{boot_ns}}}"#)
}

fn accepted(resource: &str, term: u64, boot_ns: u64) -> String {
    format!(r#"{{"event":"accepted","resource":"{resource}","term":{term},"boot_ns":{boot_ns}}}"#)
}

#[test]
fn one_after_the_other_is_right_in_any_order_of_input() {
    let mut lines =
        vec![elected("a", 1, 10), lost("a", 1, 50), elected("b", 2, 50), lost("b", 2, 60), elected("a", 3, 70)];
    assert!(judge(&lines).is_good());
    lines.reverse();
    assert!(judge(&lines).is_good());
}

#[test]
fn two_at_once_are_an_overlap_of_exactly_that_span() {
    let verdict = judge(&[elected("a", 1, 10), lost("a", 1, 50), elected("b", 2, 49), lost("b", 2, 60)]);
    assert_eq!(offended(&verdict), [(Check::Overlap, vec![1, 2, 3])]);
    assert_eq!(verdict.violations().next().unwrap().between_boot_ns, Some((49, 50)));
}

#[test]
fn an_overlap_with_an_earlier_leader_than_the_last_is_found() {
    let verdict = judge(&[
        elected("a", 1, 10),
        elected("b", 2, 20),
        lost("b", 2, 30),
        elected("c", 3, 40),
        lost("c", 3, 45),
        lost("a", 1, 50),
    ]);
    assert_eq!(offended(&verdict), [(Check::Overlap, vec![1, 6, 2]), (Check::Overlap, vec![1, 6, 4])]);
}

#[test]
fn two_processes_with_one_id_are_two() {
    let pid = |line: String, pid: u32| line.replace(r#""boot_ns""#, &format!(r#""pid":{pid},"boot_ns""#));
    let lines = [elected("a", 1, 10), elected("a", 2, 20), lost("a", 1, 30), lost("a", 2, 40)];
    let lines: Vec<String> = lines.into_iter().zip([1, 2, 1, 2]).map(|(line, number)| pid(line, number)).collect();
    let verdict = judge(&lines);
    assert_eq!(offended(&verdict), [(Check::Overlap, vec![1, 3, 2])]);
    assert_eq!((verdict.elections[0].candidates, verdict.elections[0].processes), (1, 2));
    // A kill that names the process ends that one alone.
    let mut ended = vec![pid(elected("a", 1, 10), 1), pid(elected("a", 2, 20), 2), pid(killed("a", 15), 1)];
    assert!(judge(&ended).is_good());
    ended[2] = pid(killed("a", 15), 2);
    assert_eq!(offended(&judge(&ended)), [(Check::Overlap, vec![1, 2])]);
}

#[test]
fn who_was_paused_led_no_longer_than_its_trust() {
    let paused = |trusted_until| {
        judge(&[elected("a", 1, 10), lost_late("a", 1, 900, trusted_until), elected("b", 2, 200), lost("b", 2, 300)])
    };
    let verdict = paused(200);
    assert!(verdict.is_good());
    assert_eq!(verdict.elections[0].takeovers[0].took_ns, 0);
    assert_eq!(offended(&paused(201)), [(Check::Overlap, vec![1, 2, 3])]);
}

#[test]
fn who_was_killed_led_until_then() {
    let verdict = judge(&[elected("a", 1, 10), killed("a", 40), elected("b", 2, 41)]);
    assert!(verdict.is_good());
    assert_eq!(verdict.elections[0].takeovers[0].reason, "killed");
    assert_eq!(
        offended(&judge(&[elected("a", 1, 10), killed("a", 42), elected("b", 2, 41)])),
        [(Check::Overlap, vec![1, 2, 3])]
    );
}

#[test]
fn what_a_process_said_just_before_it_was_killed_is_no_offence() {
    assert!(judge(&[elected("a", 1, 10), killed("a", 40), renewed("a", 1, 41), lost("a", 1, 42)]).is_good());
    let another = judge(&[elected("a", 1, 10), killed("a", 40), lost("a", 7, 42)]);
    assert_eq!(offended(&another), [(Check::Alternation, vec![3])]);
}

#[test]
fn an_end_that_nothing_tells_is_not_assumed() {
    let within_trust = judge(&[elected("a", 1, 10), elected("b", 2, 50)]);
    assert_eq!(offended(&within_trust), [(Check::Overlap, vec![1, 2])]);
    assert!(within_trust.to_string().contains("killed line"), "{within_trust}");
    let after_it = judge(&[elected("a", 1, 10), elected("b", 2, 500)]);
    assert_eq!(offended(&after_it), [(Check::End, vec![1, 2])]);
    assert!(after_it.elections[0].takeovers.is_empty());
    assert!(judge(&[elected("a", 1, 10)]).is_good(), "who leads last may lead still");
}

#[test]
fn renewals_tell_the_end_of_who_falls_silent() {
    let silent = |next| judge(&[elected("a", 1, 10), renewed("a", 1, 90), elected("b", 2, next)]);
    let verdict = silent(190);
    assert!(verdict.is_good());
    assert_eq!(verdict.elections[0].leaderships[0].end.how, Ending::Lapsed);
    assert_eq!(offended(&silent(189)), [(Check::Overlap, vec![1, 3])]);
    // The same of one that was stopped, and killed long after.
    let stopped =
        |renewed: &[String]| judge(&[&[elected("a", 1, 10), elected("b", 2, 190), killed("a", 500)], renewed].concat());
    assert!(stopped(&[renewed("a", 1, 90)]).is_good());
    assert_eq!(offended(&stopped(&[])), [(Check::Overlap, vec![1, 3, 2])]);
}

#[test]
fn a_term_that_comes_twice_or_goes_back_is_found() {
    let again = |term| judge(&[elected("a", 5, 10), lost("a", 5, 20), elected("b", term, 30), lost("b", term, 40)]);
    assert!(again(6).is_good());
    assert_eq!(offended(&again(5)), [(Check::Terms, vec![1, 3])]);
    assert_eq!(offended(&again(4)), [(Check::Terms, vec![1, 3])]);
}

#[test]
fn terms_that_begin_at_the_same_nanosecond_have_no_order() {
    let verdict = judge(&[elected("b", 2, 10), lost("b", 2, 10), elected("a", 1, 10), lost("a", 1, 10)]);
    assert!(verdict.is_good(), "{verdict}");
}

#[test]
fn elected_and_lost_alternate_with_the_same_term() {
    let found = |lines: &[String], expected: &[usize]| {
        assert_eq!(offended(&judge(lines)), [(Check::Alternation, expected.to_vec())], "{lines:#?}");
    };
    found(&[elected("a", 1, 10), elected("a", 2, 20)], &[1, 2]);
    found(&[elected("a", 1, 10), lost("a", 2, 20)], &[1, 2]);
    found(&[lost("a", 1, 10), elected("a", 2, 20)], &[1]);
    found(&[elected("a", 1, 10), lost("a", 1, 20), lost("a", 1, 30)], &[3]);
    found(&[elected("a", 1, 10), line("stopped", "a", 20, "")], &[1, 2]);
    found(&[elected("a", 1, 10), renewed("a", 2, 20)], &[2]);
    // At the same nanosecond the order of the lines counts.
    assert!(judge(&[elected("a", 1, 10), lost("a", 1, 10), line("stopped", "a", 10, "")]).is_good());
}

#[test]
fn slow_takeovers_offend_only_the_limit_that_is_set() {
    let lines = [elected("a", 1, 10), lost("a", 1, 20), elected("b", 2, 25), lost("b", 2, 30), elected("a", 3, 50)];
    assert!(judge(&lines).is_good());
    assert!(judge_within(&lines, Some(Duration::from_nanos(20))).is_good());
    let slow = judge_within(&lines, Some(Duration::from_nanos(19)));
    assert_eq!(offended(&slow), [(Check::Takeover, vec![4, 5])]);
    let times = slow.elections[0].takeover_times.unwrap();
    assert_eq!((times.count, times.min_ns, times.median_ns, times.p99_ns, times.max_ns), (2, 5, 5, 20, 20));
}

#[test]
fn a_takeover_that_never_comes_is_too_slow() {
    let lines = [elected("a", 1, 10), lost("a", 1, 20), line("observed", "b", 60, "")];
    assert!(judge_within(&lines, Some(Duration::from_nanos(40))).is_good());
    let never = judge_within(&lines, Some(Duration::from_nanos(39)));
    assert_eq!(offended(&never), [(Check::Takeover, vec![2, 3])]);
}

#[test]
fn a_fenced_resource_takes_no_older_term() {
    let verdict = judge(&[accepted("fenced", 2, 10), accepted("fenced", 1, 20), accepted("fenced", 2, 30)]);
    assert_eq!(offended(&verdict), [(Check::Fencing, vec![1, 2])]);
    let at_once = judge(&[accepted("fenced", 2, 10), accepted("fenced", 1, 10)]);
    assert!(at_once.is_good(), "nothing tells which was first");
}

#[test]
fn an_unfenced_resource_is_only_counted() {
    let verdict = judge(&[accepted("unfenced", 2, 10), accepted("unfenced", 1, 20), accepted("unfenced", 1, 30)]);
    assert!(verdict.is_good());
    assert_eq!((verdict.registers[0].accepted, verdict.registers[0].stale), (3, 2));
}

#[test]
fn elections_are_judged_by_themselves() {
    let other = elected("b", 1, 20).replace(r#""election":"e""#, r#""election":"f""#);
    let verdict = judge(&[elected("a", 1, 10), other, killed("a", 30)]);
    assert!(verdict.is_good(), "{verdict}");
    assert_eq!(verdict.elections.len(), 2);
}

#[test]
fn what_cannot_be_read_or_judged_is_not_good() {
    let history = History::parse([elected("a", 1, 10), "{".to_owned(), "tenure: hello".to_owned(), "{}".to_owned()]);
    let verdict = history.verdict(&Limits::default());
    assert!(!verdict.is_good());
    assert_eq!(verdict.malformed[0].line.to_string(), "line:2");
    assert_eq!((verdict.unknown_events, verdict.other_lines), (1, 1));
    assert!(!judge(&[]).is_good(), "nothing is proved by nothing");
}
