//! Accepts, sends and answers requests about leases.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream::BoxStream;
use redis::{Cmd, Value, cmd};
use tenure_store::clock::Clock;
use tenure_store::remote::server_clock::ServerClock;
use tenure_store::{
    Campaign, CampaignReply, CandidateId, ElectionKey, Forgetting, Held, Hint, Interest, Nonce, Observation,
    PubSubEvent, Renew, RenewReply, Replies, Resign, StoreError, StoreErrorKind, Transition, WriteOutcome,
};

use super::call::{Call, CallCommand};
use super::config::RedisConfig;
use super::deployment::{CallAnswer, Deployment, ELECTIONS_PER_CALL, ReplicaWait};
use super::error::RedisStoreError;
use super::index::{ElectionIndex, List};
use super::keys::{Keys, companions};
use super::lease_reply::{self, CallReplies, ForeignLease, ObservedElection, RedisCampaignOutcome};
use super::push::{RedisPushHub, RedisPushSource};
use super::reminders::Reminders;
use super::sentinel::{Opinion, WHILE_CAMPAIGNING, WHILE_LEADING};

use super::lease_verbs::{
    CampaignVerb, ForgetElectionVerb, ObserveVerb, RenewVerb, RequestHandoverVerb, ResignVerb, ScriptVerb, WakeVerb,
};

/// One open store.
pub(super) struct RedisInner {
    place: String,
    deployment: Arc<Deployment>,
    keys: Keys,
    changes: String,
    push: Arc<RedisPushHub>,
    wait: Option<ReplicaWait>,
    index: ElectionIndex,
    server_clock: ServerClock,
    /// The number of calls so far.
    calls: AtomicU64,
    /// Leaders that were elected before the server could wake them.
    unheard: Mutex<HashSet<Nonce>>,
    /// Set when the server granted a lease that must not be used: there may be a better server.
    is_doubtful: AtomicBool,
    /// The leases without an expiry that were already reported.
    endless: Reminders,
}

/// The answers to a batch.
pub(super) struct BatchReplies<T> {
    pub(super) replies: Vec<Result<VerbReply<T>, StoreError>>,
    /// Whether the accompanying command was done, too.
    is_beside_done: bool,
}

/// One answer, and the circumstances in which it was given.
pub(super) struct VerbReply<T> {
    pub(super) value: T,
    pub(super) replicas: Option<i64>,
    server: Arc<str>,
}

/// The interval at which the first in line checks whether a foreign leader has gone.
const MIN_LOOK_AGAIN: Duration = Duration::from_millis(100);
const MAX_LOOK_AGAIN: Duration = Duration::from_secs(2);

