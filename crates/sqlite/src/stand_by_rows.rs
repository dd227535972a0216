//! The rows of candidates that stand by. Each step reads only the rows it needs, however long the line is.

use rusqlite::{Connection, Params, Row, params};
use tenure_store::{Campaign, CandidateId, Instant, Nonce, Priority};

use super::error::SqliteStoreError;
use super::record::ElectionRow;
use super::value::{from_instant, from_nonce, to_candidate, to_instant, to_nonce, to_priority, to_process, to_u64};
use tenure_store::record::{MAX_RANK, Moment, StandByRecord, WATCHED_BEFORE, WOKEN_BY_RESIGNATION};

/// Reads stand-bys of an election.
macro_rules! select_stand_bys {
    ($which:literal) => {
        concat!(
            "SELECT nonce, candidate, priority, since_ns, since_unix_ms, fresh_until_ns, process FROM stand_by
             WHERE election = ?1 ",
            $which
        )
    };
}

const EVERYBODY: &str = select_stand_bys!("ORDER BY priority DESC, since_ns, nonce");
const ONE: &str = select_stand_bys!("AND nonce = ?2");
const BEFORE: &str =
    select_stand_bys!("AND priority = ?2 AND (since_ns, nonce) < (?3, ?4) ORDER BY since_ns DESC, nonce DESC");
const COUNT: &str = include_str!("sql/stand_by_count.sql");

/// The stand-bys that a step concerns.
#[derive(Debug, Clone, Copy)]
pub(super) enum Need<'a> {
    Nobody,
    Everybody,
    /// The candidate that campaigns, and those around it.
    Campaign(&'a Campaign),
    /// The candidate that leaves, and those that may come next.
    Resign(Nonce, Option<&'a CandidateId>),
}

/// The line of one election at one moment.
struct StandByRows<'a> {
    connection: &'a Connection,
    election: i64,
    at: &'a Moment<'a>,
    loaded: Vec<StandByRecord>,
}

/// A place in line: the highest priority first, then the longest wait.
#[derive(Debug, Clone, Copy)]
struct LinePosition {
    priority: Priority,
    since: Instant,
    nonce: Nonce,
}

/// Loads the stand-bys that a step concerns.
pub(super) fn load(
    connection: &Connection,
    found: &mut ElectionRow,
    need: Need<'_>,
    at: &Moment<'_>,
) -> Result<(), SqliteStoreError> {
    let mut line = StandByRows { connection, election: found.election, at, loaded: Vec::new() };
    let is_running = found.record.lease.as_ref().is_some_and(|lease| !lease.is_over(at));
    let successor = found.record.reservation.as_ref().and_then(|reservation| reservation.nonce);
    match need {
        Need::Nobody => {}
        Need::Everybody => line.add(EVERYBODY, params![found.election], |_| false)?,
        Need::Campaign(request) => {
            line.add_one(request.nonce)?;
            let place = line.place_of(request);
            line.add_before(place)?;
            if !is_running {
                line.add_front()?;
                successor.map_or(Ok(()), |nonce| line.add_one(nonce))?;
            }
            found.hidden = line.hidden_before(place)?;
        }
        Need::Resign(nonce, named) => {
            line.add_one(nonce)?;
            if found.record.lease.as_ref().is_some_and(|lease| lease.nonce == nonce) || successor == Some(nonce) {
                line.add_front()?;
                named.map_or(Ok(()), |named| line.add_named(named))?;
            }
        }
    }
    found.record.standing_by = line.loaded;
    Ok(())
}

impl StandByRows<'_> {
    fn add_one(&mut self, nonce: Nonce) -> Result<(), SqliteStoreError> {
        self.add(ONE, (self.election, from_nonce(nonce)), |_| false)
    }

    fn add_named(&mut self, named: &CandidateId) -> Result<(), SqliteStoreError> {
        self.add(select_stand_bys!("AND candidate = ?2"), (self.election, named.as_str()), |_| false)
    }

    /// Loads as many as a resignation wakes, and one that may leave.
    fn add_front(&mut self) -> Result<(), SqliteStoreError> {
        let mut alive = 0;
        let at = self.at;
        self.add(EVERYBODY, (self.election,), |stand_by| {
            alive += usize::from(is_there(stand_by, at));
            alive > WOKEN_BY_RESIGNATION
        })
    }

    /// Loads the ones directly before a place, as many as are watched from there.
    fn add_before(&mut self, place: LinePosition) -> Result<(), SqliteStoreError> {
        let mut alive = 0;
        let at = self.at;
        for level in place.priority.level()..=Priority::MAX.level() {
            let (since, nonce) = place.bound(level);
            let place = (self.election, level, since, nonce);
            self.add(BEFORE, place, |stand_by| {
                alive += usize::from(is_there(stand_by, at));
                alive >= WATCHED_BEFORE
            })?;
            if alive >= WATCHED_BEFORE {
                break;
            }
        }
        Ok(())
    }

    /// The number of stand-bys before a place that were not loaded.
    fn hidden_before(&self, place: LinePosition) -> Result<u32, SqliteStoreError> {
        let (since, nonce) = place.bound(place.priority.level());
        let mut statement = self.connection.prepare_cached(COUNT)?;
        let (level, now) = (place.priority.level(), from_instant(self.at.now));
        let count: u32 =
            statement.query_row(params![self.election, level, since, nonce, now, MAX_RANK], |row| row.get(0))?;
        let is_before = |other: &&StandByRecord| {
            let order = |priority, since, nonce| (std::cmp::Reverse(priority), since, nonce);
            self.at.now < other.fresh_until
                && order(other.priority, other.since, other.nonce) < order(place.priority, place.since, place.nonce)
        };
        let loaded = self.loaded.iter().filter(is_before).count();
        Ok(count.saturating_sub(u32::try_from(loaded).unwrap_or(u32::MAX)))
    }

    /// The place of a candidate, present or future.
    fn place_of(&self, request: &Campaign) -> LinePosition {
        let own = self.loaded.iter().find(|own| own.nonce == request.nonce && self.at.now < own.fresh_until);
        let (priority, since) = own.map_or((request.priority, self.at.now), |own| (own.priority, own.since));
        LinePosition { priority, since, nonce: request.nonce }
    }

    /// Reads rows until there are enough.
    fn add(
        &mut self,
        sql: &str,
        params: impl Params,
        mut is_enough: impl FnMut(&StandByRecord) -> bool,
    ) -> Result<(), SqliteStoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            let stand_by = stand_by_in(row)?;
            let enough = is_enough(&stand_by);
            if !self.loaded.iter().any(|known| known.nonce == stand_by.nonce) {
                self.loaded.push(stand_by);
            }
            if enough {
                break;
            }
        }
        Ok(())
    }
}

