//! The time until the store first answers, and it is unknown whether it can be used at all.

use std::time::{Duration, SystemTime};

use tenure::store::{StoreError, StoreErrorKind};
use tenure::{Clock, ElectionError, Event, EventKind, Events, Instant};

use super::guarded::reach;
use crate::args::Global;
use crate::duration::show;
use crate::options::store_shown;

/// So long nobody wonders whether the store answers. A store that gives up by itself (connecting takes five seconds at most)
/// knows better why.
const SILENCE: Duration = Duration::from_secs(6);
/// What may have been granted all the same is released within this time, or left to run out.
const LEAVING: Duration = Duration::from_secs(5);

/// How a candidacy begins.
pub(super) struct Beginning {
    store: String,
    what_now: WhatNow,
    state: StartState,
}

/// What becomes of a candidacy whose store cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhatNow {
    /// It goes on trying.
    GoesOn,
    /// It ends, because that was asked for.
    FailsFast,
    /// It ends, because it does not wait for anything.
    Ends,
}

enum StartState {
    /// Nothing was heard yet.
    Silent { until: Instant },
    /// It has failed, and has never answered.
    Failed,
    /// It cannot be used, and that is the end.
    Over { by: Instant },
    /// It has answered.
    Begun,
}

/// What an event means for the beginning.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotedStart {
    /// Nothing.
    Usual,
    /// It is the first that was heard of the store, and it cannot be used: what to tell people of it.
    Unusable(String),
}

impl Beginning {
    pub(super) fn new(global: &Global, what_now: WhatNow) -> Self {
        let until = Clock::boottime().now() + SILENCE;
        Self { store: store_shown(global), what_now, state: StartState::Silent { until } }
    }

    /// Notes an event.
    pub(super) fn note(&mut self, event: &Event) -> NotedStart {
        match &event.kind {
            EventKind::Elected { .. } | EventKind::Renewed { .. } | EventKind::Observed { .. } if !self.gives_up() => {
                self.state = StartState::Begun;
            }
            EventKind::Error { error: error @ ElectionError::Store(_) } => return self.failed(event.at, error),
            _ => {}
        }
        NotedStart::Usual
    }

    /// Whether the candidacy is to end because the store cannot be used.
    pub(super) fn gives_up(&self) -> bool {
        matches!(self.state, StartState::Over { .. })
    }

    /// The next event: of the candidacy, or that nothing was heard for too long. `None` after the last one, and when the end
    /// of a candidacy that gave up is no longer waited for. Cancel safe.
    pub(super) async fn next(&self, events: &mut Events) -> Option<Event> {
        tokio::select! {
            event = events.next() => event,
            () = reach(self.due()) => self.overdue(),
        }
    }

    /// When something is to be done although nothing happens.
    fn due(&self) -> Option<Instant> {
        match self.state {
            StartState::Silent { until } => Some(until),
            StartState::Over { by } => Some(by),
            StartState::Failed | StartState::Begun => None,
        }
    }

    /// What has happened when that time has come: nothing was heard, which is an event like others; or nothing.
    fn overdue(&self) -> Option<Event> {
        let StartState::Silent { .. } = self.state else { return None };
        let message = format!("no answer from the store within {}", show(SILENCE));
        let error = ElectionError::Store(StoreError::unknown(StoreErrorKind::TimedOut, message));
        let clock = Clock::boottime();
        Some(Event::new(clock.now(), SystemTime::now(), EventKind::Error { error }))
    }

    fn failed(&mut self, at: Instant, why: &ElectionError) -> NotedStart {
        if !matches!(self.state, StartState::Silent { .. }) {
            return NotedStart::Usual;
        }
        let ends = self.what_now == WhatNow::FailsFast;
        self.state = if ends { StartState::Over { by: at + LEAVING } } else { StartState::Failed };
        let goes_on = if self.what_now == WhatNow::GoesOn { "; retrying (--fail-fast exits instead)" } else { "" };
        NotedStart::Unusable(format!("cannot use the store {}: {why}{goes_on}", self.store))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beginning(what_now: WhatNow) -> Beginning {
        let state = StartState::Silent { until: Instant::ZERO + SILENCE };
        Beginning { store: "redis://db".to_owned(), what_now, state }
    }

    fn event(kind: EventKind) -> Event {
        Event::new(Instant::ZERO, SystemTime::UNIX_EPOCH, kind)
    }

    fn failure() -> Event {
        let error = ElectionError::Store(StoreError::not_sent(StoreErrorKind::Denied, "wrong password"));
        event(EventKind::Error { error })
    }

    fn answer() -> Event {
        event(EventKind::Observed { leader: None })
    }

    #[test]
    fn the_first_failure_says_which_store_and_why_and_what_happens_then() {
        for (what_now, gives_up, told) in [
            (WhatNow::GoesOn, false, "cannot use the store redis://db: wrong password; retrying"),
            (WhatNow::FailsFast, true, "cannot use the store redis://db: wrong password"),
            (WhatNow::Ends, false, "cannot use the store redis://db: wrong password"),
        ] {
            let mut beginning = beginning(what_now);
            let NotedStart::Unusable(why) = beginning.note(&failure()) else { panic!("it is told") };
            assert!(why.starts_with(told), "{why}");
            assert_eq!(beginning.gives_up(), gives_up, "{what_now:?}");
            assert_eq!(beginning.note(&failure()), NotedStart::Usual, "once");
        }
    }

    #[test]
    fn a_store_that_has_answered_may_fail() {
        let mut beginning = beginning(WhatNow::FailsFast);
        assert_eq!(beginning.note(&answer()), NotedStart::Usual);
        assert_eq!(beginning.note(&failure()), NotedStart::Usual);
        assert!(!beginning.gives_up() && beginning.due().is_none());
    }

    #[test]
    fn silence_is_a_failure_and_the_end_of_it_is_not_waited_for_long() {
        let mut beginning = beginning(WhatNow::FailsFast);
        assert_eq!(beginning.due(), Some(Instant::ZERO + SILENCE));
        let silence = beginning.overdue().expect("nothing was heard");
        let NotedStart::Unusable(why) = beginning.note(&silence) else { panic!("it is told") };
        assert!(why.ends_with("no answer from the store within 6.0s"), "{why}");
        assert!(beginning.gives_up() && beginning.due() == Some(silence.at + LEAVING) && beginning.overdue().is_none());
        // What comes too late does not call it off.
        beginning.note(&answer());
        assert!(beginning.gives_up());
    }
}
