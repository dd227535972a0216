//! A cluster: which server has which keys, and how to follow when they move.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{join_all, pending, select_all};
use futures_util::stream::FuturesUnordered;
use redis::{Client, Cmd, Value, cmd};

use super::address::{HostPort, ServerTemplate};
use super::call::{Call, asking};
use super::connector::{RedisConnection, RedisConnector, send_all};
use super::deployment::{CallAnswer, ReplicaWait, exchange, question, run_on};
use super::error::RedisStoreError;
use super::keys::tag_of;

/// The nodes of a cluster, as far as they are known.
pub(super) struct Cluster {
    seeds: Vec<HostPort>,
    servers: ServerTemplate,
    known: Mutex<KnownNodes>,
    /// Something happened that the map of slots does not explain.
    stale: AtomicBool,
}

#[derive(Default)]
struct KnownNodes {
    nodes: HashMap<HostPort, Arc<RedisConnection>>,
    /// The last slot of each range, and its owner.
    slots: BTreeMap<u16, HostPort>,
    /// Nodes that were sent calls before, whether they have answered or not.
    tried: BTreeSet<HostPort>,
}

/// Where a call goes next.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum CallTarget {
    /// To the owner of its slot.
    Owner,
    /// To the future owner, for this once.
    Ask(HostPort),
}

const SLOTS: u16 = 16_384;
/// A slot that is moved twice while a call is under way is a wonder; more than that is a loop.
const MAX_REDIRECTIONS: usize = 5;
/// How much longer than the first node the others may take. Nodes of a cluster are near each other, and answer at about
/// the same time.
const MAX_LAG: Duration = Duration::from_millis(250);
/// The same if one of them is new: it has to be connected to first.
const MAX_LAG_OF_NEW_NODE: Duration = Duration::from_secs(1);
/// The same as a multiple of the time that the first node took: on a machine that is busy, or far from them, all take long,
/// and differ by more.
const LAG_FACTOR: u32 = 3;
/// More for each call, because a node with much to do is not a lagging one: about ten times what a call takes.
const MAX_LAG_PER_CALL: Duration = Duration::from_micros(500);
/// All are asked side by side, and one answer is enough. A connection may have to be made first.
const MAP_PATIENCE: Duration = Duration::from_secs(2);
const SURVEY_PATIENCE: Duration = Duration::from_secs(2);

impl Cluster {
    pub(super) fn new(seeds: Vec<HostPort>, servers: ServerTemplate) -> Self {
        Self { seeds, servers, known: Mutex::default(), stale: AtomicBool::new(true) }
    }

