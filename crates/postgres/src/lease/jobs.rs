//! The ledger: jobs and their ticks, in tables.

use std::sync::Arc;
use std::time::Duration;

use tenure_store::ledger::{
    Act, Claim, Claimed, Finish, JobLedger, JobOrder, JobReport, MAX_EARLY, MAX_JOBS, MAX_RUNS, OpenJobs, Opened,
    OpenedJob, RunEnd, RunOutcome, RunReport, Tick,
};
use tenure_store::{ElectionKey, JobName, Replies, StoreError, async_trait};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::super::error::PostgresStoreError;
use super::super::value::Bits;
use super::PostgresStore;
use super::leases::{LeaseInner, id, number, spread};
use super::mailbox::{limit, printable};
use super::reply::{candidate, get, natural, slot, term};

#[async_trait]
impl JobLedger for PostgresStore {
    async fn open(&self, request: &OpenJobs) -> Result<Opened, StoreError> {
        self.inner.open_jobs(request).await
    }

    async fn claim(&self, batch: &[Claim]) -> Replies<Claimed> {
        self.inner.claim(batch).await
    }

    async fn finish(&self, batch: &[Finish]) -> Replies<bool> {
        spread(self.inner.finish(batch).await, batch.len())
    }

    async fn jobs(&self, key: &ElectionKey, max_runs: usize) -> Result<Vec<JobReport>, StoreError> {
        self.inner.jobs(key, max_runs).await
    }

    async fn steer(&self, key: &ElectionKey, job: &JobName, order: JobOrder) -> Result<bool, StoreError> {
        self.inner.steer_job(key, job, order).await
    }

    async fn forget(&self, key: &ElectionKey, job: &JobName) -> Result<bool, StoreError> {
        self.inner.forget_job(key, job).await
    }
}

impl LeaseInner {
    async fn open_jobs(&self, request: &OpenJobs) -> Result<Opened, StoreError> {
        let names: Vec<&str> = request.jobs.iter().map(|open| open.job.as_str()).collect();
        let schedules: Vec<String> = request.jobs.iter().map(|open| printable(&open.schedule)).collect();
        let from: Vec<i64> = request.jobs.iter().map(|open| number(open.from.unix_s())).collect();
        let parameters: [(&(dyn ToSql + Sync), Type); 7] = [
            (&id(&request.key), Type::UUID),
            (&Bits(request.nonce.to_bits()), Type::UUID),
            (&number(request.term.get()), Type::INT8),
            (&names, Type::TEXT_ARRAY),
            (&schedules, Type::TEXT_ARRAY),
            (&from, Type::INT8_ARRAY),
            (&limit(MAX_JOBS), Type::INT8),
        ];
        let sql = self.sql("SELECT {call}, * FROM {schema}.open_jobs($1, $2, $3, $4, $5, $6, $7)");
        let rows = self.ask(&sql, &parameters).await?;
        opened(&rows, request.jobs.len()).map_err(|fault| self.tell(fault))
    }

    async fn claim(&self, batch: &[Claim]) -> Replies<Claimed> {
        if batch.is_empty() {
            return Vec::new();
        }
        let elections: Vec<Bits> = batch.iter().map(|claim| id(&claim.key)).collect();
        let nonces: Vec<Bits> = batch.iter().map(|claim| Bits(claim.nonce.to_bits())).collect();
        let terms: Vec<i64> = batch.iter().map(|claim| number(claim.term.get())).collect();
        let candidates: Vec<&str> = batch.iter().map(|claim| claim.candidate.as_str()).collect();
        let jobs: Vec<&str> = batch.iter().map(|claim| claim.job.as_str()).collect();
        let ticks: Vec<i64> = batch.iter().map(|claim| number(claim.tick.unix_s())).collect();
        let acts: Vec<&str> = batch.iter().map(|claim| word_for(claim.act)).collect();
        let missed: Vec<i64> = batch.iter().map(|claim| number(claim.missed.min(MAX_COUNT))).collect();
        let parameters: [(&(dyn ToSql + Sync), Type); 10] = [
            (&elections, Type::UUID_ARRAY),
            (&nonces, Type::UUID_ARRAY),
            (&terms, Type::INT8_ARRAY),
            (&candidates, Type::TEXT_ARRAY),
            (&jobs, Type::TEXT_ARRAY),
            (&ticks, Type::INT8_ARRAY),
            (&acts, Type::TEXT_ARRAY),
            (&missed, Type::INT8_ARRAY),
            (&limit(MAX_RUNS), Type::INT8),
            (&i64::try_from(MAX_EARLY.as_millis()).unwrap_or(i64::MAX), Type::INT8),
        ];
        let sql = self.sql("SELECT {call}, * FROM {schema}.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)");
        let answers = match self.ask(&sql, &parameters).await {
            Ok(rows) => in_order(&rows, batch.len(), claimed).map_err(|fault| self.tell(fault)),
            Err(error) => Err(error),
        };
        let answer = |claimed: Option<Claimed>| claimed.ok_or_else(|| self.tell(PostgresStoreError::Busy));
        spread(answers, batch.len()).into_iter().map(|reply| reply.and_then(answer)).collect()
    }