impl RedisInner {
    pub(super) fn new(config: &RedisConfig, clock: Clock) -> Result<Self, StoreError> {
        let (keys, deployment) = (config.keys()?, Arc::new(config.deployment()?));
        let process = format!("{:016x}", getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id())));
        let replicas = config.replicas_to_wait_for();
        Ok(Self {
            place: config.place(),
            changes: keys.changes_channel(),
            push: Arc::new(RedisPushHub::new(RedisPushSource::new(
                Arc::clone(&deployment),
                keys.clone(),
                config.place(),
                &process,
            ))),
            deployment,
            keys,
            wait: (replicas > 0).then_some(ReplicaWait { replicas }),
            index: ElectionIndex::default(),
            server_clock: ServerClock::new(clock),
            calls: AtomicU64::new(0),
            unheard: Mutex::default(),
            is_doubtful: AtomicBool::new(false),
            endless: Reminders::default(),
        })
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(super) fn wait(&self) -> Option<ReplicaWait> {
        self.wait
    }

    /// The channel that wakes this process; empty while nothing listens to it.
    pub(super) fn wake_channel(&self) -> &str {
        self.push.source().wake_channel(self.push.is_heard())
    }

    pub(super) fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
        self.push.watch(interest)
    }

    pub(super) fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent> {
        self.push.listen_to(key)
    }

    pub(super) async fn campaign(&self, batch: &[Campaign]) -> Replies<CampaignReply> {
        if self.is_doubtful.swap(false, Ordering::Relaxed) {
            self.deployment.reconnect();
        }
        let wake = self.wake_channel();
        let missing = self.index.missing(batch.iter().map(|request| &request.key));
        let verb = CampaignVerb { changes: &self.changes, wake };
        let told = self.ask(&verb, batch, List::Elections.entries(&self.keys, missing.iter()), self.wait).await;
        if told.is_beside_done {
            self.index.add(missing.iter().cloned());
        }
        self.list_again(batch, &told, &missing).await;
        let replies = self.confirm(batch, told.replies).await;
        if wake.is_empty() && replies.iter().any(Result::is_ok) {
            let is_granted =
                |reply: &Result<CampaignReply, StoreError>| matches!(reply, Ok(CampaignReply::Granted { .. }));
            let granted = batch.iter().zip(&replies).filter(|(_, reply)| is_granted(reply));
            self.unheard().extend(granted.map(|(request, _)| request.nonce));
            self.push.stood_by_unheard();
        }
        replies
    }

    pub(super) async fn renew(&self, batch: &[Renew]) -> Replies<RenewReply> {
        let told = self.ask(&RenewVerb, batch, Vec::new(), None).await;
        self.tell_where_to_wake(batch).await;
        // A primary that was replaced and has come back does not know it at first. What it renews is worth nothing.
        let opinion = self.opinion_of(told.replies.iter().flatten().next(), WHILE_LEADING).await;
        let reply = |reply: VerbReply<RenewReply>| match opinion {
            Opinion::Confirmed | Opinion::Unclear => Ok(reply.value),
            Opinion::Elsewhere => Err(self.tell(RedisStoreError::NoPrimary(replaced(&reply.server)))),
        };
        told.replies.into_iter().map(|told| told.and_then(reply)).collect()
    }

    /// Leaders that were elected before the server could wake them are woken from their next renewal on: by requests to hand
    /// over and by messages. That it comes soon is seen to by the hint that they get when somebody hears the server.
    async fn tell_where_to_wake(&self, batch: &[Renew]) {
        let wake = self.wake_channel();
        if wake.is_empty() || self.unheard().is_empty() {
            return;
        }
        let mut leaders: Vec<Renew> = Vec::new();
        {
            let mut unheard = self.unheard();
            leaders.extend(batch.iter().filter(|request| unheard.remove(&request.nonce)).cloned());
        }
        let told = self.ask(&WakeVerb { wake }, &leaders, Vec::new(), None).await;
        // What failed is tried again with the next renewal.
        let failed = leaders.iter().zip(&told.replies).filter(|(_, reply)| reply.is_err());
        self.unheard().extend(failed.map(|(leader, _)| leader.nonce));
    }

    /// A panic elsewhere cannot leave it half changed.
    fn unheard(&self) -> MutexGuard<'_, HashSet<Nonce>> {
        self.unheard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn resign(&self, batch: &[Resign]) -> Replies<()> {
        for request in batch {
            self.unheard().remove(&request.nonce);
        }
        let sees_subscribers = self.deployment.sees_subscribers();
        let verb = ResignVerb { changes: &self.changes, sees_subscribers };
        self.ask(&verb, batch, Vec::new(), None).await.into_values()
    }

    pub(super) async fn observe(&self, batch: &[ElectionKey]) -> Replies<Observation> {
        let seen = self.ask(&ObserveVerb, batch, Vec::new(), None).await.into_values();
        let tell = |(key, seen): (&ElectionKey, Result<ObservedElection, StoreError>)| {
            let seen = seen?;
            if seen.is_endless && self.endless.is_due(key) {
                let holder = seen.observation.lease.as_ref().map(|lease| lease.leader.candidate.to_string());
                let key = self.keys.lease(key)?;
                log!(
                    warn,
                    "{}",
                    RedisStoreError::Endless { key, holder: holder.unwrap_or_default() }.about(&self.place)
                );
            }
            Ok(seen.observation)
        };
        batch.iter().zip(seen).map(tell).collect()
    }

    /// The keys among the leases of these elections that are foreign and have no expiry.
    pub(super) async fn endless(&self, batch: &[ElectionKey]) -> Vec<String> {
        let seen = self.ask(&ObserveVerb, batch, Vec::new(), None).await.into_values();
        let is_endless = |seen: &Result<ObservedElection, StoreError>| seen.as_ref().is_ok_and(|seen| seen.is_endless);
        let endless = batch.iter().zip(seen).filter(|(_, seen)| is_endless(seen));
        endless.filter_map(|(key, _)| self.keys.lease(key).ok()).collect()
    }

    pub(super) async fn request_handover(
        &self,
        key: &ElectionKey,
        successor: Option<&CandidateId>,
    ) -> Result<bool, StoreError> {
        let told = self.ask(&RequestHandoverVerb { successor }, std::slice::from_ref(key), Vec::new(), None).await;
        told.into_values().pop().unwrap_or(Ok(false))
    }

    /// Off the list first: one that is listed although it is gone would be shown for ever, and one that is not is listed
    /// again by its next leader.
    pub(super) async fn forget(&self, key: &ElectionKey, idle_for: Duration) -> Result<Forgetting, StoreError> {
        let forgotten = self.ask_one(&ForgetElectionVerb { idle_for }, key).await?;
        if forgotten != Forgetting::Forgotten {
            return Ok(forgotten);
        }
        self.index.remove(key);
        for list in [List::Mailboxes, List::Elections] {
            let removed = self.deployment.run(&[list.removal(&self.keys, key)], None).await.pop().transpose();
            if let Some(Value::ServerError(error)) =
                removed.map_err(|fault| self.tell(fault))?.map(|answer| answer.value)
            {
                return Err(self.tell(RedisStoreError::server(&error)));
            }
        }
        self.list_mailbox_again(key).await?;
        Ok(forgotten)
    }

    pub(super) async fn history(&self, key: &ElectionKey, limit: usize) -> Result<Vec<Transition>, StoreError> {
        let lease = self.keys.lease(key)?;
        let Some(history) = companions(&lease, &["history"]).next().filter(|_| limit > 0) else {
            return Ok(Vec::new());
        };
        let mut command = cmd("LRANGE");
        command.arg(&history).arg(0).arg(limit - 1);
        let lines = self.texts(history, command).await.map_err(|fault| self.tell(fault.in_record_of(key)))?;
        Ok(lines.iter().filter_map(|line| lease_reply::transition(line)).collect())
    }

    /// Lists an election again that has no past although it was listed: everything was flushed, including the list.
    async fn list_again(
        &self,
        batch: &[Campaign],
        told: &BatchReplies<RedisCampaignOutcome>,
        just_listed: &[ElectionKey],
    ) {
        let is_new = |reply: &Result<VerbReply<RedisCampaignOutcome>, StoreError>| {
            matches!(reply, Ok(VerbReply { value: RedisCampaignOutcome::Granted { is_first: true, .. }, .. }))
        };
        let new = batch.iter().zip(&told.replies).filter(|(_, reply)| is_new(reply)).map(|(request, _)| &request.key);
        // Ten thousand elections may begin at once.
        let just_listed: HashSet<&ElectionKey> = just_listed.iter().collect();
        let lost: Vec<ElectionKey> = new.filter(|key| !just_listed.contains(key)).cloned().collect();
        if !lost.is_empty() {
            self.deployment.run(&List::Elections.entries(&self.keys, lost.iter()), None).await;
        }
    }

    /// Rejects grants that must not be used.
    async fn confirm(
        &self,
        batch: &[Campaign],
        replies: Vec<Result<VerbReply<RedisCampaignOutcome>, StoreError>>,
    ) -> Replies<CampaignReply> {
        let is_grant =
            |reply: &&VerbReply<RedisCampaignOutcome>| matches!(reply.value, RedisCampaignOutcome::Granted { .. });
        let opinion = self.opinion_of(replies.iter().flatten().find(is_grant), WHILE_CAMPAIGNING).await;
        let judge = |request: &Campaign, reply: VerbReply<RedisCampaignOutcome>| {
            let (term, ran_out) = match reply.value {
                RedisCampaignOutcome::Held(held, foreign_lease) => return self.follow(request, held, foreign_lease),
                RedisCampaignOutcome::Granted { term, ran_out, .. } => (term, ran_out),
            };
            if let Some(remaining) = self.server_clock.holds_back(&request.key, ran_out) {
                // It is kept, and found again by its nonce when it may be used.
                return Ok(CampaignReply::Held(Held { leader: None, remaining, rank: 0 }));
            }
            match self.objection(&reply, opinion, "lease") {
                Some(why) => {
                    self.is_doubtful.store(true, Ordering::Relaxed);
                    Err(self.tell(RedisStoreError::Unusable(why)))
                }
                None => Ok(CampaignReply::Granted { term }),
            }
        };
        batch.iter().zip(replies).map(|(request, reply)| reply.and_then(|reply| judge(request, reply))).collect()
    }

    /// The reply to a candidate about a lease held by another one.
    fn follow(&self, request: &Campaign, held: Held, foreign_lease: ForeignLease) -> Result<CampaignReply, StoreError> {
        let holder = || held.leader.as_ref().map(|leader| leader.candidate.to_string()).unwrap_or_default();
        let key = || self.keys.lease(&request.key).unwrap_or_default();
        match foreign_lease {
            ForeignLease::None if held.leader.is_none() || !self.push.is_unheard() => Ok(CampaignReply::Held(held)),
            ForeignLease::Mended => {
                let left = held.remaining.as_secs_f64();
                Err(self.tell(RedisStoreError::Mended { key: key(), holder: holder(), left }))
            }
            ForeignLease::Endless if self.endless.is_due(&request.key) => {
                Err(self.tell(RedisStoreError::Endless { key: key(), holder: holder() }))
            }
            // Whoever will not be told of its end has to look for it.
            ForeignLease::None | ForeignLease::Foreign | ForeignLease::Endless => {
                let remaining = held.remaining.min(look_again_after(request.ttl, held.rank));
                Ok(CampaignReply::Held(Held { remaining, ..held }))
            }
        }
    }

    /// The reason why the write must not be relied on, if any.
    pub(super) fn objection<T>(&self, reply: &VerbReply<T>, opinion: Opinion, what: &str) -> Option<String> {
        let wanted = self.wait.map_or(0, |wait| i64::from(wait.replicas));
        match (opinion, reply.replicas) {
            (Opinion::Elsewhere, _) => Some(replaced(&reply.server)),
            (Opinion::Unclear, _) => {
                Some(format!("too few sentinels confirm that {} is still the primary", reply.server))
            }
            (Opinion::Confirmed, Some(replicas)) if replicas < wanted => {
                Some(format!("only {replicas} of {wanted} replicas have confirmed the {what} in time"))
            }
            (Opinion::Confirmed, _) => None,
        }
    }

    pub(super) async fn opinion_of<T>(&self, reply: Option<&VerbReply<T>>, patience: Duration) -> Opinion {
        match reply {
            Some(reply) => self.deployment.opinion_of(&reply.server, patience).await,
            None => Opinion::Confirmed,
        }
    }

    /// Reads a list or a set of texts.
    pub(super) async fn texts(&self, key: String, command: Cmd) -> Result<Vec<String>, RedisStoreError> {
        let calls = [Call { route: key.clone(), order: CallCommand::Plain(command) }];
        let read = |answer: CallAnswer| match answer.value {
            Value::ServerError(error) => Err(RedisStoreError::server(&error).at_key(&key)),
            value => {
                let texts = redis::from_redis_value::<Vec<Vec<u8>>>(value);
                let texts = texts.map_err(|error| RedisStoreError::Nonsense(error.to_string()))?;
                Ok(texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect())
            }
        };
        let answer = self.deployment.run(&calls, None).await.pop();
        answer.map_or(Ok(Vec::new()), |answer| answer.and_then(read))
    }

    /// Sends a batch and returns the answers in order. `beside` goes along in the same round trip.
    pub(super) async fn ask<V: ScriptVerb>(
        &self,
        verb: &V,
        batch: &[V::Request],
        beside: Vec<Call>,
        wait: Option<ReplicaWait>,
    ) -> BatchReplies<V::Reply> {
        let mut replies: Vec<Option<Result<VerbReply<V::Reply>, StoreError>>> = batch.iter().map(|_| None).collect();
        let mut leases = Vec::with_capacity(batch.len());
        for (position, request) in batch.iter().enumerate() {
            match self.keys.lease(V::election(request)) {
                Ok(lease) => leases.push((position, lease)),
                Err(error) => replies[position] = Some(Err(error)),
            }
        }
        let groups = self.deployment.groups(leases);
        let first = self.calls.fetch_add(groups.len() as u64, Ordering::Relaxed);
        let numbered = || groups.iter().zip(first..);
        let mut calls: Vec<Call> = numbered().map(|(group, number)| call(verb, batch, group, number)).collect();
        calls.extend(beside);
        let sent = self.server_clock.now();
        let answers = if calls.is_empty() { Vec::new() } else { self.deployment.run(&calls, wait).await };
        let mut answers = answers.into_iter();
        for ((group, number), answer) in numbered().zip(&mut answers) {
            match answer.and_then(|answer| CallReplies::of(answer, number, group.len())) {
                Ok(CallReplies { answers, unix_ms, replicas, server }) => {
                    self.server_clock.read(self.deployment.clock_of(&server), unix_ms, sent);
                    for ((position, _), value) in group.iter().zip(answers) {
                        let election = V::election(&batch[*position]);
                        let reply = V::read(&value).map_err(|fault| fault.in_record_of(election));
                        let reply = reply.map(|value| VerbReply { value, replicas, server: Arc::clone(&server) });
                        replies[*position] = Some(reply.map_err(|fault| self.tell(fault)));
                    }
                }
                Err(fault) => {
                    let error = self.tell(fault);
                    group.iter().for_each(|(position, _)| replies[*position] = Some(Err(error.clone())));
                }
            }
        }
        let is_beside_done = answers.all(|answer| matches!(answer, Ok(CallAnswer { value: Value::Int(_), .. })));
        BatchReplies { replies: replies.into_iter().flatten().collect(), is_beside_done }
    }

    /// The same for requests of which none may overtake another of its election. They go in parts, one after the other, so
    /// that all of an election's requests in a part go in one call: calls that are under way together may change places
    /// when a server lacks the script or a slot moves. After a part that is in doubt nothing more is sent. `beside` goes
    /// along with the first part.
    pub(super) async fn ask_in_turn<V: ScriptVerb>(
        &self,
        verb: &V,
        batch: &[V::Request],
        mut beside: Vec<Call>,
    ) -> Vec<Result<VerbReply<V::Reply>, StoreError>> {
        let mut replies = Vec::with_capacity(batch.len());
        let mut parts = batch.chunks(ELECTIONS_PER_CALL);
        let is_in_doubt = |reply: &Result<VerbReply<V::Reply>, StoreError>| match reply {
            Ok(reply) => self.objection(reply, Opinion::Confirmed, "request").is_some(),
            Err(error) => error.write_outcome() != WriteOutcome::Refused,
        };
        for part in &mut parts {
            replies.extend(self.ask(verb, part, std::mem::take(&mut beside), self.wait).await.replies);
            if replies.iter().any(is_in_doubt) {
                break;
            }
        }
        let held_back = || {
            let message = "not sent, because earlier requests of the same batch could not be sent";
            Err(StoreError::not_sent(StoreErrorKind::Unavailable, format!("Redis at {}: {message}", self.place)))
        };
        replies.extend(parts.flatten().map(|_| held_back()));
        replies
    }

    pub(super) async fn ask_one<V: ScriptVerb>(&self, verb: &V, request: &V::Request) -> Result<V::Reply, StoreError> {
        let told = self.ask(verb, std::slice::from_ref(request), Vec::new(), None).await;
        told.into_values().pop().unwrap_or_else(|| Err(self.tell(RedisStoreError::Silent)))
    }

    /// Converts a fault to the public error. If another server may do better, looks for it.
    pub(super) fn tell(&self, fault: RedisStoreError) -> StoreError {
        if fault.wants_another_server() {
            self.deployment.reconnect();
        }
        fault.about(&self.place)
    }
}

