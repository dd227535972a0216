//! A primary, its replicas, and the sentinels that replace it.

use std::collections::HashMap;

use super::options::RedisOptions;
use super::server::RedisServer;
use crate::{PATIENCE, eventually, eventually_within};

/// One primary, two replicas and three sentinels, two of which have to agree.
pub struct SentinelGroup {
    sentinels: Vec<RedisServer>,
    nodes: Vec<RedisServer>,
    credentials: String,
}

impl SentinelGroup {
    /// The name under which the sentinels know the primary.
    pub const NAME: &str = "tenure";

    /// With data nodes that keep nothing and let everybody in.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(RedisOptions::default())
    }

    /// With data nodes like this. A failover works when this returns.
    #[must_use]
    pub fn start_with(options: RedisOptions) -> Self {
        let credentials = options.credentials();
        let sentinel = RedisOptions::new(options.flavour).sentinel();
        let password = options.password.clone();
        let options = options.replicating().line("repl-ping-replica-period 1");
        let primary = RedisServer::start_with(options.clone());
        let replica = options.line(format!("replicaof 127.0.0.1 {}", primary.port()));
        let replicas = [0, 1].map(|_| RedisServer::start_with(replica.clone()));
        eventually("replicas that follow", || replicas.iter().all(RedisServer::follows));
        let sentinels = start_sentinels(sentinel, &primary, password.as_deref());
        let nodes: Vec<_> = [primary].into_iter().chain(replicas).collect();
        let all = Self { sentinels, nodes, credentials };
        eventually("sentinels that know each other", || all.sentinels.iter().all(knows_all));
        all
    }

    /// The same, but no primary is replaced because a busy machine keeps it from answering for a second.
    #[must_use]
    pub fn steady(self) -> Self {
        for sentinel in &self.sentinels {
            sentinel.command(&["SENTINEL", "SET", Self::NAME, "down-after-milliseconds", "600000"]);
        }
        self
    }

    /// Where candidates find the primary: all sentinels, and its name.
    #[must_use]
    pub fn url(&self) -> String {
        let addresses: Vec<_> = self.sentinels.iter().map(|sentinel| sentinel.address().to_string()).collect();
        format!("redis+sentinel://{}{}/{}", self.credentials, addresses.join(","), Self::NAME)
    }

    /// The data nodes. The first one was the primary at the start.
    #[must_use]
    pub fn nodes(&self) -> &[RedisServer] {
        &self.nodes
    }

    /// The sentinels.
    #[must_use]
    pub fn sentinels(&self) -> &[RedisServer] {
        &self.sentinels
    }

    /// The node that all sentinels which answer take for the primary, as soon as they agree.
    #[must_use]
    pub fn primary(&self) -> &RedisServer {
        let mut primary = None;
        eventually("sentinels that agree", || {
            primary = self.named();
            primary.is_some()
        });
        primary.unwrap()
    }

    /// Waits until the sentinels have replaced the node with this port, and returns the new primary, which takes writes.
    pub fn await_new_primary(&self, old_port: u16) -> &RedisServer {
        let mut primary = None;
        // Sentinels that vote for different ones try again after twice their timeout.
        eventually_within(2 * PATIENCE, "a new primary", || {
            primary = self.named().filter(|node| node.port() != old_port && node.is_primary());
            primary.is_some()
        });
        primary.unwrap()
    }

    /// The node that all sentinels name which answer, if they name the same one and are more than half.
    fn named(&self) -> Option<&RedisServer> {
        let named: Vec<u16> = self.sentinels.iter().filter_map(named_by).collect();
        let is_unanimous = 2 * named.len() > self.sentinels.len() && named.iter().all(|port| *port == named[0]);
        let port = is_unanimous.then(|| named[0])?;
        self.nodes.iter().find(|node| node.port() == port)
    }
}

fn start_sentinels(options: RedisOptions, primary: &RedisServer, password: Option<&str>) -> Vec<RedisServer> {
    let name = SentinelGroup::NAME;
    let lines = [
        format!("sentinel monitor {name} 127.0.0.1 {} 2", primary.port()),
        format!("sentinel down-after-milliseconds {name} 1000"),
        format!("sentinel failover-timeout {name} 5000"),
        format!("sentinel parallel-syncs {name} 1"),
    ];
    let password = password.map(|password| format!("sentinel auth-pass {name} {password}"));
    let options = lines.into_iter().chain(password).fold(options, RedisOptions::line);
    let sentinels: Vec<_> = (0..3).map(|_| RedisServer::start_with(options.clone())).collect();
    for sentinel in &sentinels {
        // They find each other sooner, and do not take a busy machine for one whose clock has jumped.
        sentinel.command(&[
            "SENTINEL",
            "DEBUG",
            "publish-period",
            "200",
            "info-period",
            "1000",
            "tilt-trigger",
            "10000",
        ]);
    }
    sentinels
}

/// Whether a sentinel could replace the primary now.
fn knows_all(sentinel: &RedisServer) -> bool {
    let primary = sentinel.command(&["SENTINEL", "MASTER", SentinelGroup::NAME]);
    let primary: HashMap<String, String> = redis::from_redis_value(primary).unwrap();
    let replicas = sentinel.command(&["SENTINEL", "REPLICAS", SentinelGroup::NAME]);
    let replicas: Vec<HashMap<String, String>> = redis::from_redis_value(replicas).unwrap();
    let follows = |replica: &HashMap<String, String>| {
        replica["flags"] == "slave" && replica["master-link-status"] == "ok" && replica["role-reported"] == "slave"
    };
    primary["flags"] == "master"
        && primary["num-other-sentinels"] == "2"
        && replicas.len() == 2
        && replicas.iter().all(follows)
}

fn named_by(sentinel: &RedisServer) -> Option<u16> {
    let address = sentinel.ask_briefly(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", SentinelGroup::NAME])?;
    let [_, port]: [String; 2] = redis::from_redis_value(address).unwrap();
    Some(port.parse().unwrap())
}