    async fn finish(&self, batch: &[Finish]) -> Result<Vec<bool>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let elections: Vec<Bits> = batch.iter().map(|finish| id(&finish.key)).collect();
        let nonces: Vec<Bits> = batch.iter().map(|finish| Bits(finish.nonce.to_bits())).collect();
        let terms: Vec<i64> = batch.iter().map(|finish| number(finish.term.get())).collect();
        let jobs: Vec<&str> = batch.iter().map(|finish| finish.job.as_str()).collect();
        let ticks: Vec<i64> = batch.iter().map(|finish| number(finish.tick.unix_s())).collect();
        let took: Vec<i64> =
            batch.iter().map(|finish| i64::try_from(finish.took.as_nanos()).unwrap_or(i64::MAX)).collect();
        let (outcomes, reasons): (Vec<&str>, Vec<Option<String>>) =
            batch.iter().map(|finish| finish.outcome.to_words()).map(|(word, why)| (word, why.map(printable))).unzip();
        let retries: Vec<i64> = batch.iter().map(|finish| i64::from(finish.retries)).collect();
        let parameters: [(&(dyn ToSql + Sync), Type); 9] = [
            (&elections, Type::UUID_ARRAY),
            (&nonces, Type::UUID_ARRAY),
            (&terms, Type::INT8_ARRAY),
            (&jobs, Type::TEXT_ARRAY),
            (&ticks, Type::INT8_ARRAY),
            (&took, Type::INT8_ARRAY),
            (&outcomes, Type::TEXT_ARRAY),
            (&reasons, Type::TEXT_ARRAY),
            (&retries, Type::INT8_ARRAY),
        ];
        let sql = self.sql("SELECT {call}, {schema}.finish($1, $2, $3, $4, $5, $6, $7, $8, $9)");
        let rows = self.ask(&sql, &parameters).await?;
        let heard: Vec<i32> = rows.first().and_then(|row| row.try_get("finish").ok()).unwrap_or_default();
        let mut replies = vec![false; batch.len()];
        for place in heard.into_iter().filter_map(|place| usize::try_from(place - 1).ok()) {
            if let Some(reply) = replies.get_mut(place) {
                *reply = true;
            }
        }
        Ok(replies)
    }

    async fn jobs(&self, key: &ElectionKey, max_runs: usize) -> Result<Vec<JobReport>, StoreError> {
        let parameters: [(&(dyn ToSql + Sync), Type); 2] = [(&id(key), Type::UUID), (&limit(max_runs), Type::INT8)];
        let rows = self.ask(&self.sql("SELECT {call}, * FROM {schema}.jobs($1, $2)"), &parameters).await?;
        reports(&rows).map_err(|fault| self.tell(fault.in_record_of(key, "job or run")))
    }

    async fn steer_job(&self, key: &ElectionKey, job: &JobName, order: JobOrder) -> Result<bool, StoreError> {
        let word = order.as_str();
        let parameters: [(&(dyn ToSql + Sync), Type); 3] =
            [(&id(key), Type::UUID), (&job.as_str(), Type::TEXT), (&word, Type::TEXT)];
        let rows = self.ask(&self.sql("SELECT {call}, {schema}.steer_job($1, $2, $3)"), &parameters).await?;
        Ok(rows.first().and_then(|row| row.try_get("steer_job").ok()).unwrap_or_default())
    }

    async fn forget_job(&self, key: &ElectionKey, job: &JobName) -> Result<bool, StoreError> {
        let parameters: [(&(dyn ToSql + Sync), Type); 2] = [(&id(key), Type::UUID), (&job.as_str(), Type::TEXT)];
        let rows = self.ask(&self.sql("SELECT {call}, {schema}.forget_job($1, $2)"), &parameters).await?;
        Ok(rows.first().and_then(|row| row.try_get("forget_job").ok()).unwrap_or_default())
    }
}

/// Not every JSON reader can tell larger numbers apart.
const MAX_COUNT: u64 = 1 << 53;

fn word_for(act: Act) -> &'static str {
    match act {
        Act::Run => "run",
        Act::RunAgain => "again",
        Act::Pass => "pass",
        Act::Skip => "skip",
    }
}

