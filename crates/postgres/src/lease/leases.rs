//! Accepts, sends and answers requests about leases.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::BoxStream;
use tenure_store::clock::Clock;
use tenure_store::record::TERMS_USED_UP;
use tenure_store::remote::server_clock::ServerClock;
use tenure_store::{
    Campaign, CampaignReply, CandidateId, ElectionKey, ElectionName, Forgetting, Held, Hint, Interest, Namespace,
    Observation, PubSubEvent, Renew, RenewReply, Replies, Resign, StoreError, Term, Transition,
};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::super::config::PostgresConfig;
use super::super::connect::{Parameters, ServerFacts};
use super::super::endpoint::Endpoint;
use super::super::error::PostgresStoreError;
use super::super::identifier::{Identifier, election_id};
use super::super::value::{Bits, micros};
use super::connector::{self, LeaseConnection, LeaseConnector};
use super::push::{LeasePushHub, LeasePushSource};
use super::reply::{self, LeaseCampaignOutcome};
use super::terms::Terms;

/// One open store.
pub(super) struct LeaseInner {
    endpoint: Endpoint,
    /// Warnings about unwise settings in the address.
    warnings: Vec<String>,
    schema: Identifier,
    node: Arc<LeaseConnection>,
    push: Arc<LeasePushHub>,
    server_clock: ServerClock,
    terms: Terms,
}

const CAMPAIGN: &str = "SELECT {call}, c.now_ms, r.* FROM {schema}.campaign($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS c, \
    pg_catalog.unnest(c.replies) AS r";
const RESIGN: &str = "SELECT {call}, {schema}.resign($1, $2, $3, $4, $5)";
const ANNOUNCE: &str = "SELECT {schema}.announce($1, $2)";

/// The number of elections per campaign statement: many at once would delay the renewals behind them.
const CAMPAIGNS_AT_ONCE: usize = 200;
/// The number of leases per renewal statement.
const RENEWALS_AT_ONCE: usize = 10_000;
/// The pause after finding a row locked by another transaction.
const BUSY_PAUSE: Duration = Duration::from_millis(100);

impl LeaseInner {
    pub(super) fn new(config: &PostgresConfig, clock: Clock) -> Self {
        let endpoint = config.endpoint();
        let schema = config.schema_identifier().clone();
        let node = Arc::new(LeaseConnection::new(LeaseConnector::new(endpoint.clone(), schema.clone())));
        let push =
            Arc::new(LeasePushHub::new(LeasePushSource::new(endpoint.clone(), Arc::clone(&node), schema.as_str())));
        Self {
            endpoint,
            warnings: config.warnings().to_vec(),
            schema,
            node,
            push,
            server_clock: ServerClock::new(clock),
            terms: Terms::default(),
        }
    }

    pub(super) fn place(&self) -> &str {
        self.endpoint.place()
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(super) fn schema_name(&self) -> &str {
        self.schema.as_str()
    }

    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(super) fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
        self.push.watch(interest)
    }

    pub(super) fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent> {
        self.push.listen_to(key)
    }

    pub(super) async fn campaign(&self, batch: &[Campaign]) -> Replies<CampaignReply> {
        let wake = self.push.source().wake_channel(self.push.is_heard());
        let chunks = batch.chunks(CAMPAIGNS_AT_ONCE).map(|chunk| self.campaign_chunk(chunk, wake));
        let replies: Vec<Result<LeaseCampaignOutcome, StoreError>> =
            join_all(chunks).await.into_iter().flatten().collect();
        let granted = |(request, reply): (&Campaign, &Result<LeaseCampaignOutcome, StoreError>)| match reply {
            Ok(LeaseCampaignOutcome::Granted { is_new: true, .. }) => Some(request.key.clone()),
            _ => None,
        };
        let granted: Vec<ElectionKey> = batch.iter().zip(&replies).filter_map(granted).collect();
        self.push.source().announce(&granted);
        if batch.iter().zip(&replies).any(|(request, reply)| self.is_regressed(request, reply)) {
            self.endpoint.regressed();
        }
        let judge = |(request, reply): (&Campaign, Result<LeaseCampaignOutcome, StoreError>)| {
            reply.and_then(|outcome| self.judge(request, outcome))
        };
        let replies: Replies<CampaignReply> = batch.iter().zip(replies).map(judge).collect();
        if wake.channel.is_empty() && replies.iter().any(Result::is_ok) {
            self.push.stood_by_unheard();
        }
        replies
    }

