//! Sentinels: finding the primary, and checking that it still is the primary.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::{Client, Value, cmd};
use tokio::task::JoinHandle;

use super::address::{HostPort, ServerTemplate};
use super::connector::{RedisConnection, RedisConnector, address_of, send_all};
use super::error::RedisStoreError;

/// The configured sentinels, each address once, and the name of their primary.
pub(super) struct Sentinels {
    nodes: Vec<Arc<RedisConnection>>,
    name: String,
    servers: ServerTemplate,
}

/// The verdict of the sentinels on a primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opinion {
    /// More than half of them name it.
    Confirmed,
    /// More than half of them name another one.
    Elsewhere,
    /// Too few of them answer, or they do not agree.
    Unclear,
}

/// Sentinels do little else, and are asked in parallel. A leader that renews must not lose its time with those that hang.
pub(super) const WHILE_LEADING: Duration = Duration::from_millis(200);
/// A campaign has more time: on a busy machine good sentinels are slow, and without them there is no leader.
pub(super) const WHILE_CAMPAIGNING: Duration = Duration::from_secs(1);
/// A sentinel that takes longer counts as silent.
const LIMIT: Duration = Duration::from_secs(4);

impl Sentinels {
    pub(super) fn new(sentinels: Vec<Client>, name: String, servers: ServerTemplate) -> Self {
        // One that is listed twice is asked once.
        let by_address: BTreeMap<Arc<str>, Client> =
            sentinels.into_iter().map(|client| (address_of(&client), client)).collect();
        let node = |client: Client| Arc::new(RedisConnection::new(RedisConnector::Fixed(Arc::new(client))));
        Self { nodes: by_address.into_values().map(node).collect(), name, servers }
    }

    /// The primary named by more than half of them, or else by most that answer soon, or else by the first that answers.
    pub(super) async fn primary(&self) -> Result<Client, RedisStoreError> {
        let has_won = |poll: &Poll| poll.favourite().is_some_and(|(_, votes)| votes >= poll.majority());
        let mut answers = self.ask();
        let mut poll = Poll::of(self.nodes.len());
        poll.take_until(has_won, &mut answers, WHILE_LEADING).await;
        poll.take_until(|poll| poll.favourite().is_some(), &mut answers, LIMIT).await;
        match poll.favourite() {
            Some((address, _)) => self.servers.client(address),
            None => Err(self.why_none(&poll)),
        }
    }

    /// Whether the server at this address is still the primary, by the answers that arrive in this time.
    pub(super) async fn opinion(&self, address: &str, patience: Duration) -> Opinion {
        let mut poll = Poll::of(self.nodes.len());
        poll.take_until(|poll| poll.opinion_of(address) != Opinion::Unclear, &mut self.ask(), patience).await;
        poll.opinion_of(address)
    }

    /// The same from all of them, and how many of them are the same sentinel under another name.
    pub(super) async fn opinion_of_all(&self, address: &str) -> (Opinion, usize) {
        let mut poll = Poll::of(self.nodes.len());
        poll.take_until(|_| false, &mut self.ask(), WHILE_CAMPAIGNING).await;
        (poll.opinion_of(address), poll.namesakes)
    }

    fn why_none(&self, poll: &Poll) -> RedisStoreError {
        let (count, name) = (self.nodes.len(), &self.name);
        let denied = poll.faults.iter().find(|fault| fault.is_denied());
        match (denied, poll.faults.first()) {
            (Some(fault), _) => RedisStoreError::Unwelcome(format!(
                "permission denied by the sentinels; check sentinel_user and sentinel_password in the address (user \
                 and password before the hosts are for the servers): {fault}"
            )),
            (None, Some(fault)) if poll.votes.is_empty() => RedisStoreError::NoPrimary(format!(
                "none of the {count} sentinels can be reached; check their addresses. Error of one of them: {fault}"
            )),
            (None, _) => RedisStoreError::NoPrimary(format!(
                "none of the {count} sentinels knows a primary called {name:?}; check the name, which follows the \
                 sentinels in the address (SENTINEL MASTERS lists the names)"
            )),
        }
    }

    /// What each of them says, as it comes. Nobody has to wait for the slowest: its answer is taken in by itself, so that the
    /// connection stays of use.
    fn ask(&self) -> SentinelAnswers {
        let ask = |node: &Arc<RedisConnection>| {
            let (node, name) = (Arc::clone(node), self.name.clone());
            let silent = |_| Err(RedisStoreError::NoPrimary(format!("no answer within {LIMIT:?}")));
            tokio::spawn(
                async move { tokio::time::timeout(LIMIT, named_by(&node, &name)).await.unwrap_or_else(silent) },
            )
        };
        self.nodes.iter().map(ask).collect()
    }
}

