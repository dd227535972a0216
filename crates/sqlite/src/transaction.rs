//! One transaction at work: the rules of elections applied to rows.

use std::cell::RefCell;
use std::collections::HashMap;

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use tenure_store::{
    Campaign, CampaignReply, CandidateId, ElectionKey, Instant, Nonce, Observation, Renew, RenewReply, Resign, Term,
};

use super::error::SqliteStoreError;
use super::history;
use super::lease_clock::LeaseClock;
use super::peer_registry::{Liveness, PeerRegistry};
use super::post_commit::PostCommit;
use super::record::{self, ElectionRow};
use super::stand_by_rows::{self, Need};
use super::value::{from_duration, from_instant, from_nonce, from_u64, to_process};
use super::wake_listener::WakeFollower;
use tenure_store::record::{Effects, Moment, ProcessToken, Record, TERMS_USED_UP};

/// The outer error ends the transaction; the inner one is of this election only.
pub(super) type ElectionResult<T> = Result<Result<T, SqliteStoreError>, SqliteStoreError>;

pub(super) struct Transaction<'a> {
    connection: &'a Connection,
    registry: &'a PeerRegistry,
    own: ProcessToken,
    now: Instant,
    unix_ms: u64,
    lives: RefCell<HashMap<ProcessToken, Liveness>>,
    post_commit: PostCommit,
}

impl<'a> Transaction<'a> {
    /// The transaction must have begun already when the clock is read here: no step may go back in time.
    pub(super) fn new(
        connection: &'a Connection,
        registry: &'a PeerRegistry,
        own: ProcessToken,
        clock: &LeaseClock,
    ) -> Self {
        let (now, unix_ms) = (clock.now(), clock.unix_ms());
        Self { connection, registry, own, now, unix_ms, lives: RefCell::default(), post_commit: PostCommit::default() }
    }

    /// The actions to take after the commit.
    pub(super) fn close(mut self) -> Result<PostCommit, SqliteStoreError> {
        if self.post_commit.has_news() {
            let mut statement = self.connection.prepare_cached("SELECT process FROM watcher")?;
            let watchers = statement.query_and_then((), |row| to_process(&row.get::<_, Vec<u8>>(0)?))?;
            self.post_commit.watchers = watchers.collect::<Result<_, SqliteStoreError>>()?;
        }
        Ok(self.post_commit)
    }

