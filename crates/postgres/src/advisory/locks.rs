//! The statements about locks, and the answers of the server.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_store::{StoreErrorKind, Term};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use super::super::error::PostgresStoreError;
use super::held_locks::{ElectionLock, HeldLock};
use super::session::LockSession;

/// The server's view of one lock.
#[derive(Debug, Clone)]
pub(super) enum LockSight {
    /// It is ours from now on.
    Taken(Term),
    /// It has no holder, or none that could lead.
    Vacant,
    /// A session of the server holds it.
    Held(LockHolder),
}

/// The holder of a lock.
#[derive(Debug, Clone)]
pub(super) struct LockHolder {
    pub(super) pid: i32,
    /// The name of its session.
    pub(super) label: Option<String>,
    /// Its term, if it is one of ours.
    pub(super) term: Option<Term>,
    /// A term below all that will be granted after it.
    pub(super) term_at_least: Option<Term>,
    /// The number of waiters for it.
    pub(super) waiters: i64,
}

const TAKE: &str = concat!(include_str!("sql/take.sql"), include_str!("sql/holders.sql"));
const LOOK: &str = concat!(
    "WITH found AS MATERIALIZED (
         SELECT id, tag, false AS is_taken, NULL::bigint AS term FROM unnest($1::bigint[], $2::int[]) AS asked (id, tag)
     )",
    include_str!("sql/holders.sql"),
);
const BEAT: &str = include_str!("sql/beat.sql");
const RELEASE: &str = include_str!("sql/release.sql");
const AUDIT: &str = include_str!("sql/audit.sql");
const PURGE: &str = include_str!("sql/purge.sql");

/// Tries these locks. None of them is held by this session, or it would be counted twice.
pub(super) async fn take(
    session: &LockSession,
    locks: &[ElectionLock],
    label: &str,
    ttl: Duration,
) -> Result<HashMap<i64, LockSight>, PostgresStoreError> {
    let (ids, tags) = columns(locks);
    let (guard, before) = (session.guard(Some(ttl)), session.guard(None));
    let answer = session
        .ask(
            TAKE,
            &[
                (&ids, Type::INT8_ARRAY),
                (&tags, Type::INT4_ARRAY),
                (&session.marker, Type::TEXT),
                (&label, Type::TEXT),
                (&guard.to_string(), Type::TEXT),
                (&before.to_string(), Type::TEXT),
            ],
        )
        .await;
    let rows = match answer {
        Ok(rows) => rows,
        Err(fault) => {
            // Locks that were taken before the statement failed stay taken.
            session.is_unsure.store(true, Ordering::SeqCst);
            return Err(fault);
        }
    };
    if rows.is_empty() {
        return Err(session.condemn(STRANGER.to_owned()));
    }
    let sights = sights(&rows)?;
    let is_any_taken = sights.values().any(|sight| matches!(sight, LockSight::Taken(_)));
    session.guard_ms.store(if is_any_taken { guard } else { before }, Ordering::SeqCst);
    Ok(sights)
}

/// Examines these locks without touching them.
pub(super) async fn look(
    session: &LockSession,
    locks: &[ElectionLock],
) -> Result<HashMap<i64, LockSight>, PostgresStoreError> {
    let (ids, tags) = columns(locks);
    let rows = session.ask(LOOK, &[(&ids, Type::INT8_ARRAY), (&tags, Type::INT4_ARRAY)]).await?;
    sights(&rows)
}