impl LinePosition {
    /// The bound of the places before it at this priority.
    fn bound(self, level: u8) -> (i64, [u8; 16]) {
        if level == self.priority.level() {
            (from_instant(self.since), from_nonce(self.nonce))
        } else {
            (i64::MAX, [u8::MAX; 16])
        }
    }
}

fn is_there(stand_by: &StandByRecord, at: &Moment<'_>) -> bool {
    at.now < stand_by.fresh_until && !(at.is_gone)(stand_by.process)
}

fn stand_by_in(row: &Row<'_>) -> Result<StandByRecord, SqliteStoreError> {
    Ok(StandByRecord {
        nonce: to_nonce(&row.get::<_, Vec<u8>>("nonce")?)?,
        candidate: to_candidate(&row.get::<_, String>("candidate")?)?,
        priority: to_priority(row.get("priority")?)?,
        since: to_instant(row.get("since_ns")?)?,
        since_unix_ms: to_u64(row.get("since_unix_ms")?)?,
        fresh_until: to_instant(row.get("fresh_until_ns")?)?,
        process: to_process(&row.get::<_, Vec<u8>>("process")?)?,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rusqlite::StatementStatus;
    use tenure_store::record::{LeaseRecord, ProcessToken, Record, Reservation};
    use tenure_store::{ElectionKey, ElectionName, Leader, Metadata, Namespace, Term};

    use super::*;
    use crate::{record, schema};

    /// The cost of a step of the last in line, and of the leader, beside this many others: rows, and steps of SQLite.
    fn costs(waiting: u64) -> [(usize, i32); 2] {
        let directory = tempfile::tempdir().unwrap();
        let connection = Connection::open(directory.path().join("line.db")).unwrap();
        schema::prepare(&connection).unwrap();
        let key = ElectionKey { namespace: Namespace::default(), name: ElectionName::new("e").unwrap() };
        let mut found = record::create(&connection, &key).unwrap();
        let nonce = Nonce::from_bits;
        let stand_by = |number: u64| StandByRecord {
            nonce: nonce(number.into()),
            candidate: CandidateId::new("c").unwrap(),
            priority: Priority::MAX,
            since: Instant::from_nanos(number),
            since_unix_ms: 0,
            fresh_until: Instant::FAR_FUTURE,
            process: ProcessToken(number.into()),
        };
        let leader = Leader {
            candidate: CandidateId::new("l").unwrap(),
            term: Term::new(1).unwrap(),
            since_unix_ms: None,
            metadata: Metadata::default(),
        };
        let lease = LeaseRecord {
            leader,
            nonce: nonce(0),
            ttl: Duration::from_secs(30),
            expires_at: Instant::FAR_FUTURE,
            process: ProcessToken(0),
            handover: None,
        };
        let reservation = None::<Reservation>;
        let after = Record {
            lease: Some(lease),
            reservation,
            standing_by: (1..=waiting).map(stand_by).collect(),
            last_term: None,
            terms_above: None,
        };
        let transaction = connection.unchecked_transaction().unwrap();
        record::save(&transaction, &found, &after).unwrap();
        transaction.commit().unwrap();
        found.record = Record { standing_by: Vec::new(), ..after };
        let last = stand_by(waiting);
        let campaign = Campaign {
            key,
            candidate: last.candidate,
            nonce: last.nonce,
            ttl: Duration::from_secs(30),
            priority: last.priority,
            metadata: Metadata::default(),
            stand_by_for: Duration::from_secs(45),
        };
        let now = Instant::from_nanos(waiting + 1);
        let at = Moment { now, unix_ms: 0, process: last.process, is_gone: &|_| false };
        [Need::Campaign(&campaign), Need::Resign(nonce(0), None)].map(|need| {
            load(&connection, &mut found, need, &at).unwrap();
            let steps = [EVERYBODY, BEFORE, COUNT, ONE].map(|sql| {
                let statement = connection.prepare_cached(sql).unwrap();
                statement.reset_status(StatementStatus::VmStep)
            });
            (found.record.standing_by.len(), steps.iter().sum())
        })
    }

    #[test]
    fn a_step_reads_as_much_beside_thousands_as_beside_a_hundred() {
        let [few, many] = [costs(100), costs(3_000)];
        assert_eq!(few.map(|(rows, _)| rows), [1 + WATCHED_BEFORE, WOKEN_BY_RESIGNATION + 1]);
        assert_eq!(few, many);
    }
}