    pub(super) async fn renew(&self, batch: &[Renew]) -> Replies<RenewReply> {
        let chunks = batch.chunks(RENEWALS_AT_ONCE).map(|chunk| self.renew_chunk(chunk));
        join_all(chunks).await.into_iter().flatten().collect()
    }

    pub(super) async fn resign(&self, batch: &[Resign]) -> Replies<()> {
        let chunks = batch.chunks(CAMPAIGNS_AT_ONCE).map(|chunk| self.resign_chunk(chunk));
        join_all(chunks).await.into_iter().flatten().collect()
    }

    pub(super) async fn observe(&self, batch: &[ElectionKey]) -> Replies<Observation> {
        let ids: Vec<Bits> = batch.iter().map(id).collect();
        let sql = self.sql("SELECT {call}, * FROM {schema}.observe($1)");
        let rows = self.ask(&sql, &[(&ids, Type::UUID_ARRAY)]).await;
        let read = |rows: Vec<Row>| {
            let mut seen = vec![Ok(Observation::default()); batch.len()];
            for row in &rows {
                *reply::slot(row, &mut seen)? = reply::observation(row);
            }
            Ok(seen)
        };
        match rows.and_then(|rows| read(rows).map_err(|fault| self.tell(fault))) {
            Ok(seen) => batch.iter().zip(seen).map(|(key, seen)| self.of_election(key, seen)).collect(),
            Err(error) => spread(Err(error), batch.len()),
        }
    }

    pub(super) async fn elections(&self, namespace: &Namespace) -> Result<Vec<ElectionName>, StoreError> {
        let sql = self.sql("SELECT {call}, * FROM {schema}.elections($1)");
        let rows = self.ask(&sql, &[(&namespace.as_str(), Type::TEXT)]).await?;
        // Participants of another kind may have used names that nobody here can.
        Ok(rows.iter().filter_map(|row| ElectionName::new(row.try_get::<_, &str>("elections").ok()?).ok()).collect())
    }