    /// The hash slot of a key, as the cluster specification has it: CRC-16 (XMODEM) of its tag.
    pub(super) fn slot_of(key: &str) -> u16 {
        let step =
            |crc: u16, byte: &u8| {
                (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
                    if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
                })
            };
        tag_of(key).as_bytes().iter().fold(0, step) % SLOTS
    }

    pub(super) async fn run(
        &self,
        calls: &[Call],
        wait: Option<ReplicaWait>,
    ) -> Vec<Result<CallAnswer, RedisStoreError>> {
        // If this is given up halfway, some node has not answered, and another may have taken its place.
        let mut doubt = AbandonedRound { stale: &self.stale, dispelled: false };
        let mut results: Vec<Option<Result<CallAnswer, RedisStoreError>>> = calls.iter().map(|_| None).collect();
        let mut open: Vec<(usize, CallTarget)> =
            (0..calls.len()).map(|position| (position, CallTarget::Owner)).collect();
        for round in 0..=MAX_REDIRECTIONS {
            let may_redirect = round < MAX_REDIRECTIONS;
            let mut again = Vec::new();
            for (position, result) in self.round(calls, open, wait).await {
                match result {
                    Ok(answer) => match self.redirection(&answer).filter(|_| may_redirect) {
                        Some(target) => again.push((position, target)),
                        None => results[position] = Some(Ok(answer)),
                    },
                    Err(fault) => {
                        self.stale.store(true, Ordering::Relaxed);
                        results[position] = Some(Err(fault));
                    }
                }
            }
            if again.is_empty() {
                break;
            }
            open = again;
        }
        doubt.dispelled = true;
        let missing =
            || Err(RedisStoreError::NoPrimary("the nodes of the cluster keep redirecting to each other".to_owned()));
        results.into_iter().map(|result| result.unwrap_or_else(missing)).collect()
    }

    /// Looks for the owners of slots anew.
    pub(super) fn reconnect(&self) {
        self.stale.store(true, Ordering::Relaxed);
    }

    /// Completes when a connection to some node had to be made again.
    pub(super) async fn changes(&self) {
        let changes: Vec<_> = self.known().nodes.values().map(|node| Box::pin(node.changes())).collect();
        if changes.is_empty() {
            pending::<()>().await;
        }
        select_all(changes).await;
    }

    /// A node that answers, for pushes: a message that one node publishes reaches the subscribers of all.
    pub(super) async fn any_node(&self) -> Result<Client, RedisStoreError> {
        let (address, _) = self.ask_for_slots().await?;
        self.servers.client(&address)
    }

    /// Puts the same questions to every node that owns slots.
    pub(super) async fn survey(&self, questions: &[Cmd]) -> Vec<(String, Result<Vec<Value>, RedisStoreError>)> {
        if let Err(fault) = self.learn_slots().await {
            return vec![("the cluster".to_owned(), Err(fault))];
        }
        let owners: BTreeSet<HostPort> = self.known().slots.values().cloned().collect();
        let visits = owners.into_iter().map(|address| async move {
            let answers = match self.node(&address) {
                Ok(node) => match tokio::time::timeout(SURVEY_PATIENCE, question(&node, questions)).await {
                    Ok((_, answers)) => answers,
                    Err(_) => Err(RedisStoreError::Silent),
                },
                Err(fault) => Err(fault),
            };
            (address.to_string(), answers)
        });
        join_all(visits).await
    }

    /// Sends each call to where it belongs, all nodes side by side.
    async fn round(
        &self,
        calls: &[Call],
        open: Vec<(usize, CallTarget)>,
        wait: Option<ReplicaWait>,
    ) -> Vec<(usize, Result<CallAnswer, RedisStoreError>)> {
        if self.stale.swap(false, Ordering::Relaxed)
            && let Err(fault) = self.learn_slots().await
        {
            self.stale.store(true, Ordering::Relaxed);
            return open.into_iter().map(|(position, _)| (position, Err(fault.clone()))).collect();
        }
        let mut results = Vec::new();
        let mut by_server: BTreeMap<(HostPort, bool), Vec<usize>> = BTreeMap::new();
        for (position, target) in open {
            let owner = match target {
                CallTarget::Owner => self.owner(&calls[position].route).map(|address| (address, false)),
                CallTarget::Ask(address) => Some((address, true)),
            };
            match owner {
                Some(server) => by_server.entry(server).or_default().push(position),
                None => {
                    self.stale.store(true, Ordering::Relaxed);
                    let message = "no node of the cluster owns the slot of this election".to_owned();
                    results.push((position, Err(RedisStoreError::NoPrimary(message))));
                }
            }
        }
        let mut awaited: BTreeSet<usize> = by_server.values().flatten().copied().collect();
        let max_calls = by_server.values().map(Vec::len).max().unwrap_or_default();
        let max_lag = self.known().max_lag(by_server.keys().map(|(address, _)| address), max_calls);
        let visits = by_server.into_iter().map(|((address, asks), positions)| async move {
            let chosen: Vec<&Call> = positions.iter().map(|&position| &calls[position]).collect();
            let answers = self.visit(&address, &chosen, asks, wait).await;
            let results: Vec<_> = match answers {
                Ok(answers) => answers.into_iter().map(Ok).collect(),
                Err(fault) => positions.iter().map(|_| Err(fault.clone())).collect(),
            };
            positions.into_iter().zip(results).collect::<Vec<_>>()
        });
        let answered = without_lagging_nodes(visits.collect(), max_lag).await;
        for (position, _) in &answered {
            awaited.remove(position);
        }
        results.extend(answered);
        results.extend(awaited.into_iter().map(|position| (position, Err(RedisStoreError::Silent))));
        results
    }

    async fn visit(
        &self,
        address: &HostPort,
        calls: &[&Call],
        asks: bool,
        wait: Option<ReplicaWait>,
    ) -> Result<Vec<CallAnswer>, RedisStoreError> {
        let node = self.node(address)?;
        if !asks {
            return run_on(&node, calls, wait).await;
        }
        // The permission to ask counts for one command, so the script comes in full: there is no second try.
        let link = node.link().await?;
        let commands = calls.iter().flat_map(|call| [asking(), call.in_full()]).collect();
        let (values, replicas) = exchange(&node, &link, commands, wait).await?;
        let server: Arc<str> = Arc::from(link.address());
        let answer = |value| CallAnswer { value, replicas, server: Arc::clone(&server) };
        Ok(values.into_iter().skip(1).step_by(2).map(answer).collect())
    }

    /// Where an answer sends us. A slot that has moved for good is remembered.
    fn redirection(&self, answer: &CallAnswer) -> Option<CallTarget> {
        let Value::ServerError(error) = &answer.value else { return None };
        let moved = match error.code() {
            "MOVED" => true,
            "ASK" => false,
            _ => return None,
        };
        let mut words = error.details()?.split_ascii_whitespace();
        let slot: u16 = words.next()?.parse().ok()?;
        let mut address: HostPort = words.next()?.parse().ok()?;
        if address.host.is_empty() {
            // "Where you are already, at another port."
            address.host = answer.server.parse::<HostPort>().ok()?.host;
        }
        if !moved {
            return Some(CallTarget::Ask(address));
        }
        // Others may have moved with it; the whole map is fetched before the next round.
        self.stale.store(true, Ordering::Relaxed);
        let mut known = self.known();
        if known.slots.get(&slot) != Some(&address) {
            known.assign(slot, slot, address);
        }
        Some(CallTarget::Owner)
    }

    fn owner(&self, key: &str) -> Option<HostPort> {
        let known = self.known();
        let (_, address) = known.slots.range(Self::slot_of(key)..).next()?;
        Some(address.clone())
    }

    fn node(&self, address: &HostPort) -> Result<Arc<RedisConnection>, RedisStoreError> {
        if let Some(node) = self.known().nodes.get(address) {
            return Ok(Arc::clone(node));
        }
        let node = Arc::new(RedisConnection::new(RedisConnector::Fixed(Arc::new(self.servers.client(address)?))));
        Ok(Arc::clone(self.known().nodes.entry(address.clone()).or_insert(node)))
    }

    async fn learn_slots(&self) -> Result<(), RedisStoreError> {
        let (asked, map) = self.ask_for_slots().await?;
        let ranges =
            parse_slots(&map, &asked).ok_or_else(|| RedisStoreError::Nonsense("an invalid slot map".to_owned()))?;
        let mut known = self.known();
        known.slots.clear();
        for (first, last, owner) in ranges {
            known.assign(first, last, owner);
        }
        // Nodes that own nothing any more are left, so that their connections close.
        let owners: Vec<HostPort> = known.slots.values().cloned().collect();
        known.nodes.retain(|address, _| owners.contains(address) || self.seeds.contains(address));
        known.tried.retain(|address| owners.contains(address));
        Ok(())
    }

    /// The map of slots from whichever node answers first, and its address.
    async fn ask_for_slots(&self) -> Result<(HostPort, Value), RedisStoreError> {
        let mut addresses = self.seeds.clone();
        addresses.extend(self.known().slots.values().cloned());
        addresses.sort();
        addresses.dedup();
        // The slower ones are heard to the end, too: whoever hangs up on them loses a connection that others use.
        let ask = |address: HostPort| {
            let node = self.node(&address);
            tokio::spawn(async move {
                let map = tokio::time::timeout(MAP_PATIENCE, async { slots_by(&*node?).await }).await;
                map.unwrap_or_else(|_| Err(silence())).map(|map| (address, map))
            })
        };
        let mut questions: FuturesUnordered<_> = addresses.into_iter().map(ask).collect();
        let mut failure = silence();
        while let Some(answer) = questions.next().await {
            match answer {
                Ok(Ok(found)) => return Ok(found),
                Ok(Err(fault)) => failure = fault,
                Err(_) => {}
            }
        }
        Err(failure)
    }

    /// Nobody panics while holding it, and every change is complete.
    fn known(&self) -> MutexGuard<'_, KnownNodes> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownNodes {
    /// How much longer than the first of these nodes the others may take to answer. None has more calls than `max_calls`.
    fn max_lag<'n>(&mut self, nodes: impl Iterator<Item = &'n HostPort>, max_calls: usize) -> Duration {
        // All of them count as tried by this, so none may be passed over.
        let new_nodes = nodes.filter(|address| self.tried.insert((*address).clone())).count();
        let for_calls = MAX_LAG_PER_CALL * u32::try_from(max_calls).unwrap_or(u32::MAX);
        for_calls + if new_nodes > 0 { MAX_LAG_OF_NEW_NODE } else { MAX_LAG }
    }

    /// Gives a range of slots to a node. What is left of another range around it stays with its owner.
    fn assign(&mut self, first: u16, last: u16, owner: HostPort) {
        let around = self.slots.range(last..).next().map(|(_, address)| address.clone());
        if let (Some(before), Some(around)) = (first.checked_sub(1), around) {
            self.slots.entry(before).or_insert(around);
        }
        let inside: Vec<u16> = self.slots.range(first..last).map(|(end, _)| *end).collect();
        for end in inside {
            self.slots.remove(&end);
        }
        self.slots.insert(last, owner);
    }
}

