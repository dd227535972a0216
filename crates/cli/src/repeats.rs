//! Repeated errors, reported often enough to show that they continue, and no more.
//!
//! A store that is away is asked again and again, and fails in the same way each time. The first failure is told at once;
//! then only one of another shape (times, durations and other numbers in it do not count), and now and then how often it has
//! failed so far. All that is told of such errors
//! passes through here: events of candidacies, looks of `watch` and `status --watch`, and the log.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tenure::Instant;
use tenure_core::Backoff;

use crate::duration::show;

/// The errors reported so far.
#[derive(Debug, Default)]
pub struct Repeats {
    known: Vec<RepeatCount>,
}

/// How to report an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling {
    /// In full: it is new.
    First,
    /// As continuing.
    Still(Spell),
    /// Not at all: it was just reported.
    Not,
}

/// How long something has failed, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spell {
    /// The attempts that failed.
    pub attempts: u64,
    /// From the first of them until now.
    pub lasting: Duration,
}

/// The failing part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatedCause {
    /// The store: the failure is over when the store answers.
    Store,
    /// Anything else; its end is not noticed.
    Other,
}

/// After so long it is told again that it still fails, and then after twice as long, and so on.
const TELL_AGAIN: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(3600));
/// A store that fails on and off is told of less and less often, too.
const TELL_SPELL: Backoff = TELL_AGAIN.with_max(Duration::from_secs(600));
/// What was not heard of for so long is new when it comes again.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(7200);
/// More different errors than this at a time are told each time.
const KEPT: usize = 16;

#[derive(Debug)]
struct RepeatCount {
    shape: String,
    cause: RepeatedCause,
    /// The first failure of the present spell, and how many there were.
    began: Instant,
    attempts: u64,
    last: Instant,
    /// When it was told of last, and how often in a row: in the same spell, and of spells that came soon after each other.
    told: Instant,
    tellings: u32,
    spells: u32,
    /// The present spell has been told of.
    is_told: bool,
    /// It is over: the next failure begins another spell.
    is_over: bool,
}

impl Repeats {
    /// Notes a failure, and returns how to report it.
    pub fn failed(&mut self, now: Instant, cause: RepeatedCause, text: &str) -> Telling {
        self.known.retain(|known| now.saturating_since(known.last) < FORGOTTEN_AFTER);
        let shape = shape(text);
        if let Some(known) = self.known.iter_mut().find(|known| known.shape == shape && known.cause == cause) {
            return known.failed_again(now);
        }
        if self.known.len() >= KEPT {
            let oldest = self.known.iter().enumerate().min_by_key(|(_, known)| known.last).map(|(place, _)| place);
            oldest.map(|place| self.known.swap_remove(place));
        }
        self.known.push(RepeatCount::new(now, cause, shape));
        Telling::First
    }

    /// Notes that the store has answered. Returns the failure that this ends, if it was reported.
    pub fn answered(&mut self, now: Instant) -> Option<Spell> {
        let mut over: Option<(Instant, u64)> = None;
        for known in self.known.iter_mut().filter(|known| known.cause == RepeatedCause::Store && !known.is_over) {
            known.is_over = true;
            if known.is_told {
                let (began, attempts) = over.unwrap_or((known.began, 0));
                over = Some((began.min(known.began), attempts.saturating_add(known.attempts)));
            }
        }
        over.map(|(began, attempts)| Spell { attempts, lasting: now.saturating_since(began) })
    }
}

impl RepeatCount {
    fn new(now: Instant, cause: RepeatedCause, shape: String) -> Self {
        Self {
            shape,
            cause,
            began: now,
            attempts: 1,
            last: now,
            told: now,
            tellings: 1,
            spells: 1,
            is_told: true,
            is_over: false,
        }
    }

