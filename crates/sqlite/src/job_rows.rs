//! Reads and writes the records of jobs.

use std::collections::VecDeque;
use std::sync::Arc;

use rusqlite::{Connection, Params, Row, params};
use tenure_store::ledger::{JobRecord, MAX_RUNS, RunRecord};
use tenure_store::ledger::{RunEnd, RunOutcome, RunReport, Tick};
use tenure_store::{ElectionKey, JobName};

use super::error::SqliteStoreError;
use super::value::{
    from_duration, from_nonce, from_u64, nonsense, to_candidate, to_duration, to_nonce, to_term, to_u64,
};

/// A job, the number of its row, and the requested runs.
pub(super) struct JobRow {
    row: i64,
    pub(super) job: JobName,
    pub(super) record: JobRecord,
}

/// Reads jobs of an election.
macro_rules! select_jobs {
    ($which:literal) => {
        concat!(
            "SELECT id, name, schedule, mark, fired, missed, skipped, paused_at_unix_ms, requested FROM job
             WHERE namespace = ?1 AND election = ?2 ",
            $which
        )
    };
}

/// Reads runs of a job.
macro_rules! select_runs {
    ($which:literal) => {
        concat!(
            "SELECT tick, nonce, term, candidate, began_at_unix_ms, ended_at_unix_ms, took, outcome, why, retries FROM run
             WHERE job = ?1 ",
            $which
        )
    };
}

/// All jobs of an election, without runs.
pub(super) fn all(connection: &Connection, key: &ElectionKey) -> Result<Vec<JobRow>, SqliteStoreError> {
    let mut statement = connection.prepare_cached(select_jobs!(""))?;
    statement.query_and_then([key.namespace.as_str(), key.name.as_str()], known_in)?.collect()
}

/// One job, without runs.
pub(super) fn find(
    connection: &Connection,
    key: &ElectionKey,
    job: &JobName,
) -> Result<Option<JobRow>, SqliteStoreError> {
    let mut statement = connection.prepare_cached(select_jobs!("AND name = ?3"))?;
    statement.query_and_then([key.namespace.as_str(), key.name.as_str(), job.as_str()], known_in)?.next().transpose()
}

/// Creates the row of a new job.
pub(super) fn create(
    connection: &Connection,
    key: &ElectionKey,
    job: &JobName,
    record: &JobRecord,
) -> Result<(), SqliteStoreError> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO job (namespace, election, name, schedule, mark, fired, missed, skipped, paused_at_unix_ms, requested)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    insert.execute(params![
        key.namespace.as_str(),
        key.name.as_str(),
        job.as_str(),
        &*record.schedule,
        from_u64(record.mark.unix_s()),
        from_u64(record.fired),
        from_u64(record.missed),
        from_u64(record.skipped),
        record.paused_at_unix_ms.map(from_u64),
        record.requested.map(|requested| from_u64(requested.unix_s())),
    ])?;
    Ok(())
}

impl JobRow {
    /// Looks up the run of a tick.
    pub(super) fn with_run(mut self, connection: &Connection, tick: Tick) -> Result<Self, SqliteStoreError> {
        let at = params![self.row, from_u64(tick.unix_s())];
        self.record.runs = runs(connection, select_runs!("AND tick = ?2"), at)?;
        Ok(self)
    }

    /// Looks up the runs without a recorded end, and those that never began.
    pub(super) fn with_undone_runs(mut self, connection: &Connection) -> Result<Self, SqliteStoreError> {
        let (never_begun, _) = RunOutcome::NotBegun.to_words();
        let undone = params![self.row, never_begun];
        self.record.runs =
            runs(connection, select_runs!("AND (ended_at_unix_ms IS NULL OR outcome = ?2) ORDER BY tick"), undone)?;
        Ok(self)
    }

    /// Looks up the latest runs.
    pub(super) fn with_latest_runs(
        mut self,
        connection: &Connection,
        max_runs: usize,
    ) -> Result<Self, SqliteStoreError> {
        let limit = i64::try_from(max_runs).unwrap_or(i64::MAX);
        self.record.runs = runs(connection, select_runs!("ORDER BY tick DESC LIMIT ?2"), [self.row, limit])?;
        self.record.runs.make_contiguous().reverse();
        Ok(self)
    }