/// Their answers, as they arrive.
type SentinelAnswers = FuturesUnordered<JoinHandle<Result<Vote, RedisStoreError>>>;

/// The answer of one sentinel.
struct Vote {
    /// The identity of the sentinel, whatever name it was asked under.
    sentinel: String,
    primary: Option<HostPort>,
}

/// The votes so far. Each sentinel has one, however often and under whichever names it is listed.
struct Poll {
    /// The number of sentinels that may still vote, in all.
    sentinels: usize,
    votes: BTreeMap<String, Option<HostPort>>,
    /// The number of sentinels that turned out to have voted already.
    namesakes: usize,
    faults: Vec<RedisStoreError>,
}

impl Poll {
    fn of(sentinels: usize) -> Self {
        Self { sentinels, votes: BTreeMap::new(), namesakes: 0, faults: Vec::new() }
    }

    /// Takes answers until there are enough, for this long at most. A majority of those that may still be different ones is
    /// one of those that are.
    async fn take_until(
        &mut self,
        is_enough: impl Fn(&Self) -> bool,
        answers: &mut SentinelAnswers,
        patience: Duration,
    ) {
        let take = async {
            while !is_enough(self)
                && let Some(answer) = answers.next().await
            {
                self.count(answer.unwrap_or_else(|_| Err(RedisStoreError::NoPrimary("no answer".to_owned()))));
            }
        };
        if tokio::time::timeout(patience, take).await.is_err() && self.votes.is_empty() && self.faults.is_empty() {
            self.faults.push(RedisStoreError::NoPrimary(format!("no answer within {patience:?}")));
        }
    }

    fn count(&mut self, answer: Result<Vote, RedisStoreError>) {
        match answer {
            Ok(Vote { sentinel, primary }) => {
                if self.votes.insert(sentinel, primary).is_some() {
                    self.namesakes += 1;
                    self.sentinels -= 1;
                }
            }
            Err(fault) => self.faults.push(fault),
        }
    }

    /// More than half of the configured sentinels, without those known to be duplicates.
    fn majority(&self) -> usize {
        self.sentinels / 2 + 1
    }

    fn votes_for(&self, is_meant: impl Fn(&HostPort) -> bool) -> usize {
        self.votes.values().flatten().filter(|address| is_meant(address)).count()
    }

    fn favourite(&self) -> Option<(&HostPort, usize)> {
        let counted = self.votes.values().flatten().map(|address| (address, self.votes_for(|other| other == address)));
        counted.max_by_key(|(_, votes)| *votes)
    }

    fn opinion_of(&self, address: &str) -> Opinion {
        let here = self.votes_for(|named| named.to_string() == address);
        let elsewhere = self.votes_for(|named| named.to_string() != address);
        match self.majority() {
            majority if here >= majority => Opinion::Confirmed,
            majority if elsewhere >= majority => Opinion::Elsewhere,
            _ => Opinion::Unclear,
        }
    }
}

async fn named_by(sentinel: &RedisConnection, name: &str) -> Result<Vote, RedisStoreError> {
    let link = sentinel.link().await?;
    let questions = [&["MYID"][..], &["GET-MASTER-ADDR-BY-NAME", name]].map(|words| {
        let mut question = cmd("SENTINEL");
        question.arg(words);
        question
    });
    let mut answers = send_all(sentinel, &link, questions.to_vec()).await?;
    let primary = match answers.pop() {
        Some(Value::ServerError(error)) => return Err(RedisStoreError::server(&error)),
        Some(answer) => parse(&answer),
        None => None,
    };
    let sentinel = match answers.pop() {
        Some(Value::BulkString(id)) => String::from_utf8_lossy(&id).into_owned(),
        // Before version 6.2 they did not tell. Then the address has to do.
        _ => link.address().to_owned(),
    };
    Ok(Vote { sentinel, primary })
}

fn parse(answer: &Value) -> Option<HostPort> {
    let Value::Array(parts) = answer else { return None };
    let [host, port] = parts.as_slice() else { return None };
    let text = |value: &Value| redis::from_redis_value_ref::<String>(value).ok();
    Some(HostPort { host: text(host)?, port: text(port)?.parse().ok()? })
}
