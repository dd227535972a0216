//! Decodes the answers of the functions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_store::{
    CandidateId, Change, Forgetting, Handover, Held, Leader, Lease, Observation, Priority, RenewReply, StandBy, Term,
    Transition, Use,
};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::super::error::PostgresStoreError;
use super::super::value::duration;

/// The outcome of a campaign.
#[derive(Debug, Clone)]
pub(super) enum LeaseCampaignOutcome {
    Granted {
        term: Term,
        /// The ttl of the previous lease, if it ran out.
        ran_out: Option<Duration>,
        /// False if it was found again.
        is_new: bool,
    },
    Held {
        held: Held,
        /// Whether its holder does not announce its resignation.
        is_foreign: bool,
    },
    /// Another transaction keeps the row locked.
    Busy,
    /// There is no higher term.
    Exhausted,
}

/// The shortest delay before looking again; none at all would be a busy loop.
const MIN_REMAINING: Duration = Duration::from_millis(1);

/// Decodes the outcome of one campaign.
pub(super) fn campaign(row: &Row) -> Result<LeaseCampaignOutcome, PostgresStoreError> {
    let verdict: &str = get(row, "verdict")?;
    Ok(match verdict {
        "granted" => {
            let ran_out: Option<i64> = get(row, "ran_out_us")?;
            LeaseCampaignOutcome::Granted {
                term: term(get(row, "term")?)?,
                ran_out: ran_out.map(duration),
                is_new: get(row, "is_new")?,
            }
        }
        "held" => {
            let rank: i32 = get(row, "rank")?;
            let held = Held {
                leader: leader(row, "term")?,
                remaining: duration(get(row, "remaining_us")?).max(MIN_REMAINING),
                rank: u32::try_from(rank).unwrap_or_default(),
            };
            LeaseCampaignOutcome::Held { held, is_foreign: get::<Option<bool>>(row, "is_foreign")?.unwrap_or_default() }
        }
        "busy" => LeaseCampaignOutcome::Busy,
        "exhausted" => LeaseCampaignOutcome::Exhausted,
        "damaged" => return Err(PostgresStoreError::Damage(get(row, "metadata")?)),
        other => return Err(PostgresStoreError::Nonsense(format!("{other:?} to a campaign"))),
    })
}

/// Changes the replies that are not simply "renewed", and returns the server's clock.
pub(super) fn renewals(
    rows: &[Row],
    replies: &mut [Result<RenewReply, PostgresStoreError>],
) -> Result<u64, PostgresStoreError> {
    let mut now_ms = None;
    for row in rows {
        let (verdict, number): (&str, Option<i64>) = (get(row, "verdict")?, get(row, "term")?);
        match verdict {
            "now" => now_ms = number,
            "lost" => {
                let current = number.and_then(|number| term(number).ok());
                *slot(row, replies)? = Ok(RenewReply::NotHolder { current });
            }
            "handover" => {
                let successor: Option<&str> = get(row, "successor")?;
                let handover = Handover { successor: successor.and_then(|id| CandidateId::new(id).ok()) };
                *slot(row, replies)? = Ok(RenewReply::Renewed { handover: Some(handover) });
            }
            "busy" => *slot(row, replies)? = Err(PostgresStoreError::Busy),
            other => return Err(PostgresStoreError::Nonsense(format!("{other:?} to a renewal"))),
        }
    }
    let now_ms = now_ms.and_then(|now_ms| u64::try_from(now_ms).ok());
    now_ms.ok_or_else(|| PostgresStoreError::Nonsense("renewals without its clock".to_owned()))
}

pub(super) fn observation(row: &Row) -> Result<Observation, PostgresStoreError> {
    let last_term: i64 = get(row, "last_term")?;
    let lease = match leader(row, "last_term")? {
        Some(leader) => {
            let (remaining, ttl) = (get(row, "remaining_us")?, get(row, "ttl_us")?);
            let term = Some(leader.term);
            Some(Lease { leader, term, remaining: Some(duration(remaining)), ttl: Some(duration(ttl)) })
        }
        None => None,
    };
    let reserved_for: Option<&str> = get(row, "reserved_for")?;
    Ok(Observation {
        lease,
        last_term: if last_term == 0 { None } else { Some(term(last_term)?) },
        reserved_for: reserved_for.and_then(|id| CandidateId::new(id).ok()),
        standing_by: stand_bys(row)?,
    })
}