async fn slots_by(node: &RedisConnection) -> Result<Value, RedisStoreError> {
    let link = node.link().await?;
    let mut question = cmd("CLUSTER");
    question.arg("SLOTS");
    match send_all(node, &link, vec![question]).await?.pop() {
        Some(Value::ServerError(error)) => Err(RedisStoreError::server(&error)),
        Some(map) => Ok(map),
        None => Err(RedisStoreError::Nonsense("nothing".to_owned())),
    }
}

fn silence() -> RedisStoreError {
    RedisStoreError::NoPrimary("no node of the cluster answers".to_owned())
}

/// The results of all visits, but for those to nodes that are silent while others have answered: leaders whose elections are
/// elsewhere must not lose their time, and so their leases, with a node that hangs.
async fn without_lagging_nodes<T>(
    mut visits: FuturesUnordered<impl Future<Output = Vec<T>>>,
    max_lag: Duration,
) -> Vec<T> {
    let began = tokio::time::Instant::now();
    let mut results = visits.next().await.unwrap_or_default();
    let deadline = tokio::time::Instant::now() + max_lag.max(began.elapsed() * LAG_FACTOR);
    while let Ok(Some(more)) = tokio::time::timeout_at(deadline, visits.next()).await {
        results.extend(more);
    }
    results
}