/// Shows that the session is alive, and thereby that it holds what it holds. `ttl` is the longest one that is asked for.
/// Returns how many wait for its end.
pub(super) async fn beat(session: &LockSession, ttl: Option<Duration>) -> Result<i64, PostgresStoreError> {
    let guard = session.guard(ttl);
    let is_longer = guard > session.guard_ms.load(Ordering::SeqCst);
    let setting = if is_longer { guard.to_string() } else { String::new() };
    let rows = session.ask(BEAT, &[(&session.marker, Type::TEXT), (&setting, Type::TEXT)]).await?;
    let row = rows.first().ok_or_else(|| PostgresStoreError::Nonsense("nothing".to_owned()))?;
    if !get::<bool>(row, "is_ours")? {
        return Err(session.condemn(STRANGER.to_owned()));
    }
    if get::<bool>(row, "is_standby")? {
        let why = "the server has become a standby; elections are held on the primary";
        return Err(session.condemn(why.to_owned()));
    }
    if is_longer {
        session.guard_ms.fetch_max(guard, Ordering::SeqCst);
    }
    get(row, "waiters")
}

/// Frees these locks, which are no longer among the held ones. What is sent behind it finds the number of this release in the
/// session, if it has freed all of them.
pub(super) async fn release(
    session: &LockSession,
    holds: &[HeldLock],
    release: &str,
) -> Result<(), PostgresStoreError> {
    if holds.is_empty() {
        return Ok(());
    }
    let locks: Vec<ElectionLock> = holds.iter().map(|hold| hold.lock).collect();
    let (ids, tags) = columns(&locks);
    let terms: Vec<i64> = holds.iter().map(|hold| i64::try_from(hold.leader.term.get()).unwrap_or(i64::MAX)).collect();
    let guard = session.guard(None);
    let answer = session
        .ask(
            RELEASE,
            &[
                (&ids, Type::INT8_ARRAY),
                (&tags, Type::INT4_ARRAY),
                (&terms, Type::INT8_ARRAY),
                (&session.marker, Type::TEXT),
                (&guard.to_string(), Type::TEXT),
                (&release, Type::TEXT),
            ],
        )
        .await;
    let rows = answer.inspect_err(|_| session.is_unsure.store(true, Ordering::SeqCst))?;
    let released =
        rows.iter().map(|row| get::<bool>(row, "is_released")).collect::<Result<Vec<bool>, PostgresStoreError>>()?;
    if released.len() < holds.len() || released.contains(&false) {
        return Err(session.condemn(STRANGER.to_owned()));
    }
    session.guard_ms.store(guard, Ordering::SeqCst);
    Ok(())
}

/// Compares what the session holds with what it should. What is too much is freed; if something is missing, the session is
/// given up. Must be called by whoever has the turn.
pub(super) async fn audit(session: &LockSession) -> Result<(), PostgresStoreError> {
    let rows = session.ask(AUDIT, &[(&session.marker, Type::TEXT), (&false, Type::BOOL)]).await?;
    let (mut locks, mut marks) = (HashSet::new(), HashSet::new());
    for row in &rows {
        if get(row, "is_mark")? {
            marks.insert((get::<i32>(row, "upper")?, get::<i32>(row, "lower")?));
        } else {
            locks.insert(get::<i64>(row, "id")?);
        }
    }
    let (mut is_complete, now) = (true, session.now());
    for hold in session.held_locks().holds() {
        marks.remove(&(hold.lock.tag, lower_half(hold.leader.term)));
        is_complete &= locks.remove(&hold.lock.id) || hold.lapses_at <= now;
    }
    if !is_complete {
        return Err(session.condemn(STRANGER.to_owned()));
    }
    if !locks.is_empty() || !marks.is_empty() {
        let locks: Vec<i64> = locks.into_iter().collect();
        let (uppers, lowers): (Vec<i32>, Vec<i32>) = marks.into_iter().unzip();
        let parameters = [&locks as _, &uppers as _, &lowers as _, &session.marker as _];
        let types = [Type::INT8_ARRAY, Type::INT4_ARRAY, Type::INT4_ARRAY, Type::TEXT];
        let parameters: Vec<(&(dyn tokio_postgres::types::ToSql + Sync), Type)> =
            parameters.into_iter().zip(types).collect();
        session.ask(PURGE, &parameters).await?;
    }
    session.is_unsure.store(false, Ordering::SeqCst);
    Ok(())
}