    pub(super) fn connection(&self) -> &'a Connection {
        self.connection
    }

    /// The wall clock: for display, and for jobs.
    pub(super) fn unix_ms(&self) -> u64 {
        self.unix_ms
    }

    /// The time at which the transaction had begun, on the clock of leases.
    pub(super) fn now(&self) -> Instant {
        self.now
    }

    /// Notifies these listeners of a broadcast after the commit.
    pub(super) fn call_listeners(&mut self, key: &ElectionKey, listeners: Vec<ProcessToken>) {
        self.post_commit.broadcasts.extend(listeners.into_iter().map(|listener| (key.clone(), listener)));
    }

    /// Whether this nonce holds the lease under this term now.
    pub(super) fn is_held_by(&self, key: &ElectionKey, nonce: Nonce, term: Term) -> Result<bool, SqliteStoreError> {
        let found = record::find(self.connection, key)?;
        Ok(found.is_some_and(|found| self.at(|at| found.record.is_held_by(nonce, term, at))))
    }

    /// Notifies the leader after the commit that messages wait.
    pub(super) fn call_leader(&mut self, key: &ElectionKey) -> Result<(), SqliteStoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT leader.process FROM election
             JOIN lease ON lease.election = election.id
             JOIN leader ON leader.election = election.id
             WHERE election.namespace = ?1 AND election.name = ?2 AND lease.expires_at_ns > ?3",
        )?;
        let names_and_now = params![key.namespace.as_str(), key.name.as_str(), from_instant(self.now)];
        let leader = statement.query_row(names_and_now, |row| row.get::<_, Vec<u8>>(0)).optional();
        match leader.map_err(SqliteStoreError::from).and_then(|leader| leader.as_deref().map(to_process).transpose()) {
            Ok(leader) => self.post_commit.messages.extend(leader.map(|leader| (key.clone(), leader))),
            // Then nobody can be told, and the messages wait all the same.
            Err(fault) if fault.is_of_one_election() => {}
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    /// Whether a campaign would be granted a new term now.
    pub(super) fn is_free_for(&self, request: &Campaign) -> Result<bool, SqliteStoreError> {
        let found = self.find(&request.key, Need::Campaign(request))?.unwrap_or_default();
        Ok(found.is_none_or(|found| self.at(|at| found.record.is_free_for(request, at))))
    }

    /// `None` if it would be granted a new term but may not be: then nothing has been changed.
    pub(super) fn campaign(&mut self, request: &Campaign, may_grant: bool) -> ElectionResult<Option<CampaignReply>> {
        let found = match self.find(&request.key, Need::Campaign(request))? {
            Ok(found) => found,
            Err(fault) => return Ok(Err(fault)),
        };
        let is_free = |record: &Record| self.at(|at| record.is_free_for(request, at));
        if !may_grant && found.as_ref().is_none_or(|found| is_free(&found.record)) {
            return Ok(Ok(None));
        }
        let mut found = match found {
            Some(found) => found,
            None => record::create(self.connection, &request.key)?,
        };
        if may_grant {
            // Terms that were given by a file that was lost are not given again.
            found.record.last_term = found.record.last_term.max(self.registry.floor()?);
        }
        if found.record.is_used_up() && self.at(|at| found.record.is_free_for(request, at)) {
            let (election, what) = (request.key.clone(), TERMS_USED_UP.to_owned());
            return Ok(Err(SqliteStoreError::Damaged { election, what }));
        }
        let (mut reply, record) =
            self.step(&request.key, &found, |record, at, effects| record.campaign(request, at, effects))?;
        let candidate = request.nonce;
        if let CampaignReply::Held(held) = &mut reply {
            held.rank = held.rank.saturating_add(found.hidden);
            let watches = self.at(|at| record.watches(candidate, held.rank, at));
            let (key, fresh_until) = (request.key.clone(), self.now + request.stand_by_for);
            self.post_commit.follow.push(WakeFollower { candidate, key, watches, fresh_until });
        } else {
            self.post_commit.forget.push(candidate);
        }
        Ok(Ok(Some(reply)))
    }

    /// The statement of [`Transaction::renew_row`], found once for thousands of rows.
    pub(super) fn renewal(&self) -> Result<CachedStatement<'a>, SqliteStoreError> {
        // Anything out of the ordinary, a request to hand over included, matches no row and is decided by the full rules.
        Ok(self.connection.prepare_cached(
            "UPDATE lease SET expires_at_ns = ?5, ttl_ns = ?6
             WHERE election = ?1 AND nonce = ?2 AND term = ?3 AND expires_at_ns > ?4 AND handover = 0",
        )?)
    }

    /// Renews a known row in the ordinary case. False if it needs [`Transaction::renew`].
    pub(super) fn renew_row(
        &self,
        statement: &mut CachedStatement<'_>,
        row: i64,
        request: &Renew,
    ) -> Result<bool, SqliteStoreError> {
        let renewed = statement.execute(params![
            row,
            from_nonce(request.nonce),
            from_u64(request.term.get()),
            from_instant(self.now),
            from_instant(self.now + request.ttl),
            from_duration(request.ttl),
        ])?;
        Ok(renewed == 1)
    }

    /// Also returns the row, for the next renewal.
    pub(super) fn renew(&mut self, request: &Renew) -> ElectionResult<(RenewReply, Option<i64>)> {
        match self.find(&request.key, Need::Nobody)? {
            Ok(Some(found)) => {
                let (reply, _) = self.step(&request.key, &found, |record, at, _| record.renew(request, at))?;
                Ok(Ok((reply, Some(found.election))))
            }
            Ok(None) => Ok(Ok((RenewReply::NotHolder { current: None }, None))),
            Err(fault) => Ok(Err(fault)),
        }
    }

    pub(super) fn resign(&mut self, request: &Resign) -> ElectionResult<()> {
        self.post_commit.forget.push(request.nonce);
        match self.find(&request.key, Need::Resign(request.nonce, request.successor.as_ref()))? {
            Ok(Some(found)) => {
                self.step(&request.key, &found, |record, at, effects| record.resign(request, at, effects))?;
                Ok(Ok(()))
            }
            Ok(None) => Ok(Ok(())),
            Err(fault) => Ok(Err(fault)),
        }
    }

    pub(super) fn request_handover(
        &mut self,
        key: &ElectionKey,
        successor: Option<&CandidateId>,
    ) -> ElectionResult<bool> {
        match self.find(key, Need::Nobody)? {
            Ok(Some(found)) => {
                let ask = |record: &mut Record, at: &Moment<'_>, effects: &mut Effects| {
                    record.request_handover(successor, at, effects)
                };
                Ok(Ok(self.step(key, &found, ask)?.0))
            }
            Ok(None) => Ok(Ok(false)),
            Err(fault) => Ok(Err(fault)),
        }
    }

    pub(super) fn observe(&self, key: &ElectionKey) -> ElectionResult<Observation> {
        let found = self.find(key, Need::Everybody)?;
        Ok(found.map(|found| found.map(|found| self.at(|at| found.record.observe(at))).unwrap_or_default()))
    }

    /// A record that makes no sense is an error of one election. None of it has been written by then.
    pub(super) fn find(&self, key: &ElectionKey, need: Need<'_>) -> ElectionResult<Option<ElectionRow>> {
        let load = |mut found: ElectionRow| {
            let loaded = self.at(|at| stand_by_rows::load(self.connection, &mut found, need, at));
            loaded.map_err(|fault| fault.in_record_of(key, "the table stand_by"))?;
            Ok(found)
        };
        let found = record::find(self.connection, key).and_then(|found| found.map(load).transpose());
        match found {
            Err(fault) if !fault.is_of_one_election() => Err(fault),
            answer => Ok(answer),
        }
    }

    /// One atomic step on one election.
    pub(super) fn step<T>(
        &mut self,
        key: &ElectionKey,
        found: &ElectionRow,
        act: impl FnOnce(&mut Record, &Moment<'_>, &mut Effects) -> T,
    ) -> Result<(T, Record), SqliteStoreError> {
        let (mut record, mut effects) = (found.record.clone(), Effects::default());
        let reply = self.at(|at| act(&mut record, at, &mut effects));
        record::save(self.connection, found, &record)?;
        history::add(self.connection, found.election, &effects.transitions)?;
        self.post_commit.add(key, &effects);
        Ok((reply, record))
    }

    fn at<T>(&self, act: impl FnOnce(&Moment<'_>) -> T) -> T {
        // Asked once per process and transaction: thousands of elections may have the same leader.
        let is_gone = |process: ProcessToken| {
            *self.lives.borrow_mut().entry(process).or_insert_with(|| self.registry.look(process)) == Liveness::Gone
        };
        act(&Moment { now: self.now, unix_ms: self.unix_ms, process: self.own, is_gone: &is_gone })
    }
}