    fn failed_again(&mut self, now: Instant) -> Telling {
        self.last = now;
        if std::mem::take(&mut self.is_over) {
            (self.began, self.attempts, self.is_told) = (now, 0, false);
        }
        self.attempts = self.attempts.saturating_add(1);
        let since_told = now.saturating_since(self.told);
        if self.is_told {
            if since_told < TELL_AGAIN.ceiling(self.tellings) {
                return Telling::Not;
            }
            self.tellings = self.tellings.saturating_add(1);
        } else {
            let wait = TELL_SPELL.ceiling(self.spells);
            if since_told < wait {
                return Telling::Not;
            }
            let is_on_and_off = since_told < wait * 4;
            self.spells = if is_on_and_off { self.spells.saturating_add(1) } else { 1 };
            (self.tellings, self.is_told) = (1, true);
        }
        self.told = now;
        if self.attempts == 1 {
            return Telling::First;
        }
        Telling::Still(Spell { attempts: self.attempts, lasting: now.saturating_since(self.began) })
    }
}

/// The text without what may differ each time: words that begin with a digit, as times, durations, ports and process ids do.
/// Addresses count, and so does what is quoted: that is a name.
fn shape(text: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_matches(|c: char| matches!(c, '(' | ')' | '[' | ']' | ',' | ';' | ':' | '.'));
        let is_address = || bare.parse::<IpAddr>().is_ok() || bare.parse::<SocketAddr>().is_ok();
        if bare.starts_with(|c: char| c.is_ascii_digit()) && !is_address() { "0".to_owned() } else { word.to_owned() }
    };
    // Fields of the log are written name=value.
    text.split_inclusive([' ', '\n', '=']).map(|part| word(part.trim_end()) + &part[part.trim_end().len()..]).collect()
}

impl Telling {
    /// The sentence to report, if any.
    #[must_use]
    pub fn sentence(self, text: &str) -> Option<String> {
        match self {
            Self::First => Some(text.to_owned()),
            Self::Still(spell) => Some(format!("still failing after {spell}: {text}")),
            Self::Not => None,
        }
    }
}

impl Spell {
    /// Says in a sentence that it is over.
    #[must_use]
    pub fn is_over(self) -> String {
        format!("the store answers again, after {} failed {} in {}", self.attempts, self.noun(), show(self.lasting))
    }

    fn noun(self) -> &'static str {
        if self.attempts == 1 { "attempt" } else { "attempts" }
    }
}

