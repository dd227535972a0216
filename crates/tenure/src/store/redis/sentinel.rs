//! Sentinels: who the primary is, and whether it still is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use redis::{Client, Value, cmd};

use super::address::{Address, Template};
use super::error::Fault;
use super::link::{Dial, Node};

/// The sentinels that were named, and the primary they are asked for.
pub(super) struct Sentinels {
    nodes: Vec<Node>,
    name: String,
    servers: Template,
}

/// What the sentinels say of a primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opinion {
    /// More than half of them name it.
    Confirmed,
    /// More than half of them name another one.
    Elsewhere,
    /// Too few of them answer, or they do not agree.
    Unclear,
}

/// Sentinels do little else, and are asked side by side.
const PATIENCE: Duration = Duration::from_millis(500);

impl Sentinels {
    pub(super) fn new(sentinels: Vec<Client>, name: String, servers: Template) -> Self {
        let nodes = sentinels.into_iter().map(|client| Node::new(Dial::Fixed(Arc::new(client)))).collect();
        Self { nodes, name, servers }
    }

    /// The primary that most of those who answer name.
    pub(super) async fn primary(&self) -> Result<Client, Fault> {
        let answers = self.ask().await;
        let mut votes: BTreeMap<&Address, usize> = BTreeMap::new();
        for address in answers.iter().flatten() {
            *votes.entry(address).or_default() += 1;
        }
        match votes.into_iter().max_by_key(|(_, votes)| *votes) {
            Some((address, _)) => self.servers.client(address),
            None => Err(Fault::NoPrimary(format!(
                "none of the {} sentinels names a primary called {:?}; check their addresses and that name",
                self.nodes.len(),
                self.name
            ))),
        }
    }

    /// Whether the server at this address is still the primary.
    pub(super) async fn opinion(&self, address: &str) -> Opinion {
        let answers = self.ask().await;
        let needed = self.nodes.len() / 2 + 1;
        let count =
            |wanted: bool| answers.iter().flatten().filter(|answer| (answer.to_string() == address) == wanted).count();
        if count(true) >= needed {
            Opinion::Confirmed
        } else if count(false) >= needed {
            Opinion::Elsewhere
        } else {
            Opinion::Unclear
        }
    }

    async fn ask(&self) -> Vec<Option<Address>> {
        let question = async |node: &Node| {
            let link = node.link().await.ok()?;
            let mut question = cmd("SENTINEL");
            question.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.name);
            node.exchange(&link, vec![question]).await.ok()?.pop()
        };
        let answers = self.nodes.iter().map(|node| tokio::time::timeout(PATIENCE, question(node)));
        join_all(answers).await.into_iter().map(|answer| parse(&answer.ok()??)).collect()
    }
}

fn parse(answer: &Value) -> Option<Address> {
    let Value::Array(parts) = answer else { return None };
    let [host, port] = parts.as_slice() else { return None };
    let text = |value: &Value| redis::from_redis_value_ref::<String>(value).ok();
    Some(Address { host: text(host)?, port: text(port)?.parse().ok()? })
}
