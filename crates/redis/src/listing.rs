//! Lists the elections: from their index, or from their keys where the index is damaged.

use std::collections::BTreeSet;

use redis::{Value, cmd};
use tenure_store::{ElectionName, Namespace, StoreError};

use super::call::{Call, CallCommand};
use super::deployment::Deployment;
use super::error::RedisStoreError;
use super::index::List;
use super::lease::RedisInner;

/// The number of keys that the server scans before it answers other clients.
const KEYS_AT_ONCE: usize = 1_000;
/// After this many steps the search is abandoned: the server has other things to do.
const MAX_STEPS: usize = 1_000;

impl RedisInner {
    pub(super) async fn elections(&self, namespace: &Namespace) -> Result<Vec<ElectionName>, StoreError> {
        self.listed(List::Elections, namespace).await
    }

    /// The content of a list, in order. A damaged list hides nothing: it is reported, and the keys are searched.
    pub(super) async fn listed(&self, list: List, namespace: &Namespace) -> Result<Vec<ElectionName>, StoreError> {
        let fault = match self.read_list(list, namespace).await {
            Ok(names) => return Ok(names),
            Err(fault) => fault,
        };
        let found = if fault.is_wrong_type() { self.found(list, namespace).await } else { None };
        let error = self.tell(fault);
        match found {
            Some(names) => {
                log!(
                    warn,
                    "{error}; its elections were found by their keys. Remove it, and start the candidates again one after the \
                     other: then they list their elections"
                );
                Ok(names.into_iter().collect())
            }
            None => Err(error),
        }
    }

    /// The content of a list, in order.
    pub(super) async fn read_list(
        &self,
        list: List,
        namespace: &Namespace,
    ) -> Result<Vec<ElectionName>, RedisStoreError> {
        let key = list.key(self.keys(), namespace);
        let mut command = cmd("SMEMBERS");
        command.arg(&key);
        let names = self.texts(key, command).await?;
        let mut names: Vec<ElectionName> = names.into_iter().filter_map(|name| ElectionName::new(name).ok()).collect();
        names.sort();
        Ok(names)
    }

    /// The elections with keys of the kind that belongs on the list; `None` if that cannot be determined.
    async fn found(&self, list: List, namespace: &Namespace) -> Option<BTreeSet<ElectionName>> {
        // The nodes of a cluster would have to be asked one by one.
        if matches!(self.deployment(), Deployment::Cluster(_)) {
            return None;
        }
        let mut names = BTreeSet::new();
        for companion in list.companions() {
            let mut cursor = "0".to_owned();
            for step in 0.. {
                if step == MAX_STEPS {
                    return None;
                }
                let (next, keys) = self.scan(&cursor, companion).await?;
                let elections = keys.iter().filter_map(|key| self.keys().election_of_companion(key, companion));
                names.extend(elections.filter(|key| key.namespace == *namespace).map(|key| key.name));
                cursor = next;
                if cursor == "0" {
                    break;
                }
            }
        }
        Some(names)
    }

    /// One step of the search: the start of the next one, and the keys found.
    async fn scan(&self, cursor: &str, companion: &str) -> Option<(String, Vec<String>)> {
        let mut command = cmd("SCAN");
        command.arg(cursor).arg("MATCH").arg(format!("*:{companion}")).arg("COUNT").arg(KEYS_AT_ONCE);
        let calls = [Call { route: String::new(), order: CallCommand::Plain(command) }];
        let answer = self.deployment().run(&calls, None).await.pop()?.ok()?;
        match answer.value {
            Value::ServerError(_) => None,
            value => redis::from_redis_value(value).ok(),
        }
    }
}