impl<T> BatchReplies<T> {
    pub(super) fn into_values(self) -> Replies<T> {
        self.replies.into_iter().map(|reply| reply.map(|reply| reply.value)).collect()
    }
}

/// One script call for a group of elections, given by position and lease.
fn call<V: ScriptVerb>(verb: &V, batch: &[V::Request], group: &[(usize, String)], number: u64) -> Call {
    let mut command = V::script().by_name(group.len() * (1 + V::BESIDE.len()));
    for (_, lease) in group {
        command.arg(lease);
        for companion in companions(lease, V::BESIDE) {
            command.arg(companion);
        }
    }
    command.arg(number);
    verb.pack_head(&mut command);
    group.iter().for_each(|(position, _)| verb.pack(&batch[*position], &mut command));
    let route = group.first().map(|(_, lease)| lease.clone()).unwrap_or_default();
    Call { route, order: CallCommand::Script(V::script(), command) }
}

/// The first in line looks often enough to take over soon; the others look the less often the further back they are, so that
/// a long line is hardly felt, and its first ones may be gone.
fn look_again_after(ttl: Duration, rank: u32) -> Duration {
    (ttl / 15).clamp(MIN_LOOK_AGAIN, MAX_LOOK_AGAIN).saturating_mul(rank.saturating_add(1))
}

fn replaced(server: &str) -> String {
    format!("the sentinels have replaced the primary {server}")
}
