//! The choice among several servers: the primary, and of two that take writes the one that was promoted last.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tenure_store::{Backoff, StoreErrorKind};
use tokio::time::{Instant, timeout, timeout_at};

use super::address::server::ServerAddress;
use super::connect::{Notifications, ServerFacts, Session};
use super::error::PostgresStoreError;
use super::known_servers::{KnownServers, SessionServer};

/// Servers to connect to, one of which is the primary. Clones share their knowledge of them.
#[derive(Clone)]
pub(super) struct Endpoint {
    servers: Vec<ServerAddress>,
    place: Arc<str>,
    known: Arc<KnownServers>,
}

/// The answer of a server: a session, and the messages that arrive there unasked.
type ConnectedSession = Result<(Session, Notifications), PostgresStoreError>;

/// The time to try each of several servers by default. They are asked at the same time.
const PATIENCE_WITH_ONE: Duration = Duration::from_secs(2);
/// How long the others may take to answer when one has said that it is a primary: another one may have taken its place.
const PATIENCE_WITH_OTHERS: Duration = Duration::from_secs(1);
/// How often the servers that are not used are asked whether one of them has been promoted: soon after a connection was
/// made, since that is when servers fail over, and then rarely.
const ROUNDS: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(15));

impl Endpoint {
    pub(super) fn new(mut servers: Vec<ServerAddress>, place: String) -> Self {
        if servers.len() > 1 {
            for server in servers.iter_mut().filter(|server| server.patience().is_none()) {
                server.config.connect_timeout(PATIENCE_WITH_ONE);
            }
        }
        Self { servers, place: Arc::from(place), known: Arc::default() }
    }

    /// The same, but with connections that this end never gives up by itself: whoever uses them decides when.
    pub(super) fn patient(mut self) -> Self {
        for server in &mut self.servers {
            server.config.keepalives(false).tcp_user_timeout(Duration::from_secs(86_400));
        }
        self
    }

    pub(super) fn place(&self) -> &Arc<str> {
        &self.place
    }

    /// Whether there is only one server.
    pub(super) fn is_alone(&self) -> bool {
        self.servers.len() == 1
    }

    /// Connects to the primary, and returns what it says without being asked, too. Of several that take writes it is the one
    /// on the highest timeline, and never one below a timeline that was seen before.
    pub(super) async fn connect(&self) -> ConnectedSession {
        let answers = self.ask(&(0..self.servers.len()).collect::<Vec<_>>()).await;
        let mut told = None;
        let mut primaries = Vec::new();
        for (server, answer) in answers {
            match answer.and_then(primary) {
                Ok(connected) => primaries.push((server, connected)),
                Err(fault) => {
                    log!(debug, server = %self.servers[server], error = %fault, "cannot use a server");
                    // What a server says tells more than that another one says nothing.
                    told = told.filter(PostgresStoreError::is_answer).or(Some(fault));
                }
            }
        }
        if primaries.len() > 1 {
            self.complain(&primaries);
        }
        let rank =
            |(server, (session, _)): &(usize, (Session, Notifications))| self.known.rank(*server, session.facts());
        let nowhere =
            || PostgresStoreError::Unusable(StoreErrorKind::Configuration, "there is no host to connect to".to_owned());
        let Some((_, (session, messages))) = primaries.into_iter().max_by_key(rank) else {
            return Err(told.unwrap_or_else(nowhere));
        };
        self.known.admit(&session, &self.place)?;
        self.probing();
        Ok((session, messages))
    }

    /// The state of each of several servers; empty if there is only one.
    pub(super) async fn roll_call(&self) -> Vec<(String, Result<ServerFacts, PostgresStoreError>)> {
        if self.servers.len() < 2 {
            return Vec::new();
        }
        let answers = self.ask(&(0..self.servers.len()).collect::<Vec<_>>()).await;
        let facts = |answer: ConnectedSession| answer.map(|(session, _)| session.facts());
        answers.into_iter().map(|(server, answer)| (self.servers[server].to_string(), facts(answer))).collect()
    }

    /// Handles a server that shows a lower term than seen before: another one is tried, if there is one.
    pub(super) fn regressed(&self) {
        if self.servers.len() > 1 && self.known.leave_all() {
            log!(warn, store = &*self.place, "the server shows a term below one seen before; trying another host");
        }
    }

