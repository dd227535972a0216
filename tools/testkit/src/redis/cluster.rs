//! A cluster.

use std::cell::Cell;

use redis::Value;

use super::options::RedisOptions;
use super::server::RedisServer;
use crate::eventually;

/// Three primaries, which share the slots, and a replica of each.
pub struct RedisCluster {
    nodes: Vec<RedisServer>,
    credentials: String,
}

impl RedisCluster {
    /// With nodes that keep nothing and let everybody in.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(RedisOptions::default())
    }

    /// With nodes like this. All of it works when this returns.
    #[must_use]
    pub fn start_with(options: RedisOptions) -> Self {
        let credentials = options.credentials();
        let lines = [
            "cluster-enabled yes",
            "cluster-node-timeout 2000",
            "cluster-require-full-coverage yes",
            "cluster-announce-ip 127.0.0.1",
        ];
        let options = lines.into_iter().fold(options.replicating().with_cluster_port(), RedisOptions::line);
        let nodes: Vec<_> = (0..2 * PRIMARIES).map(|_| RedisServer::start_with(options.clone())).collect();
        let cluster = Self { nodes, credentials };
        cluster.share_slots();
        cluster.meet();
        cluster.attach_replicas();
        cluster
    }

    /// The same, but no primary is replaced because a busy machine keeps it from answering for two seconds.
    #[must_use]
    pub fn steady(self) -> Self {
        for node in &self.nodes {
            node.command(&["CONFIG", "SET", "cluster-node-timeout", "600000"]);
        }
        self
    }

    /// Where candidates find it: its primaries at the start.
    #[must_use]
    pub fn url(&self) -> String {
        let addresses: Vec<_> = self.nodes[..PRIMARIES].iter().map(|node| node.address().to_string()).collect();
        format!("redis+cluster://{}{}", self.credentials, addresses.join(","))
    }

    /// All nodes. At the start, the first three are the primaries, and the others their replicas, in the same order.
    #[must_use]
    pub fn nodes(&self) -> &[RedisServer] {
        &self.nodes
    }

    /// The slot of a key.
    #[must_use]
    pub fn slot_of(&self, key: &str) -> u16 {
        let answer = self.nodes.iter().find_map(|node| node.ask_briefly(&["CLUSTER", "KEYSLOT", key]));
        redis::from_redis_value(answer.expect("a node that answers")).unwrap()
    }

    /// The primary that has this key, by what the nodes say which answer, as soon as they agree.
    #[must_use]
    pub fn owner_of(&self, key: &str) -> &RedisServer {
        let slot = i64::from(self.slot_of(key));
        let owner = Cell::new(None);
        eventually("nodes that agree on an owner", || {
            let ports: Vec<u16> = self.nodes.iter().filter_map(|node| owner_by(node, slot)).collect();
            let is_unanimous = ports.iter().all(|port| *port == ports[0]);
            let named = ports.first().filter(|_| is_unanimous);
            owner.set(named.and_then(|port| self.nodes.iter().find(|node| node.port() == *port)));
            owner.get().is_some()
        });
        owner.get().unwrap()
    }

    /// Begins to move a slot from one primary to another. It goes on when the test says so.
    #[must_use]
    pub fn move_slot<'a>(&'a self, slot: u16, from: &'a RedisServer, to: &'a RedisServer) -> SlotMove<'a> {
        let slot = slot.to_string();
        to.command(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id_of(from)]);
        from.command(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id_of(to)]);
        SlotMove { cluster: self, slot, from, to }
    }

    fn share_slots(&self) {
        for (index, node) in self.nodes.iter().enumerate() {
            // Nodes with the same number would have to find out who has to take another one.
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]);
            if index < PRIMARIES {
                let [first, end] = [index, index + 1].map(|part| part * SLOTS / PRIMARIES);
                node.command(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &(end - 1).to_string()]);
            }
        }
    }

    fn meet(&self) {
        for node in &self.nodes[1..] {
            let settings = node.command(&["CONFIG", "GET", "cluster-port"]);
            let [_, cluster_port]: [String; 2] = redis::from_redis_value(settings).unwrap();
            let port = node.port().to_string();
            self.nodes[0].command(&["CLUSTER", "MEET", "127.0.0.1", &port, &cluster_port]);
        }
        let knows_all = |node: &RedisServer| {
            let known = known_by(node);
            known.lines().count() == self.nodes.len() && !known.contains("handshake") && !known.contains("noaddr")
        };
        eventually("nodes that know each other", || self.nodes.iter().all(knows_all));
    }

    fn attach_replicas(&self) {
        let (primaries, replicas) = self.nodes.split_at(PRIMARIES);
        for (primary, replica) in primaries.iter().zip(replicas) {
            replica.command(&["CLUSTER", "REPLICATE", &id_of(primary)]);
        }
        let is_complete = |node: &RedisServer| {
            let replicas = known_by(node).lines().filter(|line| line.contains("slave")).count();
            replicas == PRIMARIES && node.cluster_is_ok()
        };
        eventually("a cluster that is complete", || {
            self.nodes.iter().all(is_complete) && replicas.iter().all(RedisServer::follows)
        });
    }
}

