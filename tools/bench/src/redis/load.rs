//! What a server has done, by its own account.

use std::collections::HashMap;
use std::error::Error;
use std::time::Instant;

use tenure_testkit::redis::RedisServer;

use crate::work::ServerWork;

/// All counters of a server at one instant.
pub(super) struct RedisCounters {
    at: Instant,
    facts: HashMap<String, String>,
}

/// What it did between two looks.
pub(super) struct Load {
    pub(super) seconds: f64,
    /// CPU seconds.
    pub(super) cpu: f64,
    /// Scripts that clients called.
    pub(super) scripts: f64,
    /// How often it read from a connection: at least once for each round trip.
    pub(super) reads: f64,
    /// Commands of clients, and those that scripts call.
    pub(super) commands: f64,
}

impl RedisCounters {
    pub(super) fn at(server: &RedisServer) -> Result<Self, Box<dyn Error>> {
        let text: String = redis::from_redis_value(server.command(&["INFO", "all"]))?;
        let fact = |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(Self { at: Instant::now(), facts: text.lines().filter_map(fact).collect() })
    }

    /// What happened since an earlier look.
    pub(super) fn since(&self, earlier: &Self) -> Load {
        let difference = |value: &dyn Fn(&Self) -> f64| value(self) - value(earlier);
        Load {
            seconds: self.at.duration_since(earlier.at).as_secs_f64(),
            cpu: difference(&Self::cpu),
            scripts: difference(&Self::scripts),
            reads: difference(&|look| look.number("total_reads_processed")),
            // The earlier look is one of them.
            commands: difference(&|look| look.number("total_commands_processed")) - 1.0,
        }
    }

    /// What its data occupy, without what it has for connections.
    pub(super) fn data_bytes(&self) -> f64 {
        self.number("used_memory") - self.number("mem_clients_normal")
    }

    /// How many are connected, without whoever looks.
    pub(super) fn connections(&self) -> f64 {
        self.number("connected_clients") - 1.0
    }

    /// What every server tells.
    pub(super) fn work(&self) -> ServerWork {
        let pushes = Some(self.calls("publish"));
        ServerWork { at: self.at, cpu: self.cpu(), calls: self.scripts(), pushes }
    }

    fn cpu(&self) -> f64 {
        self.number("used_cpu_user") + self.number("used_cpu_sys")
    }

    fn scripts(&self) -> f64 {
        self.calls("evalsha") + self.calls("eval")
    }

    fn calls(&self, command: &str) -> f64 {
        let calls = |text: &String| text.strip_prefix("calls=")?.split(',').next()?.parse().ok();
        self.facts.get(&format!("cmdstat_{command}")).and_then(calls).unwrap_or(0.0)
    }

    fn number(&self, name: &str) -> f64 {
        self.facts.get(name).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
    }
}