fn opened(rows: &[Row], jobs: usize) -> Result<Opened, PostgresStoreError> {
    let Some((first, rows)) = rows.split_first() else {
        return Err(PostgresStoreError::Nonsense("no answer about jobs".to_owned()));
    };
    match get(first, "verdict")? {
        "opened" => in_order(rows, jobs, opened_job).map(Opened::Jobs),
        "too many" => Ok(Opened::TooMany),
        "not holder" => Ok(Opened::NotHolder),
        other => Err(PostgresStoreError::Nonsense(format!("{other:?} to jobs"))),
    }
}

fn opened_job(row: &Row) -> Result<OpenedJob, PostgresStoreError> {
    let ticks = |column| get::<Vec<i64>>(row, column).map(|seconds| seconds.into_iter().map(tick).collect());
    Ok(OpenedJob {
        mark: tick(get(row, "mark")?),
        interrupted: ticks("interrupted")?,
        unbegun: ticks("unbegun")?,
        is_paused: get(row, "is_paused")?,
        requested: get::<Option<i64>>(row, "requested")?.map(tick),
    })
}

/// `None` where another transaction holds a lock.
fn claimed(row: &Row) -> Result<Option<Claimed>, PostgresStoreError> {
    let number = || get::<i64>(row, "number");
    Ok(Some(match get(row, "verdict")? {
        "granted" => Claimed::Granted,
        "decided" => Claimed::Decided { mark: tick(number()?) },
        "early" => Claimed::Early { by: Duration::from_millis(natural(number()?)) },
        "paused" => Claimed::Paused,
        "unopened" => Claimed::Unopened,
        "not holder" => Claimed::NotHolder,
        "busy" => return Ok(None),
        other => return Err(PostgresStoreError::Nonsense(format!("{other:?} to a claim"))),
    }))
}

/// One answer for each place.
fn in_order<T>(
    rows: &[Row],
    count: usize,
    read: fn(&Row) -> Result<T, PostgresStoreError>,
) -> Result<Vec<T>, PostgresStoreError> {
    let mut answers: Vec<Option<T>> = (0..count).map(|_| None).collect();
    for row in rows {
        *slot(row, &mut answers)? = Some(read(row)?);
    }
    let answers: Option<Vec<T>> = answers.into_iter().collect();
    answers.ok_or_else(|| PostgresStoreError::Nonsense("too few answers".to_owned()))
}

/// Rows of one job follow each other.
fn reports(rows: &[Row]) -> Result<Vec<JobReport>, PostgresStoreError> {
    let mut reports: Vec<JobReport> = Vec::new();
    for row in rows {
        let job =
            JobName::new(get::<&str>(row, "job")?).map_err(|error| PostgresStoreError::Nonsense(error.to_string()))?;
        if reports.last().is_none_or(|last| last.job != job) {
            reports.push(JobReport {
                job,
                schedule: Arc::from(get::<&str>(row, "schedule")?),
                mark: tick(get(row, "mark")?),
                fired: natural(get(row, "fired")?),
                missed: natural(get(row, "missed")?),
                skipped: natural(get(row, "skipped")?),
                paused_at_unix_ms: get::<Option<i64>>(row, "paused_at_ms")?.map(natural),
                requested: get::<Option<i64>>(row, "requested")?.map(tick),
                runs: Vec::new(),
            });
        }
        if let Some(second) = get::<Option<i64>>(row, "tick")?
            && let Some(report) = reports.last_mut()
        {
            report.runs.push(RunReport {
                tick: tick(second),
                term: term(get(row, "term")?)?,
                candidate: candidate(get(row, "candidate")?)?,
                began_at_unix_ms: natural(get(row, "began_at_ms")?),
                end: end(row)?,
            });
        }
    }
    Ok(reports)
}

fn end(row: &Row) -> Result<Option<RunEnd>, PostgresStoreError> {
    let Some(at) = get::<Option<i64>>(row, "ended_at_ms")? else { return Ok(None) };
    let (word, took): (&str, i64) = (get(row, "outcome")?, get(row, "took_ns")?);
    let outcome = RunOutcome::from_words(word, get(row, "why")?);
    Ok(Some(RunEnd {
        at_unix_ms: natural(at),
        took: Duration::from_nanos(natural(took)),
        retries: u32::try_from(natural(get(row, "retries")?)).unwrap_or(u32::MAX),
        outcome: outcome.ok_or_else(|| PostgresStoreError::Nonsense(format!("a run that ended {word:?}")))?,
    }))
}

fn tick(second: i64) -> Tick {
    Tick::from_unix_s(natural(second))
}