/// A slot on its way from one primary to another. If it is dropped, it stays where it is: halfway.
pub struct SlotMove<'a> {
    cluster: &'a RedisCluster,
    slot: String,
    from: &'a RedisServer,
    to: &'a RedisServer,
}

impl SlotMove<'_> {
    /// Moves this many keys, or all there are if they are fewer, and returns how many that were.
    pub fn move_keys(&self, count: usize) -> usize {
        let keys = self.from.command(&["CLUSTER", "GETKEYSINSLOT", &self.slot, &count.to_string()]);
        let keys: Vec<String> = redis::from_redis_value(keys).unwrap();
        let port = self.to.port().to_string();
        for key in &keys {
            let destination = ["MIGRATE", "127.0.0.1", &port, key, "0", "20000"];
            let password = self.from.password().map(|password| ["AUTH", password]);
            let words: Vec<&str> = destination.into_iter().chain(password.into_iter().flatten()).collect();
            // Without the words, among which there may be a password.
            self.from.try_command(&words).unwrap_or_else(|error| panic!("{key} does not move: {error}"));
        }
        keys.len()
    }

    /// Moves all keys that are left, and tells all primaries that the slot has moved.
    pub fn finish(self) {
        while self.move_keys(100) > 0 {}
        let new_owner = id_of(self.to);
        // The new owner first: if the old one were, nobody would own the slot for a moment.
        let others = self.cluster.nodes.iter().filter(|node| node.port() != self.to.port() && node.is_primary());
        for node in [self.to].into_iter().chain(others) {
            node.command(&["CLUSTER", "SETSLOT", &self.slot, "NODE", &new_owner]);
        }
    }
}

fn id_of(node: &RedisServer) -> String {
    redis::from_redis_value(node.command(&["CLUSTER", "MYID"])).unwrap()
}

/// One line per node that this one knows.
fn known_by(node: &RedisServer) -> String {
    redis::from_redis_value(node.command(&["CLUSTER", "NODES"])).unwrap()
}

/// The port of the primary that has this slot, by what this node says, if it answers.
fn owner_by(node: &RedisServer, slot: i64) -> Option<u16> {
    let answer = node.ask_briefly(&["CLUSTER", "SLOTS"])?;
    let rows: Vec<Vec<Value>> = redis::from_redis_value(answer).ok()?;
    // Each row is the first slot, the last one, and the nodes that have them, the primary first.
    rows.iter().find_map(|row| match &row[..] {
        [Value::Int(first), Value::Int(last), Value::Array(owner), ..] if (*first..=*last).contains(&slot) => {
            redis::from_redis_value(owner.get(1)?.clone()).ok()
        }
        _ => None,
    })
}

const PRIMARIES: usize = 3;
const SLOTS: usize = 16_384;
