//! Knowledge about the servers of an address, shared by all connections of one handle.

use std::cmp::Reverse;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tenure_store::StoreErrorKind;

use super::connect::{ServerFacts, Session, SessionRef};
use super::error::PostgresStoreError;

/// It is as old as the handle: a process that has just started cannot recognise an old primary by itself.
#[derive(Default)]
pub(super) struct KnownServers {
    state: Mutex<ServersState>,
}

/// The server of a session, and the shared knowledge about it.
#[derive(Clone)]
pub(super) struct SessionServer {
    pub(super) known: Arc<KnownServers>,
    /// Its index among the servers of the address.
    pub(super) server: usize,
}

/// The history of writes that a server continues. It grows with every promotion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerHistory {
    /// The identifier shared by all copies of one server; 0 if unknown.
    pub(super) system: i64,
    pub(super) timeline: u32,
}

/// The greatest one is used: a copy of what was used before, on the highest timeline, that has not been silent, and that is
/// named first.
pub(super) type Rank = (bool, u32, bool, Reverse<usize>);

#[derive(Default)]
struct ServersState {
    /// The highest ever seen.
    highest: Option<ServerHistory>,
    sessions: Vec<SessionRef>,
    /// For each server, the number of requests in a row that it left unanswered.
    silences: Vec<u32>,
    /// Several servers that took writes when they were last asked.
    rivals: Vec<String>,
    is_probed: bool,
    left_at: Option<Instant>,
}

/// The time for which a server is kept that shows less than was seen before, if there was none better a moment ago.
const KEPT_FOR: Duration = Duration::from_secs(5);
/// After this many unanswered requests in a row, other servers are preferred.
const MAX_SILENCES: u32 = 2;

impl KnownServers {
    /// The rank of a server among several primaries.
    pub(super) fn rank(&self, server: usize, facts: ServerFacts) -> Rank {
        let state = self.state();
        let (system, timeline) = facts.history.map_or((0, 0), |history| (history.system, history.timeline));
        let is_copy = state.highest.is_none_or(|highest| highest.system == system);
        let is_silent = state.silences.get(server).is_some_and(|silences| *silences >= MAX_SILENCES);
        (is_copy, timeline, !is_silent, Reverse(server))
    }

    /// Admits a session, unless its server is on an older timeline than one already seen.
    pub(super) fn admit(&self, session: &Session, place: &str) -> Result<(), PostgresStoreError> {
        let mut state = self.state();
        if let (Some(highest), Some(shown)) = (state.highest, session.facts().history) {
            if shown.system == highest.system && shown.timeline < highest.timeline {
                return Err(PostgresStoreError::Unusable(StoreErrorKind::Replaced, outdated(shown, highest)));
            }
            if shown.system != highest.system {
                log!(
                    warn,
                    store = place,
                    "this is another server than before (its system identifier is {}, and was {}): its elections may \
                     differ",
                    shown.system,
                    highest.system
                );
            }
        }
        let highest = session.facts().history.or(state.highest);
        if state.highest.is_some() && state.highest != highest {
            // What still hears the predecessor would hear nothing that matters.
            state.sessions.drain(..).for_each(|session| session.close());
        }
        state.highest = highest;
        state.sessions.retain(SessionRef::is_open);
        state.sessions.push(session.downgrade());
        Ok(())
    }

    /// Whether an unused server was promoted after the one in use. Connections to the latter end then.
    pub(super) fn supersedes(&self, facts: ServerFacts) -> bool {
        let mut state = self.state();
        let (Some(highest), Some(found)) = (state.highest, facts.history) else { return false };
        if found.system != highest.system || found.timeline <= highest.timeline {
            return false;
        }
        state.highest = Some(found);
        state.sessions.drain(..).for_each(|session| session.close());
        true
    }

    /// Closes all connections, and prefers other servers to theirs, where nothing else tells them apart.
    /// Returns whether it does: now and then is often enough.
    pub(super) fn leave_all(&self) -> bool {
        let mut state = self.state();
        if state.left_at.is_some_and(|at| at.elapsed() < KEPT_FOR) {
            return false;
        }
        state.left_at = Some(Instant::now());
        for session in std::mem::take(&mut state.sessions) {
            if let Some(server) = session.server() {
                *state.silences_of(server) = MAX_SILENCES;
            }
            session.close();
        }
        true
    }

