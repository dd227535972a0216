//! The servers behind an address: one server, a primary watched by sentinels, or the nodes of a cluster.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::PubSub;
use redis::{Client, Cmd, Value};

use super::call::{Call, in_full_once, lacks_script};
use super::cluster::Cluster;
use super::connector::{RedisConnection, RedisConnector, RedisLiveConnection, address_of, send_all};
use super::error::RedisStoreError;
use super::sentinel::{Opinion, Sentinels};

/// The target of commands.
pub(super) enum Deployment {
    /// One server.
    Standalone { client: Arc<Client>, node: RedisConnection },
    /// One of several servers, which sentinels watch.
    Sentinel { sentinels: Arc<Sentinels>, node: RedisConnection },
    /// A cluster, where every server has some of the keys.
    Cluster(Box<Cluster>),
}

/// The answer to a call.
pub(super) struct CallAnswer {
    pub(super) value: Value,
    /// The number of replicas that had it, if requested.
    pub(super) replicas: Option<i64>,
    /// The server that gave it.
    pub(super) server: Arc<str>,
}

/// After the calls, wait until this many replicas have them.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplicaWait {
    pub(super) replicas: u32,
}

/// The number of elections in one script: the server answers no other client meanwhile.
pub(super) const ELECTIONS_PER_CALL: usize = 100;
/// The time the server may wait for its replicas. They are asked at once, and are near.
const WAIT_MS: u32 = 100;

impl Deployment {
    pub(super) fn standalone(client: Client) -> Self {
        let client = Arc::new(client);
        Self::Standalone { node: RedisConnection::new(RedisConnector::Fixed(Arc::clone(&client))), client }
    }

    pub(super) fn sentinel(sentinels: Sentinels) -> Self {
        let sentinels = Arc::new(sentinels);
        Self::Sentinel { node: RedisConnection::new(RedisConnector::Sentinels(Arc::clone(&sentinels))), sentinels }
    }

    /// Divides elections, given by position and lease, into groups that one script can handle.
    pub(super) fn groups(&self, mut elections: Vec<(usize, String)>) -> Vec<Vec<(usize, String)>> {
        let is_cluster = matches!(self, Self::Cluster(_));
        if is_cluster {
            elections.sort_by_cached_key(|(_, lease)| Cluster::slot_of(lease));
        }
        let mut groups: Vec<Vec<(usize, String)>> = Vec::with_capacity(elections.len().div_ceil(ELECTIONS_PER_CALL));
        for election in elections {
            let fits = |group: &&mut Vec<(usize, String)>| {
                let same_slot = || Cluster::slot_of(&group[0].1) == Cluster::slot_of(&election.1);
                group.len() < ELECTIONS_PER_CALL && (!is_cluster || same_slot())
            };
            match groups.last_mut().filter(fits) {
                Some(group) => group.push(election),
                None => groups.push(vec![election]),
            }
        }
        groups
    }

    /// Sends all calls in one round trip per server, to all servers in parallel, and returns the answers in order.
    pub(super) async fn run(
        &self,
        calls: &[Call],
        wait: Option<ReplicaWait>,
    ) -> Vec<Result<CallAnswer, RedisStoreError>> {
        match self {
            Self::Standalone { node, .. } | Self::Sentinel { node, .. } => {
                let references: Vec<&Call> = calls.iter().collect();
                match run_on(node, &references, wait).await {
                    Ok(answers) => answers.into_iter().map(Ok).collect(),
                    Err(fault) => calls.iter().map(|_| Err(fault.clone())).collect(),
                }
            }
            Self::Cluster(cluster) => cluster.run(calls, wait).await,
        }
    }

    /// Sends the same questions to every server that may hold leases.
    pub(super) async fn survey(&self, questions: &[Cmd]) -> Vec<(String, Result<Vec<Value>, RedisStoreError>)> {
        match self {
            Self::Standalone { node, client } => {
                let (server, answers) = question(node, questions).await;
                vec![(server.unwrap_or_else(|| address_of(client).to_string()), answers)]
            }
            Self::Sentinel { node, .. } => {
                let (server, answers) = question(node, questions).await;
                vec![(server.unwrap_or_else(|| "the primary".to_owned()), answers)]
            }
            Self::Cluster(cluster) => cluster.survey(questions).await,
        }
    }

    /// Whether the server that granted a lease is still entitled to grant it.
    pub(super) async fn opinion_of(&self, server: &str, patience: Duration) -> Opinion {
        match self {
            Self::Sentinel { sentinels, .. } => sentinels.opinion(server, patience).await,
            Self::Standalone { .. } | Self::Cluster(_) => Opinion::Confirmed,
        }
    }