/// All locks held now, and whether they are marked in the way that this function says.
pub(super) async fn all(
    session: &LockSession,
    tag_of: impl Fn(i64) -> i32 + Send,
) -> Result<HashMap<i64, bool>, PostgresStoreError> {
    let rows = session.ask(AUDIT, &[(&session.marker, Type::TEXT), (&true, Type::BOOL)]).await?;
    let mut marks = HashSet::new();
    for row in &rows {
        if get(row, "is_mark")? {
            marks.insert((get::<i32>(row, "pid")?, get::<i32>(row, "upper")?));
        }
    }
    let mut locks = HashMap::new();
    for row in &rows {
        if !get::<bool>(row, "is_mark")? {
            let id = get(row, "id")?;
            locks.insert(id, marks.contains(&(get(row, "pid")?, tag_of(id))));
        }
    }
    Ok(locks)
}

fn columns(locks: &[ElectionLock]) -> (Vec<i64>, Vec<i32>) {
    locks.iter().map(|lock| (lock.id, lock.tag)).unzip()
}

fn sights(rows: &[Row]) -> Result<HashMap<i64, LockSight>, PostgresStoreError> {
    rows.iter().map(|row| Ok((get(row, "id")?, sight(row)?))).collect()
}

fn sight(row: &Row) -> Result<LockSight, PostgresStoreError> {
    if get(row, "is_taken")? {
        let number: i64 = get(row, "term")?;
        let term = u64::try_from(number).ok().and_then(Term::new);
        return term.map(LockSight::Taken).ok_or_else(|| {
            let message = format!("there is no term for transaction {number}");
            PostgresStoreError::Unusable(StoreErrorKind::Full, message)
        });
    }
    let Some(pid) = get::<Option<i32>>(row, "pid")? else { return Ok(LockSight::Vacant) };
    let next: i64 = get(row, "next_transaction")?;
    let next = u64::try_from(next).unwrap_or_default();
    let mark: Option<i64> = get(row, "mark")?;
    Ok(LockSight::Held(LockHolder {
        pid,
        label: get(row, "label")?,
        term: mark.and_then(|mark| Term::new(whole_term(u64::try_from(mark).ok()?, next))),
        term_at_least: Term::new(next.saturating_sub(1)),
        waiters: get(row, "waiters")?,
    }))
}

/// The 32 bits of a term that fit beside the tag.
fn lower_half(term: Term) -> i32 {
    let [.., a, b, c, d] = term.get().to_be_bytes();
    i32::from_be_bytes([a, b, c, d])
}

/// The term that ends in these 32 bits: the latest one that can have been drawn when `next` had not been finished yet.
fn whole_term(mark: u64, next: u64) -> u64 {
    /// The number of concurrent transactions is never larger.
    const UNDER_WAY: u64 = 1 << 20;
    let latest = next + UNDER_WAY;
    let back = (latest.wrapping_sub(mark)) & 0xffff_ffff;
    latest.saturating_sub(back)
}

fn get<'a, T: FromSql<'a>>(row: &'a Row, column: &str) -> Result<T, PostgresStoreError> {
    row.try_get(column).map_err(|error| PostgresStoreError::Nonsense(tenure_store::with_causes(&error)))
}

/// The error for a session that is not the one it was.
pub(super) const STRANGER: &str = "statements do not reach their session: a pooler assigns sessions per statement, so \
     locks would have no owner; connect to the server directly, use the session mode of the pooler, or use the lease \
     table (postgres://)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_whole_again() {
        let now = (7 << 32) + 5_000_000;
        for term in [now, now - 1, now + 3, (7 << 32) + 1, (6 << 32) + 5_000_000_u64 + (1 << 21), (7 << 32)] {
            assert_eq!(whole_term(term & 0xffff_ffff, now), term);
        }
        assert_eq!(whole_term(3, 700), 3);
        assert_eq!(whole_term(0xffff_ffff, (1 << 32) + 10), 0xffff_ffff);
        assert_eq!(lower_half(Term::new((5 << 32) + 0xffff_fffe).unwrap()), -2);
    }
}