    /// Records whether a server has answered.
    pub(super) fn heard(&self, server: usize, is_answer: bool) {
        let mut state = self.state();
        let silences = state.silences_of(server);
        *silences = if is_answer { 0 } else { silences.saturating_add(1) };
    }

    /// Whether these differ from last time.
    pub(super) fn is_news(&self, rivals: &[String]) -> bool {
        let mut state = self.state();
        let is_news = state.rivals != rivals;
        state.rivals = rivals.to_vec();
        is_news
    }

    /// Whether the other servers are not being probed yet.
    pub(super) fn begins_probing(&self) -> bool {
        !std::mem::replace(&mut self.state().is_probed, true)
    }

    /// The probing, until it is dropped, even together with its runtime.
    pub(super) fn probing(&self) -> ServerProbing<'_> {
        ServerProbing(self)
    }

    /// The servers in use; `None` if there are no connections, and then the probing is over.
    pub(super) fn used(&self) -> Option<Vec<usize>> {
        let mut state = self.state();
        state.sessions.retain(SessionRef::is_open);
        let used: Vec<usize> = state.sessions.iter().filter_map(SessionRef::server).collect();
        state.is_probed = !used.is_empty();
        Some(used).filter(|used| !used.is_empty())
    }

    fn state(&self) -> MutexGuard<'_, ServersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServersState {
    fn silences_of(&mut self, server: usize) -> &mut u32 {
        if self.silences.len() <= server {
            self.silences.resize(server + 1, 0);
        }
        &mut self.silences[server]
    }
}

/// The probing of unused servers.
pub(super) struct ServerProbing<'a>(&'a KnownServers);

impl Drop for ServerProbing<'_> {
    fn drop(&mut self) {
        self.0.state().is_probed = false;
    }
}

fn outdated(shown: ServerHistory, highest: ServerHistory) -> String {
    format!(
        "it is on timeline {}, and timeline {} was seen before: it is an old primary that came back, and elections are \
         held on the new one. Make it a standby of the new one (pg_rewind), or stop it; if it was restored on \
         purpose, restart this program",
        shown.timeline, highest.timeline
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(system: i64, timeline: u32) -> ServerFacts {
        let history = (timeline > 0).then_some(ServerHistory { system, timeline });
        ServerFacts { version: 15_00_00, pid: 1, is_pooled: false, is_standby: false, history }
    }

    #[test]
    fn timelines_count_more_than_silence_and_silence_more_than_the_order() {
        let known = KnownServers::default();
        assert!(known.rank(0, facts(7, 1)) > known.rank(1, facts(7, 1)), "the first one, if nothing else is known");
        assert!(known.rank(0, facts(7, 1)) < known.rank(1, facts(7, 2)), "the one that was promoted");
        assert!(known.rank(0, facts(7, 1)) > known.rank(1, facts(0, 0)), "the one that tells");
        known.heard(0, false);
        assert!(known.rank(0, facts(7, 1)) > known.rank(1, facts(7, 1)), "one cut connection moves nobody");
        known.heard(0, false);
        assert!(known.rank(0, facts(7, 1)) < known.rank(1, facts(7, 1)), "repeated silence does");
        assert!(known.rank(0, facts(7, 2)) > known.rank(1, facts(7, 1)), "but never to an older timeline");
        known.heard(0, true);
        assert!(known.rank(0, facts(7, 1)) > known.rank(1, facts(7, 1)), "it answers again");
    }

    #[test]
    fn a_copy_of_what_was_used_before_is_preferred_to_a_stranger() {
        let known = KnownServers::default();
        known.state().highest = Some(ServerHistory { system: 7, timeline: 1 });
        assert!(known.rank(1, facts(7, 1)) > known.rank(0, facts(8, 3)));
    }

    #[test]
    fn only_a_promotion_of_the_same_system_supersedes() {
        let known = KnownServers::default();
        known.state().highest = Some(ServerHistory { system: 7, timeline: 2 });
        let superseding = [(7, 1), (7, 2), (8, 9), (7, 0), (7, 3), (7, 3)].map(|(a, b)| known.supersedes(facts(a, b)));
        assert_eq!(superseding, [false, false, false, false, true, false]);
    }
}
