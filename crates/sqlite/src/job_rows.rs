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

/// All jobs of an election, without runs.
pub(super) fn all(connection: &Connection, key: &ElectionKey) -> Result<Vec<JobRow>, SqliteStoreError> {
    let mut statement = connection.prepare_cached(include_str!("sql/job_all.sql"))?;
    statement.query_and_then([key.namespace.as_str(), key.name.as_str()], known_in)?.collect()
}

/// One job, without runs.
pub(super) fn find(
    connection: &Connection,
    key: &ElectionKey,
    job: &JobName,
) -> Result<Option<JobRow>, SqliteStoreError> {
    let mut statement = connection.prepare_cached(include_str!("sql/job_find.sql"))?;
    statement.query_and_then([key.namespace.as_str(), key.name.as_str(), job.as_str()], known_in)?.next().transpose()
}

/// Creates the row of a new job.
pub(super) fn create(
    connection: &Connection,
    key: &ElectionKey,
    job: &JobName,
    record: &JobRecord,
) -> Result<(), SqliteStoreError> {
    connection.prepare_cached(include_str!("sql/job_create.sql"))?.execute(params![
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
        self.record.runs = runs(connection, include_str!("sql/run_at.sql"), at)?;
        Ok(self)
    }

    /// Looks up the runs without a recorded end, and those that never began.
    pub(super) fn with_undone_runs(mut self, connection: &Connection) -> Result<Self, SqliteStoreError> {
        let (never_begun, _) = RunOutcome::NotBegun.to_words();
        let undone = params![self.row, never_begun];
        self.record.runs = runs(connection, include_str!("sql/run_undone.sql"), undone)?;
        Ok(self)
    }

    /// Looks up the latest runs.
    pub(super) fn with_latest_runs(
        mut self,
        connection: &Connection,
        max_runs: usize,
    ) -> Result<Self, SqliteStoreError> {
        let limit = i64::try_from(max_runs).unwrap_or(i64::MAX);
        self.record.runs = runs(connection, include_str!("sql/run_latest.sql"), [self.row, limit])?;
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
            connection.prepare_cached(include_str!("sql/job_put.sql"))?.execute(params![
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
            connection.prepare_cached(include_str!("sql/run_trim.sql"))?.execute([self.row, kept])?;
        }
        Ok(())
    }

    pub(super) fn delete(&self, connection: &Connection) -> Result<(), SqliteStoreError> {
        connection.prepare_cached(include_str!("sql/run_delete.sql"))?.execute([self.row])?;
        connection.prepare_cached(include_str!("sql/job_delete.sql"))?.execute([self.row])?;
        Ok(())
    }

    fn save_run(&self, connection: &Connection, known: &RunRecord) -> Result<(), SqliteStoreError> {
        let RunReport { tick, term, candidate, began_at_unix_ms, end } = &known.run;
        let words = end.as_ref().map(|end| end.outcome.to_words());
        connection.prepare_cached(include_str!("sql/run_put.sql"))?.execute(params![
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

// Columns are numbered in the order of `job_*.sql` and `run_*.sql`.

fn known_in(row: &Row<'_>) -> Result<JobRow, SqliteStoreError> {
    let record = JobRecord {
        schedule: row.get(2)?,
        mark: Tick::from_unix_s(to_u64(row.get(3)?)?),
        fired: to_u64(row.get(4)?)?,
        missed: to_u64(row.get(5)?)?,
        skipped: to_u64(row.get(6)?)?,
        paused_at_unix_ms: row.get::<_, Option<i64>>(7)?.map(to_u64).transpose()?,
        requested: row.get::<_, Option<i64>>(8)?.map(to_u64).transpose()?.map(Tick::from_unix_s),
        runs: VecDeque::new(),
    };
    let job = JobName::new(row.get::<_, String>(1)?).map_err(|error| nonsense(&error.to_string()))?;
    Ok(JobRow { row: row.get(0)?, job, record })
}

fn run_in(row: &Row<'_>) -> Result<RunRecord, SqliteStoreError> {
    let run = RunReport {
        tick: Tick::from_unix_s(to_u64(row.get(0)?)?),
        term: to_term(row.get(2)?)?,
        candidate: to_candidate(&row.get::<_, String>(3)?)?,
        began_at_unix_ms: to_u64(row.get(4)?)?,
        end: end_in(row)?,
    };
    Ok(RunRecord { nonce: to_nonce(&row.get::<_, Vec<u8>>(1)?)?, run })
}

fn end_in(row: &Row<'_>) -> Result<Option<RunEnd>, SqliteStoreError> {
    let Some(at_unix_ms) = row.get::<_, Option<i64>>(5)? else { return Ok(None) };
    let outcome = RunOutcome::from_words(&row.get::<_, String>(7)?, row.get(8)?);
    Ok(Some(RunEnd {
        at_unix_ms: to_u64(at_unix_ms)?,
        took: to_duration(row.get(6)?)?,
        retries: u32::try_from(row.get::<_, i64>(9)?).map_err(|_| nonsense("an invalid number of retries"))?,
        outcome: outcome.ok_or_else(|| nonsense("an invalid outcome of a run"))?,
    }))
}