    /// Whether a script sees all subscribers of a channel. In a cluster they may be connected to another node.
    pub(super) fn sees_subscribers(&self) -> bool {
        !matches!(self, Self::Cluster(_))
    }

    /// The clock that the leases of this server run on. A new primary continues the same leases, by its own clock.
    pub(super) fn clock_of<'a>(&self, server: &'a str) -> &'a str {
        match self {
            Self::Standalone { .. } | Self::Sentinel { .. } => "",
            Self::Cluster(_) => server,
        }
    }

    /// Starts over with the next command: there may be a better server to use.
    pub(super) fn reconnect(&self) {
        match self {
            Self::Standalone { node, .. } | Self::Sentinel { node, .. } => node.reconnect(),
            Self::Cluster(cluster) => cluster.reconnect(),
        }
    }

    /// A connection for pushes, and the server it leads to.
    pub(super) async fn pushes(&self) -> Result<(PubSub, Arc<str>), RedisStoreError> {
        let client = match self {
            Self::Standalone { client, .. } => Arc::clone(client),
            Self::Sentinel { sentinels, .. } => Arc::new(sentinels.primary().await?),
            Self::Cluster(cluster) => Arc::new(cluster.any_node().await?),
        };
        let connection = client.get_async_pubsub().await.map_err(|error| RedisStoreError::Connect(Arc::new(error)))?;
        Ok((connection, address_of(&client)))
    }

    /// Whether pushes from this server no longer concern us, because commands go to another one.
    pub(super) fn has_left(&self, server: &str) -> bool {
        match self {
            Self::Sentinel { node, .. } => node.server().is_some_and(|current| *current != *server),
            Self::Standalone { .. } | Self::Cluster(_) => false,
        }
    }

    /// Completes when the connection for commands was replaced: the one for pushes may be dead, too.
    pub(super) async fn reconnected(&self) {
        match self {
            Self::Standalone { node, .. } | Self::Sentinel { node, .. } => node.changes().await,
            Self::Cluster(cluster) => cluster.changes().await,
        }
    }
}

/// Asks one server, and returns which one it was, if it could be reached.
pub(super) async fn question(
    node: &RedisConnection,
    questions: &[Cmd],
) -> (Option<String>, Result<Vec<Value>, RedisStoreError>) {
    match node.link().await {
        Ok(link) if questions.is_empty() => (Some(link.address().to_owned()), Ok(Vec::new())),
        Ok(link) => (Some(link.address().to_owned()), send_all(node, &link, questions.to_vec()).await),
        Err(fault) => (None, Err(fault)),
    }
}

/// Sends all calls to one server in one round trip, or in two if it does not know a script yet.
pub(super) async fn run_on(
    node: &RedisConnection,
    calls: &[&Call],
    wait: Option<ReplicaWait>,
) -> Result<Vec<CallAnswer>, RedisStoreError> {
    let link = node.link().await?;
    let commands = calls.iter().map(|call| call.command()).collect();
    let (mut values, mut replicas) = exchange(node, &link, commands, wait).await?;
    let unknown: Vec<usize> = (0..calls.len()).filter(|&position| lacks_script(&values[position])).collect();
    if !unknown.is_empty() {
        let again: Vec<&Call> = unknown.iter().map(|&position| calls[position]).collect();
        let (repeated, confirmed) = exchange(node, &link, in_full_once(&again), wait).await?;
        for (position, value) in unknown.into_iter().zip(repeated) {
            values[position] = value;
        }
        replicas = confirmed;
    }
    let server: Arc<str> = Arc::from(link.address());
    Ok(values.into_iter().map(|value| CallAnswer { value, replicas, server: Arc::clone(&server) }).collect())
}

/// Sends commands in one round trip, and returns how many replicas have them, if requested.
pub(super) async fn exchange(
    node: &RedisConnection,
    link: &RedisLiveConnection,
    mut commands: Vec<Cmd>,
    wait: Option<ReplicaWait>,
) -> Result<(Vec<Value>, Option<i64>), RedisStoreError> {
    if let Some(ReplicaWait { replicas }) = wait {
        let mut command = redis::cmd("WAIT");
        command.arg(replicas).arg(WAIT_MS);
        commands.push(command);
    }
    let mut values = send_all(node, link, commands).await?;
    let replicas = match wait.and_then(|_| values.pop()) {
        // A server that cannot tell has confirmed nothing.
        Some(Value::Int(replicas)) => Some(replicas),
        Some(_) => Some(0),
        None => None,
    };
    Ok((values, replicas))
}
