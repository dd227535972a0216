//! Sentinels: who the primary is, and whether it still is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
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

/// Sentinels do little else, and are asked side by side. A leader that renews must not lose its time with those that hang.
const PATIENCE: Duration = Duration::from_millis(200);

impl Sentinels {
    pub(super) fn new(sentinels: Vec<Client>, name: String, servers: Template) -> Self {
        let nodes = sentinels.into_iter().map(|client| Node::new(Dial::Fixed(Arc::new(client)))).collect();
        Self { nodes, name, servers }
    }

    /// The primary that most of those who answer name.
    pub(super) async fn primary(&self) -> Result<Client, Fault> {
        let answers = self.ask(|answers| votes(answers).into_values().any(|votes| votes >= self.majority())).await;
        match votes(&answers).into_iter().max_by_key(|(_, votes)| *votes) {
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
        let opinion = |answers: &[Address]| {
            let here = answers.iter().filter(|answer| answer.to_string() == address).count();
            if here >= self.majority() {
                Opinion::Confirmed
            } else if answers.len() - here >= self.majority() {
                Opinion::Elsewhere
            } else {
                Opinion::Unclear
            }
        };
        opinion(&self.ask(|answers| opinion(answers) != Opinion::Unclear).await)
    }

    /// More than half of those that were named.
    fn majority(&self) -> usize {
        self.nodes.len() / 2 + 1
    }

    /// What the sentinels say, until that is enough or the time is up.
    async fn ask(&self, is_enough: impl Fn(&[Address]) -> bool) -> Vec<Address> {
        let question = async |node: &Node| {
            let link = node.link().await.ok()?;
            let mut question = cmd("SENTINEL");
            question.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.name);
            parse(&node.exchange(&link, vec![question]).await.ok()?.pop()?)
        };
        let mut questions: FuturesUnordered<_> = self.nodes.iter().map(question).collect();
        let mut answers = Vec::new();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while let Ok(Some(answer)) = tokio::time::timeout_at(deadline, questions.next()).await {
            answers.extend(answer);
            if is_enough(&answers) {
                break;
            }
        }
        answers
    }
}

fn votes(answers: &[Address]) -> BTreeMap<&Address, usize> {
    let mut votes = BTreeMap::new();
    for address in answers {
        *votes.entry(address).or_default() += 1;
    }
    votes
}

fn parse(answer: &Value) -> Option<Address> {
    let Value::Array(parts) = answer else { return None };
    let [host, port] = parts.as_slice() else { return None };
    let text = |value: &Value| redis::from_redis_value_ref::<String>(value).ok();
    Some(Address { host: text(host)?, port: text(port)?.parse().ok()? })
}