pub(super) fn forgetting(told: &str) -> Result<Forgetting, PostgresStoreError> {
    Ok(match told {
        "forgotten" => Forgetting::Forgotten,
        "unknown" => Forgetting::Unknown,
        "led" => Forgetting::InUse(Use::Led),
        "stood by" => Forgetting::InUse(Use::StoodBy),
        "messages" => Forgetting::InUse(Use::Messages),
        "recent" => Forgetting::InUse(Use::Recent),
        "damaged" => return Err(PostgresStoreError::Damage("it is unknown since when it has been idle".to_owned())),
        other => {
            return Err(PostgresStoreError::Nonsense(format!("{other:?} when it was asked to forget an election")));
        }
    })
}

pub(super) fn transition(row: &Row) -> Result<Transition, PostgresStoreError> {
    let (change, reason): (&str, String) = (get(row, "change")?, get(row, "reason")?);
    Ok(Transition {
        at_unix_ms: natural(get(row, "at_ms")?),
        term: term(get(row, "term")?)?,
        candidate: candidate(get(row, "candidate")?)?,
        change: match change {
            "elected" => Change::Elected,
            "lost" => Change::Lost,
            other => return Err(PostgresStoreError::Nonsense(format!("a history of {other:?}"))),
        },
        reason,
    })
}

fn stand_bys(row: &Row) -> Result<Vec<StandBy>, PostgresStoreError> {
    let candidates: Option<Vec<&str>> = get(row, "stand_bys")?;
    let priorities: Option<Vec<i32>> = get(row, "priorities")?;
    let since: Option<Vec<i64>> = get(row, "stand_by_since_ms")?;
    let lines = candidates.into_iter().flatten().zip(priorities.into_iter().flatten()).zip(since.into_iter().flatten());
    let stand_by = |((id, priority), since): ((&str, i32), i64)| {
        let priority = u8::try_from(priority).ok().and_then(Priority::new).unwrap_or_default();
        Ok(StandBy { candidate: candidate(id)?, priority, since_unix_ms: natural(since) })
    };
    lines.map(stand_by).collect()
}

fn leader(row: &Row, term_column: &str) -> Result<Option<Leader>, PostgresStoreError> {
    let Some(id) = get::<Option<&str>>(row, "leader")? else { return Ok(None) };
    let metadata: Option<&str> = get(row, "metadata")?;
    // What others have published is for people: what is no map of texts is shown as none.
    let metadata: BTreeMap<String, String> =
        metadata.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    Ok(Some(Leader {
        candidate: candidate(id)?,
        term: term(get(row, term_column)?)?,
        since_unix_ms: Some(natural(get(row, "since_ms")?)),
        metadata: Arc::new(metadata),
    }))
}

/// The slot of an answer, counted from one.
pub(super) fn slot<'a, T>(row: &Row, slots: &'a mut [T]) -> Result<&'a mut T, PostgresStoreError> {
    let place: i32 = get(row, "place")?;
    let slot = usize::try_from(place).ok().and_then(|place| slots.get_mut(place.checked_sub(1)?));
    slot.ok_or_else(|| PostgresStoreError::Nonsense(format!("an answer to request {place}, which was not sent")))
}

pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: &str) -> Result<T, PostgresStoreError> {
    row.try_get(column).map_err(|error| PostgresStoreError::Nonsense(tenure_store::with_causes(&error)))
}

pub(super) fn term(number: i64) -> Result<Term, PostgresStoreError> {
    let term = u64::try_from(number).ok().and_then(Term::new);
    term.ok_or_else(|| PostgresStoreError::Nonsense(format!("the term {number}")))
}

/// Foreign participants may have ids that are not valid here; they are shown by a similar one.
pub(super) fn candidate(id: &str) -> Result<CandidateId, PostgresStoreError> {
    let printable = || id.chars().filter(|c| !c.is_control()).take(50).collect::<String>();
    let id = CandidateId::new(id).or_else(|_| CandidateId::new(printable()));
    id.or_else(|_| CandidateId::new("?")).map_err(|error| PostgresStoreError::Nonsense(error.to_string()))
}

pub(super) fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