    /// Writes the differences in `after`. A run that was not looked up is left as it is.
    pub(super) fn save(&self, connection: &Connection, after: &JobRecord) -> Result<(), SqliteStoreError> {
        let before = &self.record;
        let counts = |record: &JobRecord| (record.fired, record.missed, record.skipped);
        let orders = |record: &JobRecord| (record.paused_at_unix_ms, record.requested);
        let about = |record: &JobRecord| (Arc::clone(&record.schedule), record.mark, counts(record), orders(record));
        if about(before) != about(after) {
            let mut update = connection.prepare_cached(
                "UPDATE job SET schedule = ?2, mark = ?3, fired = ?4, missed = ?5, skipped = ?6, paused_at_unix_ms = ?7,
                 requested = ?8 WHERE id = ?1",
            )?;
            update.execute(params![
                self.row,
                &*after.schedule,
                from_u64(after.mark.unix_s()),
                from_u64(after.fired),
                from_u64(after.missed),
                from_u64(after.skipped),
                after.paused_at_unix_ms.map(from_u64),
                after.requested.map(|requested| from_u64(requested.unix_s())),
            ])?;
        }
        let changed: Vec<&RunRecord> = after.runs.iter().filter(|run| !before.runs.contains(run)).collect();
        for run in &changed {
            self.save_run(connection, run)?;
        }
        if !changed.is_empty() {
            let kept = i64::try_from(MAX_RUNS).unwrap_or(i64::MAX);
            let mut trim = connection.prepare_cached(
                "DELETE FROM run
                 WHERE job = ?1 AND tick <= (SELECT tick FROM run WHERE job = ?1 ORDER BY tick DESC LIMIT 1 OFFSET ?2)",
            )?;
            trim.execute([self.row, kept])?;
        }
        Ok(())
    }

    pub(super) fn delete(&self, connection: &Connection) -> Result<(), SqliteStoreError> {
        connection.prepare_cached("DELETE FROM run WHERE job = ?1")?.execute([self.row])?;
        connection.prepare_cached("DELETE FROM job WHERE id = ?1")?.execute([self.row])?;
        Ok(())
    }

    fn save_run(&self, connection: &Connection, known: &RunRecord) -> Result<(), SqliteStoreError> {
        let RunReport { tick, term, candidate, began_at_unix_ms, end } = &known.run;
        let words = end.as_ref().map(|end| end.outcome.to_words());
        let mut put = connection.prepare_cached(
            "INSERT OR REPLACE INTO run
                 (job, tick, nonce, term, candidate, began_at_unix_ms, ended_at_unix_ms, took, outcome, why, retries)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?;
        put.execute(params![
            self.row,
            from_u64(tick.unix_s()),
            from_nonce(known.nonce),
            from_u64(term.get()),
            candidate.as_str(),
            from_u64(*began_at_unix_ms),
            end.as_ref().map(|end| from_u64(end.at_unix_ms)),
            end.as_ref().map(|end| from_duration(end.took)),
            words.map(|(word, _)| word),
            words.and_then(|(_, why)| why),
            end.as_ref().map_or(0, |end| end.retries),
        ])?;
        Ok(())
    }
}

fn runs(connection: &Connection, sql: &str, which: impl Params) -> Result<VecDeque<RunRecord>, SqliteStoreError> {
    connection.prepare_cached(sql)?.query_and_then(which, run_in)?.collect()
}

fn known_in(row: &Row<'_>) -> Result<JobRow, SqliteStoreError> {
    let record = JobRecord {
        schedule: row.get("schedule")?,
        mark: Tick::from_unix_s(to_u64(row.get("mark")?)?),
        fired: to_u64(row.get("fired")?)?,
        missed: to_u64(row.get("missed")?)?,
        skipped: to_u64(row.get("skipped")?)?,
        paused_at_unix_ms: row.get::<_, Option<i64>>("paused_at_unix_ms")?.map(to_u64).transpose()?,
        requested: row.get::<_, Option<i64>>("requested")?.map(to_u64).transpose()?.map(Tick::from_unix_s),
        runs: VecDeque::new(),
    };
    let job = JobName::new(row.get::<_, String>("name")?).map_err(|error| nonsense(&error.to_string()))?;
    Ok(JobRow { row: row.get("id")?, job, record })
}

fn run_in(row: &Row<'_>) -> Result<RunRecord, SqliteStoreError> {
    let run = RunReport {
        tick: Tick::from_unix_s(to_u64(row.get("tick")?)?),
        term: to_term(row.get("term")?)?,
        candidate: to_candidate(&row.get::<_, String>("candidate")?)?,
        began_at_unix_ms: to_u64(row.get("began_at_unix_ms")?)?,
        end: end_in(row)?,
    };
    Ok(RunRecord { nonce: to_nonce(&row.get::<_, Vec<u8>>("nonce")?)?, run })
}

fn end_in(row: &Row<'_>) -> Result<Option<RunEnd>, SqliteStoreError> {
    let Some(at_unix_ms) = row.get::<_, Option<i64>>("ended_at_unix_ms")? else { return Ok(None) };
    let outcome = RunOutcome::from_words(&row.get::<_, String>("outcome")?, row.get("why")?);
    Ok(Some(RunEnd {
        at_unix_ms: to_u64(at_unix_ms)?,
        took: to_duration(row.get("took")?)?,
        retries: u32::try_from(row.get::<_, i64>("retries")?).map_err(|_| nonsense("an invalid number of retries"))?,
        outcome: outcome.ok_or_else(|| nonsense("an invalid outcome of a run"))?,
    }))
}
