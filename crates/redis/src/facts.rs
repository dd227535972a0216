//! Facts that servers report about themselves.

use std::collections::HashMap;

use redis::{Cmd, Value, cmd};

use super::error::RedisStoreError;

/// Answers to all questions; an answer is missing if permission was denied.
#[derive(Debug)]
pub(super) struct RedisFacts {
    told: HashMap<String, String>,
    settings: HashMap<String, String>,
    unix_ms: Option<u64>,
}

const SECTIONS: [&str; 4] = ["server", "memory", "persistence", "replication"];
const SETTINGS: [&str; 2] = ["appendfsync", "min-replicas-to-write"];

impl RedisFacts {
    /// The questions, in this order.
    pub(super) fn questions() -> Vec<Cmd> {
        let info = SECTIONS.iter().map(|section| words(&["INFO", section]));
        let settings = SETTINGS.iter().map(|setting| words(&["CONFIG", "GET", setting]));
        info.chain(settings).chain([words(&["TIME"])]).collect()
    }

    /// Reads the answers. An error means that permission was denied, unless all answers are errors.
    pub(super) fn of(answers: Vec<Value>) -> Result<Self, RedisStoreError> {
        if let Some(Value::ServerError(error)) = answers.first()
            && answers.iter().all(|answer| matches!(answer, Value::ServerError(_)))
        {
            return Err(RedisStoreError::server(error));
        }
        let mut answers = answers.into_iter();
        let mut facts = Self { told: HashMap::new(), settings: HashMap::new(), unix_ms: None };
        for text in answers.by_ref().take(SECTIONS.len()) {
            let text: String = redis::from_redis_value(text).unwrap_or_default();
            let lines = text.lines().filter_map(|line| line.split_once(':'));
            facts.told.extend(lines.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        for setting in answers.by_ref().take(SETTINGS.len()) {
            facts.settings.extend(redis::from_redis_value::<HashMap<String, String>>(setting).unwrap_or_default());
        }
        let time = answers.next().and_then(|time| redis::from_redis_value::<(u64, u64)>(time).ok());
        facts.unix_ms = time.map(|(seconds, micros)| seconds * 1_000 + micros / 1_000);
        Ok(facts)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.told.get(name).map(String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    pub(super) fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    pub(super) fn unix_ms(&self) -> Option<u64> {
        self.unix_ms
    }

    pub(super) fn major_version(&self) -> Option<u32> {
        self.version()?.1.split('.').next()?.parse().ok()
    }

    /// Name and version of the server.
    pub(super) fn describe(&self) -> String {
        self.version().map_or_else(|| "an unknown version".to_owned(), |(name, version)| format!("{name} {version}"))
    }

    fn version(&self) -> Option<(&'static str, &str)> {
        let valkey = self.get("valkey_version").map(|version| ("Valkey", version));
        valkey.or_else(|| self.get("redis_version").map(|version| ("Redis", version)))
    }
}

fn words(words: &[&str]) -> Cmd {
    let mut command = cmd(words[0]);
    command.arg(&words[1..]);
    command
}