    /// Asks these servers, all at once, and returns their answers in the order of the address.
    async fn ask(&self, servers: &[usize]) -> Vec<(usize, ConnectedSession)> {
        let mut asked: FuturesUnordered<_> = servers
            .iter()
            .map(|server| async move {
                let session_server = SessionServer { known: Arc::clone(&self.known), server: *server };
                (*server, patiently(&self.servers[*server], session_server).await)
            })
            .collect();
        let mut answers: Vec<(usize, ConnectedSession)> = Vec::new();
        let mut deadline = None;
        loop {
            let next = match deadline {
                None => asked.next().await,
                Some(deadline) => timeout_at(deadline, asked.next()).await.unwrap_or_default(),
            };
            let Some((server, answer)) = next else { break };
            if deadline.is_none() && answer.as_ref().is_ok_and(|(session, _)| !session.facts().is_standby) {
                deadline = Some(Instant::now() + PATIENCE_WITH_OTHERS);
            }
            answers.push((server, answer));
        }
        let is_missing = |server: &&usize| answers.iter().all(|(answered, _)| answered != *server);
        let missing: Vec<usize> = servers.iter().filter(is_missing).copied().collect();
        answers.extend(missing.into_iter().map(|server| (server, Err(silent(PATIENCE_WITH_OTHERS)))));
        answers.sort_by_key(|(server, _)| *server);
        answers
    }

    /// Reports two servers that take writes: a candidate that cannot reach the right one would lead on the other.
    fn complain(&self, primaries: &[(usize, (Session, Notifications))]) {
        let show = |(server, (session, _)): &(usize, (Session, Notifications))| {
            format!("{} ({})", self.servers[*server], session.facts().timeline_words())
        };
        let shown: Vec<String> = primaries.iter().map(show).collect();
        if self.known.is_news(&shown) {
            log!(
                warn,
                store = &*self.place,
                "several hosts take writes: {}; using the one on the highest timeline. Stop the others, or make them \
                 standbys of it",
                shown.join(", ")
            );
        }
    }

    /// Makes sure that the unused servers are asked now and then, as long as there are connections.
    fn probing(&self) {
        if self.servers.len() > 1 && self.known.begins_probing() {
            tokio::spawn(rounds(self.clone()));
        }
    }

    /// Asks the unused servers. If one of them was promoted, all connections to its predecessor end.
    async fn go_round(&self, used: &[usize]) {
        let others: Vec<usize> = (0..self.servers.len()).filter(|server| !used.contains(server)).collect();
        for (server, answer) in self.ask(&others).await {
            let Ok((session, _)) = answer.and_then(primary) else { continue };
            if self.known.supersedes(session.facts()) {
                log!(warn, store = &*self.place,
                    server = %self.servers[server],
                    "another host has been promoted ({}); closing connections to the old primary",
                    session.facts().timeline_words()
                );
            }
        }
    }
}

async fn rounds(endpoint: Endpoint) {
    let _patrol = endpoint.known.probing();
    for round in 1_u32.. {
        let spread = f64::from(getrandom::u32().unwrap_or_default()) / f64::from(u32::MAX);
        // Waits because nobody tells of a promotion.
        tokio::time::sleep(ROUNDS.ceiling(round).mul_f64(0.8 + 0.4 * spread)).await;
        let Some(used) = endpoint.known.used() else { return };
        endpoint.go_round(&used).await;
    }
}

/// Refuses a server that takes no writes.
fn primary((session, messages): (Session, Notifications)) -> ConnectedSession {
    if session.facts().is_standby {
        let message = "it is a standby; elections are held on the primary; name it, or all hosts, in the address";
        return Err(PostgresStoreError::Unusable(StoreErrorKind::ReadOnly, message.to_owned()));
    }
    Ok((session, messages))
}

/// Connects within the time limit.
async fn patiently(server: &ServerAddress, session_server: SessionServer) -> ConnectedSession {
    let Some(patience) = server.patience() else { return server.connect(session_server).await };
    timeout(patience, server.connect(session_server)).await.unwrap_or_else(|_| Err(silent(patience)))
}

fn silent(patience: Duration) -> PostgresStoreError {
    let message = format!("no answer within {patience:?}; check the host, the port, and connect_timeout");
    PostgresStoreError::Unusable(StoreErrorKind::Unavailable, message)
}

#[cfg(test)]
mod tests {
    use tokio_postgres::Config;

    use super::super::address::tls::Encryption;
    use super::*;

    #[test]
    fn each_of_several_servers_is_tried_for_less_than_whoever_asked_waits() {
        let patience = |timeouts: &[Option<u64>]| {
            let server = |timeout: &Option<u64>| {
                let mut config = Config::new();
                if let Some(seconds) = timeout {
                    config.connect_timeout(Duration::from_secs(*seconds));
                }
                ServerAddress { config, encryption: Encryption::Off }
            };
            let endpoint = Endpoint::new(timeouts.iter().map(server).collect(), String::new());
            endpoint.servers.iter().map(ServerAddress::patience).collect::<Vec<_>>()
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(patience(&[None]), [None]);
        assert_eq!(patience(&[None; 4]), [seconds(2); 4]);
        assert_eq!(patience(&[Some(9), None]), [seconds(9), seconds(2)]);
    }
}