/// First slot, last slot and owner of each range. A node without an address is the one that was asked.
fn parse_slots(map: &Value, asked: &HostPort) -> Option<Vec<(u16, u16, HostPort)>> {
    let Value::Array(ranges) = map else { return None };
    let range = |range: &Value| {
        let Value::Array(parts) = range else { return None };
        let [Value::Int(first), Value::Int(last), Value::Array(owner), ..] = parts.as_slice() else { return None };
        let [host, Value::Int(port), ..] = owner.as_slice() else { return None };
        let host: Option<String> = redis::from_redis_value_ref(host).ok()?;
        let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| asked.host.clone());
        let owner = HostPort { host, port: u16::try_from(*port).ok()? };
        Some((u16::try_from(*first).ok()?, u16::try_from(*last).ok()?, owner))
    };
    ranges.iter().map(range).collect()
}

/// Leaves a mark when a round of calls was given up.
struct AbandonedRound<'a> {
    stale: &'a AtomicBool,
    dispelled: bool,
}

impl Drop for AbandonedRound<'_> {
    fn drop(&mut self) {
        if !self.dispelled {
            self.stale.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of two visits are waited for, if they take this long.
    async fn waited_for(visits_ms: [u64; 2]) -> Vec<u64> {
        let visit = |took_ms| async move {
            tokio::time::sleep(Duration::from_millis(took_ms)).await;
            vec![took_ms]
        };
        without_lagging_nodes(visits_ms.into_iter().map(visit).collect(), MAX_LAG).await
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_node_that_takes_much_longer_than_the_others() {
        for awaited in [[1, 200], [300, 1_100]] {
            assert_eq!(waited_for(awaited).await, awaited);
        }
        for [first, lagging] in [[1, 300], [300, 1_300]] {
            assert_eq!(waited_for([first, lagging]).await, [first]);
        }
    }

    #[test]
    fn a_node_that_is_asked_for_the_first_time_or_for_much_may_take_longer() {
        let node = |port| HostPort { host: "h".to_owned(), port };
        let mut known = KnownNodes::default();
        assert_eq!(known.max_lag([node(1), node(2)].iter(), 0), MAX_LAG_OF_NEW_NODE);
        assert_eq!(known.max_lag([node(1), node(2)].iter(), 0), MAX_LAG);
        assert_eq!(known.max_lag([node(2), node(3)].iter(), 0), MAX_LAG_OF_NEW_NODE);
        let busy = known.max_lag([node(1), node(3)].iter(), 1_000);
        assert_eq!(busy, MAX_LAG + 1_000 * MAX_LAG_PER_CALL);
    }

    #[test]
    fn slots_are_those_of_the_specification() {
        // The example of the specification: CRC-16 of "123456789" is 0x31C3.
        assert_eq!(Cluster::slot_of("123456789"), 0x31C3);
        assert_eq!(Cluster::slot_of("{user1000}.following"), Cluster::slot_of("user1000"));
    }

    #[test]
    fn a_slot_that_moves_leaves_its_neighbours_where_they_are() {
        let node = |port| HostPort { host: "h".to_owned(), port };
        let mut known = KnownNodes::default();
        known.assign(0, 99, node(1));
        known.assign(100, SLOTS - 1, node(2));
        known.assign(50, 50, node(3));
        let owner = |slot: u16| known.slots.range(slot..).next().map(|(_, address)| address.port);
        assert_eq!([0, 49, 50, 51, 99, 100].map(owner), [1, 1, 3, 1, 1, 2].map(Some));
    }
}