    pub(super) async fn history(&self, key: &ElectionKey, limit: usize) -> Result<Vec<Transition>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = self.sql("SELECT {call}, * FROM {schema}.history($1, $2)");
        let rows = self.ask(&sql, &[(&id(key), Type::UUID), (&limit, Type::INT8)]).await?;
        rows.iter()
            .map(reply::transition)
            .collect::<Result<_, PostgresStoreError>>()
            .map_err(|fault| self.tell(fault.in_record_of(key, "transition")))
    }

    pub(super) async fn forget(&self, key: &ElectionKey, idle_for: Duration) -> Result<Forgetting, StoreError> {
        let sql = self.sql("SELECT {call}, {schema}.forget($1, $2)");
        let idle_us = if idle_for.is_zero() { 0 } else { micros(idle_for) };
        let rows = self.ask(&sql, &[(&id(key), Type::UUID), (&idle_us, Type::INT8)]).await?;
        let told = rows.first().and_then(|row| row.try_get::<_, &str>("forget").ok()).unwrap_or_default();
        self.of_election(key, reply::forgetting(told))
    }

    pub(super) async fn raise_terms(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
        above: Term,
    ) -> Result<u64, StoreError> {
        let sql = self.sql("SELECT {call}, {schema}.raise_terms($1, $2, $3, $4)");
        let id = only.map(|name| id(&ElectionKey { namespace: namespace.clone(), name: name.clone() }));
        let (namespace, name, above) = (namespace.as_str(), only.map(ElectionName::as_str), number(above.get()));
        let parameters: [(&(dyn ToSql + Sync), Type); 4] =
            [(&namespace, Type::TEXT), (&name, Type::TEXT), (&id, Type::UUID), (&above, Type::INT8)];
        let rows = self.ask(&sql, &parameters).await?;
        let raised = rows.first().and_then(|row| u64::try_from(row.try_get::<_, i64>("raise_terms").ok()?).ok());
        raised.ok_or_else(|| self.tell(PostgresStoreError::Nonsense("no number of raised terms".to_owned())))
    }

    pub(super) async fn request_handover(
        &self,
        key: &ElectionKey,
        successor: Option<&CandidateId>,
    ) -> Result<bool, StoreError> {
        let successor = successor.map(CandidateId::as_str);
        let sql = self.sql("SELECT {call}, * FROM {schema}.request_handover($1, $2)");
        let rows = self.ask(&sql, &[(&id(key), Type::UUID), (&successor, Type::TEXT)]).await?;
        let Some(row) = rows.first() else { return Ok(false) };
        let channel: Option<&str> = row.try_get("request_handover").unwrap_or_default();
        self.push.source().wake(channel.ok_or_else(|| self.tell(PostgresStoreError::Foreign))?, key);
        Ok(true)
    }

    /// Performs a write that changes nothing.
    pub(super) async fn touch(&self) -> Result<(), StoreError> {
        self.ask(&self.sql("SELECT {call}, {schema}.touch()"), &[]).await.map(drop)
    }

    /// One row, and the server's description of itself.
    pub(super) async fn survey(&self, sql: &str) -> Result<(Row, ServerFacts), StoreError> {
        let sql = self.sql(sql);
        let link = self.node.link().await.map_err(|fault| self.tell(fault))?;
        let row = self.ask(&sql, &[]).await?.pop();
        let row = row.ok_or_else(|| self.tell(PostgresStoreError::Nonsense("no facts about itself".to_owned())))?;
        Ok((row, link.connection().facts()))
    }

    /// Whether notifications do not arrive.
    pub(super) fn hears_nothing(&self) -> bool {
        self.push.source().is_in_vain()
    }

    async fn campaign_chunk(&self, batch: &[Campaign], wake: WakeChannel<'_>) -> Replies<LeaseCampaignOutcome> {
        let ids: Vec<Bits> = batch.iter().map(|request| id(&request.key)).collect();
        let namespaces: Vec<&str> = batch.iter().map(|request| request.key.namespace.as_str()).collect();
        let names: Vec<&str> = batch.iter().map(|request| request.key.name.as_str()).collect();
        let candidates: Vec<&str> = batch.iter().map(|request| request.candidate.as_str()).collect();
        let nonces: Vec<Bits> = batch.iter().map(|request| Bits(request.nonce.to_bits())).collect();
        let ttls: Vec<i64> = batch.iter().map(|request| micros(request.ttl)).collect();
        let priorities: Vec<i32> = batch.iter().map(|request| request.priority.level().into()).collect();
        // A map of texts can always be written as JSON.
        let json = |request: &Campaign| serde_json::to_string(&*request.metadata).unwrap_or_default();
        let metadata: Vec<String> = batch.iter().map(json).collect();
        let fresh: Vec<i64> = batch.iter().map(|request| micros(request.stand_by_for)).collect();
        let sql = self.sql(CAMPAIGN);
        let sent = self.server_clock.now();
        let rows = self
            .ask(
                &sql,
                &[
                    (&ids, Type::UUID_ARRAY),
                    (&namespaces, Type::TEXT_ARRAY),
                    (&names, Type::TEXT_ARRAY),
                    (&candidates, Type::TEXT_ARRAY),
                    (&nonces, Type::UUID_ARRAY),
                    (&ttls, Type::INT8_ARRAY),
                    (&priorities, Type::INT4_ARRAY),
                    (&metadata, Type::TEXT_ARRAY),
                    (&fresh, Type::INT8_ARRAY),
                    (&wake.channel, Type::TEXT),
                    (&wake.listener, Type::INT4),
                ],
            )
            .await;
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => return spread(Err(error), batch.len()),
        };
        if let Some(now_ms) = rows.first().and_then(|row| row.try_get::<_, i64>("now_ms").ok()) {
            self.server_clock.read(self.place(), u64::try_from(now_ms).unwrap_or_default(), sent);
        }
        let mut replies: Vec<Option<Result<LeaseCampaignOutcome, PostgresStoreError>>> = vec![None; batch.len()];
        for row in &rows {
            match reply::slot(row, &mut replies) {
                Ok(slot) => *slot = Some(reply::campaign(row)),
                Err(fault) => return spread(Err(self.tell(fault)), batch.len()),
            }
        }
        let missing = || self.tell(PostgresStoreError::Nonsense("fewer elections than it was asked for".to_owned()));
        let answer = |(request, reply): (&Campaign, Option<Result<LeaseCampaignOutcome, PostgresStoreError>>)| {
            reply.map_or_else(|| Err(missing()), |reply| self.of_election(&request.key, reply))
        };
        batch.iter().zip(replies).map(answer).collect()
    }

    async fn renew_chunk(&self, batch: &[Renew]) -> Replies<RenewReply> {
        let ids: Vec<Bits> = batch.iter().map(|request| id(&request.key)).collect();
        let nonces: Vec<Bits> = batch.iter().map(|request| Bits(request.nonce.to_bits())).collect();
        let terms: Vec<i64> = batch.iter().map(|request| number(request.term.get())).collect();
        let ttls: Vec<i64> = batch.iter().map(|request| micros(request.ttl)).collect();
        let sql = self.sql("SELECT {call}, * FROM {schema}.renew($1, $2, $3, $4, $5)");
        let sent = self.server_clock.now();
        let parameters: [(&(dyn ToSql + Sync), Type); 5] = [
            (&ids, Type::UUID_ARRAY),
            (&nonces, Type::UUID_ARRAY),
            (&terms, Type::INT8_ARRAY),
            (&ttls, Type::INT8_ARRAY),
            (&self.push.source().wake_channel(self.push.is_heard()).channel, Type::TEXT),
        ];
        let read = |rows: Vec<Row>| {
            let mut replies = vec![Ok(RenewReply::Renewed { handover: None }); batch.len()];
            let now_ms = reply::renewals(&rows, &mut replies)?;
            self.server_clock.read(self.place(), now_ms, sent);
            Ok(replies.into_iter().map(|reply| reply.map_err(|fault| self.tell(fault))).collect())
        };
        match self.ask(&sql, &parameters).await {
            Ok(rows) => read(rows).unwrap_or_else(|fault| spread(Err(self.tell(fault)), batch.len())),
            Err(error) => spread(Err(error), batch.len()),
        }
    }

    async fn resign_chunk(&self, batch: &[Resign]) -> Replies<()> {
        let ids: Vec<Bits> = batch.iter().map(|request| id(&request.key)).collect();
        let nonces: Vec<Bits> = batch.iter().map(|request| Bits(request.nonce.to_bits())).collect();
        let terms: Vec<Option<i64>> = batch.iter().map(|request| request.term.map(|term| number(term.get()))).collect();
        let successors: Vec<Option<&str>> =
            batch.iter().map(|request| request.successor.as_ref().map(CandidateId::as_str)).collect();
        let reasons: Vec<&str> = batch.iter().map(|request| request.reason.as_str()).collect();
        let resign = self.sql(RESIGN);
        let announce = self.sql(ANNOUNCE);
        let announcement: [(&(dyn ToSql + Sync), Type); 2] =
            [(&ids, Type::UUID_ARRAY), (&self.push.source().changes_channel(), Type::TEXT)];
        let parameters: [(&(dyn ToSql + Sync), Type); 5] = [
            (&ids, Type::UUID_ARRAY),
            (&nonces, Type::UUID_ARRAY),
            (&terms, Type::INT8_ARRAY),
            (&successors, Type::TEXT_ARRAY),
            (&reasons, Type::TEXT_ARRAY),
        ];
        match self.ask_and_mention(&resign, &parameters, &announce, &announcement).await {
            Ok(rows) => {
                let busy: Vec<i32> = rows.first().and_then(|row| row.try_get("resign").ok()).unwrap_or_default();
                let is_busy = |place: usize| busy.iter().any(|busy| usize::try_from(*busy) == Ok(place));
                let reply = |place| if is_busy(place) { Err(self.tell(PostgresStoreError::Busy)) } else { Ok(()) };
                (1..=batch.len()).map(reply).collect()
            }
            Err(error) => spread(Err(error), batch.len()),
        }
    }

    /// Whether the server has forgotten a term that it, or another server, has shown before.
    fn is_regressed(&self, request: &Campaign, reply: &Result<LeaseCampaignOutcome, StoreError>) -> bool {
        let term = match reply {
            Ok(LeaseCampaignOutcome::Granted { term, .. }) => Some(*term),
            Ok(LeaseCampaignOutcome::Held { held, .. }) => held.leader.as_ref().map(|leader| leader.term),
            Ok(LeaseCampaignOutcome::Busy | LeaseCampaignOutcome::Exhausted) | Err(_) => None,
        };
        term.is_some_and(|term| self.terms.falls(&request.key, term))
    }

    fn judge(&self, request: &Campaign, outcome: LeaseCampaignOutcome) -> Result<CampaignReply, StoreError> {
        Ok(match outcome {
            LeaseCampaignOutcome::Granted { term, ran_out, .. } => {
                match self.server_clock.holds_back(&request.key, ran_out) {
                    // It is kept, and found again by its nonce when it may be used.
                    Some(remaining) => CampaignReply::Held(Held { leader: None, remaining, rank: 0 }),
                    None => CampaignReply::Granted { term },
                }
            }
            LeaseCampaignOutcome::Held { held, is_foreign } => {
                // Whoever will not be told of a resignation has to look for it.
                let is_untold = is_foreign || self.push.source().is_in_vain();
                let look_again = if is_untold { look_again_after(request.ttl) } else { Duration::MAX };
                let remaining = held.remaining.min(look_again);
                CampaignReply::Held(Held { remaining, ..held })
            }
            LeaseCampaignOutcome::Busy => {
                log!(warn, election = %request.key,
                    "another transaction holds a lock on this election, so no candidate can be elected; look for it in pg_locks"
                );
                CampaignReply::Held(Held { leader: None, remaining: BUSY_PAUSE, rank: 0 })
            }
            LeaseCampaignOutcome::Exhausted => {
                let fault = PostgresStoreError::Damage(TERMS_USED_UP.to_owned());
                return Err(self.tell(fault.in_record_of(&request.key, "election")));
            }
        })
    }

    pub(super) async fn ask(&self, sql: &str, parameters: &Parameters<'_>) -> Result<Vec<Row>, StoreError> {
        connector::ask(&self.node, sql, parameters).await.map_err(|fault| self.tell(fault))
    }

    /// The same, followed by a second statement whose answer is not awaited.
    pub(super) async fn ask_and_mention(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        mention: &str,
        mentioned: &Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = connector::ask_and_mention(&self.node, sql, parameters, mention, mentioned).await;
        rows.map_err(|fault| self.tell(fault))
    }

    /// Inserts the name of the schema.
    pub(super) fn sql(&self, template: &str) -> String {
        template.replace("{schema}", &self.schema.to_string())
    }

    /// Attributes an error in a row to this election.
    fn of_election<T>(&self, key: &ElectionKey, told: Result<T, PostgresStoreError>) -> Result<T, StoreError> {
        told.map_err(|fault| self.tell(fault.in_record_of(key, "election")))
    }

    pub(super) fn tell(&self, fault: PostgresStoreError) -> StoreError {
        fault.advised(&self.schema).about(self.place())
    }
}

/// The way to wake a process.
#[derive(Debug, Clone, Copy)]
pub(super) struct WakeChannel<'a> {
    /// Empty if it cannot be woken.
    pub(super) channel: &'a str,
    /// The server process that listens.
    pub(super) listener: i32,
}

/// Often enough to take over soon, and rarely enough to be no burden.
fn look_again_after(ttl: Duration) -> Duration {
    (ttl / 10).clamp(Duration::from_millis(100), Duration::from_secs(3))
}

pub(super) fn id(key: &ElectionKey) -> Bits {
    Bits(election_id(key))
}

/// Terms fit into 53 bits.
pub(super) fn number(term: u64) -> i64 {
    i64::try_from(term).unwrap_or(i64::MAX)
}

pub(super) fn spread<T: Clone>(result: Result<Vec<T>, StoreError>, count: usize) -> Replies<T> {
    match result {
        Ok(values) => values.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error); count],
    }
}