impl fmt::Display for Spell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} in {}", self.attempts, self.noun(), show(self.lasting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(1_000 + seconds)
    }

    /// The seconds at which something is told, if it fails in each of these.
    fn told(repeats: &mut Repeats, seconds: impl Iterator<Item = u64>) -> Vec<u64> {
        seconds.filter(|second| repeats.failed(at(*second), RepeatedCause::Store, "refused") != Telling::Not).collect()
    }

    #[test]
    fn a_failure_is_told_at_once_and_then_at_growing_intervals() {
        let mut repeats = Repeats::default();
        assert_eq!(told(&mut repeats, 0..200), [0, 1, 3, 7, 15, 31, 63, 127]);
        let after_days = told(&mut repeats, 200..7 * 86_400);
        assert!(after_days.windows(2).all(|pair| pair[1] - pair[0] <= 3600), "{after_days:?}");
        assert!(after_days.len() < 200, "{}", after_days.len());
    }

    #[test]
    fn it_says_how_often_and_for_how_long() {
        let mut repeats = Repeats::default();
        assert_eq!(repeats.failed(at(0), RepeatedCause::Store, "refused"), Telling::First);
        assert_eq!(repeats.failed(at(0), RepeatedCause::Store, "refused"), Telling::Not);
        let still = repeats.failed(at(130), RepeatedCause::Store, "refused");
        assert_eq!(still.sentence("refused").unwrap(), "still failing after 3 attempts in 2m10s: refused");
        let over = repeats.answered(at(131)).unwrap();
        assert_eq!(over.is_over(), "the store answers again, after 3 failed attempts in 2m11s");
        assert_eq!(repeats.answered(at(132)), None, "once");
    }

    #[test]
    fn another_text_is_news_and_the_old_one_is_not_when_it_comes_back() {
        let mut repeats = Repeats::default();
        let tells = |repeats: &mut Repeats, second, text| repeats.failed(at(second), RepeatedCause::Store, text);
        assert_eq!(tells(&mut repeats, 0, "refused"), Telling::First);
        assert_eq!(tells(&mut repeats, 0, "no answer"), Telling::First);
        for _ in 0..100 {
            assert_eq!(tells(&mut repeats, 0, "refused"), Telling::Not);
            assert_eq!(tells(&mut repeats, 0, "no answer"), Telling::Not);
        }
        assert_eq!(repeats.answered(at(5)), Some(Spell { attempts: 202, lasting: Duration::from_secs(5) }));
    }

    #[test]
    fn a_time_or_a_number_that_changes_makes_no_other_error() {
        let alike = [
            ["no answer within 1.5s", "no answer within 750ms"],
            ["the clock is ahead by 3m2s.", "the clock is ahead by 12s."],
            ["refused at 2030-01-01T00:00:00.123Z (process 17)", "refused at 2030-01-01T00:00:01Z (process 18)"],
            ["WARN tenure: lost term=17 by=3", "WARN tenure: lost term=18 by=44"],
        ];
        for [one, other] in alike {
            assert_eq!(shape(one), shape(other));
        }
        let different = [
            ["cannot connect to 10.0.0.1:6379", "cannot connect to 10.0.0.2:6379"],
            ["lost election=\"2029\"", "lost election=\"2030\""],
            ["the lock of app-1", "the lock of app-2"],
            ["refused: no such user", "refused: no such database"],
        ];
        for [one, other] in different {
            assert_ne!(shape(one), shape(other));
        }
        let mut repeats = Repeats::default();
        let failed = |repeats: &mut Repeats, text: &str| repeats.failed(at(0), RepeatedCause::Other, text);
        assert_eq!(failed(&mut repeats, "the clock is ahead by 1s"), Telling::First);
        assert_eq!(failed(&mut repeats, "the clock is ahead by 2s"), Telling::Not);
    }

    #[test]
    fn after_a_long_outage_the_next_one_is_told_at_once() {
        let mut repeats = Repeats::default();
        told(&mut repeats, 0..10_000);
        assert!(repeats.answered(at(10_000)).is_some());
        assert_eq!(repeats.failed(at(10_060), RepeatedCause::Store, "refused"), Telling::First);
    }

    #[test]
    fn what_fails_on_and_off_is_told_less_and_less_often() {
        let mut repeats = Repeats::default();
        let mut lines = 0;
        for second in 0..3600 {
            lines += usize::from(repeats.failed(at(second), RepeatedCause::Store, "refused") != Telling::Not);
            lines += usize::from(repeats.answered(at(second)).is_some());
        }
        assert!((10..50).contains(&lines), "{lines} lines in an hour");
        // When it has been well for a while, it is news.
        assert_eq!(repeats.failed(at(7000), RepeatedCause::Store, "refused"), Telling::First);
    }

    #[test]
    fn an_answer_ends_nothing_that_has_nothing_to_do_with_the_store() {
        let mut repeats = Repeats::default();
        assert_eq!(repeats.failed(at(0), RepeatedCause::Other, "the same id"), Telling::First);
        assert_eq!(repeats.answered(at(1)), None);
        assert_eq!(repeats.failed(at(0), RepeatedCause::Other, "the same id"), Telling::Not);
    }

    #[test]
    fn little_is_kept() {
        let mut repeats = Repeats::default();
        for number in 0..1_000 {
            assert_eq!(repeats.failed(at(number), RepeatedCause::Store, &format!("n{number}")), Telling::First);
        }
        assert!(repeats.known.len() <= KEPT);
        assert_eq!(
            repeats.failed(at(1_000), RepeatedCause::Store, "n999"),
            Telling::Still(Spell { attempts: 2, lasting: Duration::from_secs(1) })
        );
    }
}
