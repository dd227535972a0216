//! Sentinels: who the primary is, and whether it still is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::{Client, Value, cmd};
use tokio::task::JoinHandle;

use super::address::{Address, Template};
use super::error::Fault;
use super::link::{Dial, Node};

/// The sentinels that were named, and the primary they are asked for.
pub(super) struct Sentinels {
    nodes: Vec<Arc<Node>>,
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

/// Sentinels do little else, and are asked side by side. A leader that renews must not lose its time with those that hang.
const PATIENCE: Duration = Duration::from_millis(200);

impl Sentinels {
    pub(super) fn new(sentinels: Vec<Client>, name: String, servers: Template) -> Self {
        let nodes = sentinels.into_iter().map(|client| Arc::new(Node::new(Dial::Fixed(Arc::new(client))))).collect();
        Self { nodes, name, servers }
    }

    /// The primary that more than half of them name, or else most of those who answer.
    pub(super) async fn primary(&self) -> Result<Client, Fault> {
        let mut answers = self.ask();
        let mut votes: BTreeMap<Address, usize> = BTreeMap::new();
        while let Some(answer) = answers.next().await {
            let Ok(Some(address)) = answer else { continue };
            let votes = votes.entry(address).or_default();
            *votes += 1;
            if *votes >= self.majority() {
                break;
            }
        }
        match votes.into_iter().max_by_key(|(_, votes)| *votes) {
            Some((address, _)) => self.servers.client(&address),
            None => Err(Fault::NoPrimary(format!(
                "none of the {} sentinels names a primary called {:?}; check their addresses and that name",
                self.nodes.len(),
                self.name
            ))),
        }
    }

    /// Whether the server at this address is still the primary.
    pub(super) async fn opinion(&self, address: &str) -> Opinion {
        let mut answers = self.ask();
        let (mut here, mut elsewhere) = (0, 0);
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(Some(named)) if named.to_string() == address => here += 1,
                Ok(Some(_)) => elsewhere += 1,
                Ok(None) | Err(_) => {}
            }
            if here >= self.majority() {
                return Opinion::Confirmed;
            }
            if elsewhere >= self.majority() {
                return Opinion::Elsewhere;
            }
        }
        Opinion::Unclear
    }

    /// More than half of those that were named.
    fn majority(&self) -> usize {
        self.nodes.len() / 2 + 1
    }

    /// What each of them says, as it comes. Nobody has to wait for the slowest: its answer is taken in by itself, so that the
    /// connection stays of use.
    fn ask(&self) -> FuturesUnordered<JoinHandle<Option<Address>>> {
        let ask = |node: &Arc<Node>| {
            let (node, name) = (Arc::clone(node), self.name.clone());
            tokio::spawn(async move { tokio::time::timeout(PATIENCE, named_by(&node, &name)).await.ok().flatten() })
        };
        self.nodes.iter().map(ask).collect()
    }
}

async fn named_by(sentinel: &Node, name: &str) -> Option<Address> {
    let link = sentinel.link().await.ok()?;
    let mut question = cmd("SENTINEL");
    question.arg("GET-MASTER-ADDR-BY-NAME").arg(name);
    parse(&sentinel.exchange(&link, vec![question]).await.ok()?.pop()?)
}

fn parse(answer: &Value) -> Option<Address> {
    let Value::Array(parts) = answer else { return None };
    let [host, port] = parts.as_slice() else { return None };
    let text = |value: &Value| redis::from_redis_value_ref::<String>(value).ok();
    Some(Address { host: text(host)?, port: text(port)?.parse().ok()? })
}
