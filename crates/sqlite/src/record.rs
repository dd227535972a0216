//! Reads and writes the record of an election.

use rusqlite::{Connection, Row, params};
use tenure_store::{CandidateId, ElectionKey, Handover, Leader, Term};

use super::error::SqliteStoreError;
use super::forget::highest_forgotten;
use super::value::{
    from_duration, from_instant, from_metadata, from_nonce, from_process, from_u64, nonsense, to_candidate,
    to_duration, to_instant, to_metadata, to_nonce, to_process, to_term, to_u64,
};
use tenure_store::record::{LeaseRecord, Record, Reservation, StandByRecord};

/// An election's record and the number of its row.
#[derive(Debug)]
pub(super) struct ElectionRow {
    pub(super) election: i64,
    /// Contains only the stand-bys that were [loaded](super::stand_by_rows::load).
    pub(super) record: Record,
    /// The number of stand-bys before the campaigning candidate that were not loaded.
    pub(super) hidden: u32,
}

/// The columns of `election_find.sql`, in its order. Every step of an election reads them: to search for their names takes twice
/// as long as the query.
#[derive(Clone, Copy)]
enum ElectionColumn {
    Id,
    LastTerm,
    ReservedFor,
    ReservedNonce,
    ReservedUntil,
    Term,
    Nonce,
    Ttl,
    ExpiresAt,
    Handover,
    Candidate,
    Metadata,
    Since,
    Process,
    HandoverTo,
    TermsAbove,
}

/// The record of an election, if it ever had a candidate, without its stand-bys.
pub(super) fn find(connection: &Connection, key: &ElectionKey) -> Result<Option<ElectionRow>, SqliteStoreError> {
    let mut statement = connection.prepare_cached(include_str!("sql/election_find.sql"))?;
    let mut rows = statement.query([key.namespace.as_str(), key.name.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let election: i64 = row.get(ElectionColumn::Id as usize)?;
    let found_in = |tables: &'static str| {
        move |fault: SqliteStoreError| fault.in_record_of(key, &format!("row {election} of {tables}"))
    };
    let record = Record {
        last_term: term_in(row, ElectionColumn::LastTerm).map_err(found_in("the table election"))?,
        terms_above: term_in(row, ElectionColumn::TermsAbove).map_err(found_in("the table election"))?,
        lease: lease_in(row).map_err(found_in("the tables lease and leader"))?,
        reservation: reservation_in(row).map_err(found_in("the table election"))?,
        standing_by: Vec::new(),
    };
    Ok(Some(ElectionRow { election, record, hidden: 0 }))
}

/// Creates the row of an election that never had a candidate.
pub(super) fn create(connection: &Connection, key: &ElectionKey) -> Result<ElectionRow, SqliteStoreError> {
    let mut statement = connection.prepare_cached("INSERT INTO election (namespace, name) VALUES (?1, ?2)")?;
    let election = statement.insert([key.namespace.as_str(), key.name.as_str()])?;
    // Its terms go on above those of elections that were forgotten: it may be one of them.
    let last_term = highest_forgotten(connection, key)?.map(to_term).transpose()?;
    Ok(ElectionRow { election, record: Record { last_term, ..Record::default() }, hidden: 0 })
}

/// Writes the differences in `after`.
pub(super) fn save(connection: &Connection, before: &ElectionRow, after: &Record) -> Result<(), SqliteStoreError> {
    let ElectionRow { election, record: before, .. } = before;
    if (before.last_term, &before.reservation) != (after.last_term, &after.reservation) {
        let reserved = after.reservation.as_ref();
        let mut update = connection.prepare_cached(
            "UPDATE election SET last_term = ?2, reserved_for = ?3, reserved_nonce = ?4, reserved_until_ns = ?5 WHERE id = ?1",
        )?;
        update.execute(params![
            election,
            after.last_term.map(|term| from_u64(term.get())),
            reserved.map(|reservation| reservation.candidate.as_str()),
            reserved.and_then(|reservation| reservation.nonce).map(from_nonce),
            reserved.map(|reservation| from_instant(reservation.until)),
        ])?;
    }
    match &after.lease {
        lease if *lease == before.lease => {}
        Some(lease) => save_lease(connection, *election, lease)?,
        None => {
            connection.prepare_cached("DELETE FROM lease WHERE election = ?1")?.execute([election])?;
            connection.prepare_cached("DELETE FROM leader WHERE election = ?1")?.execute([election])?;
        }
    }
    for left in before.standing_by.iter().filter(|old| !after.standing_by.iter().any(|new| new.nonce == old.nonce)) {
        connection
            .prepare_cached("DELETE FROM stand_by WHERE election = ?1 AND nonce = ?2")?
            .execute(params![election, from_nonce(left.nonce)])?;
    }
    for changed in after.standing_by.iter().filter(|new| !before.standing_by.contains(new)) {
        save_stand_by(connection, *election, changed)?;
    }
    Ok(())
}

fn save_lease(connection: &Connection, election: i64, lease: &LeaseRecord) -> Result<(), SqliteStoreError> {
    let mut put_lease = connection.prepare_cached(
        "INSERT OR REPLACE INTO lease (election, term, nonce, ttl_ns, expires_at_ns, handover)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    put_lease.execute(params![
        election,
        from_u64(lease.leader.term.get()),
        from_nonce(lease.nonce),
        from_duration(lease.ttl),
        from_instant(lease.expires_at),
        lease.handover.is_some(),
    ])?;
    let mut put_leader = connection.prepare_cached(
        "INSERT OR REPLACE INTO leader (election, candidate, metadata, since_unix_ms, process, handover_to)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    put_leader.execute(params![
        election,
        lease.leader.candidate.as_str(),
        from_metadata(&lease.leader.metadata)?,
        from_u64(lease.leader.since_unix_ms.unwrap_or_default()),
        from_process(lease.process),
        lease.handover.as_ref().and_then(|handover| handover.successor.as_ref()).map(CandidateId::as_str),
    ])?;
    Ok(())
}

fn save_stand_by(connection: &Connection, election: i64, stand_by: &StandByRecord) -> Result<(), SqliteStoreError> {
    let mut put = connection.prepare_cached(
        "INSERT OR REPLACE INTO stand_by
             (election, nonce, candidate, priority, since_ns, since_unix_ms, fresh_until_ns, process)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    put.execute(params![
        election,
        from_nonce(stand_by.nonce),
        stand_by.candidate.as_str(),
        stand_by.priority.level(),
        from_instant(stand_by.since),
        from_u64(stand_by.since_unix_ms),
        from_instant(stand_by.fresh_until),
        from_process(stand_by.process),
    ])?;
    Ok(())
}

fn term_in(row: &Row<'_>, column: ElectionColumn) -> Result<Option<Term>, SqliteStoreError> {
    row.get::<_, Option<i64>>(column as usize)?.map(to_term).transpose()
}

fn lease_in(row: &Row<'_>) -> Result<Option<LeaseRecord>, SqliteStoreError> {
    let (term, candidate) = (
        row.get::<_, Option<i64>>(ElectionColumn::Term as usize)?,
        row.get::<_, Option<String>>(ElectionColumn::Candidate as usize)?,
    );
    let (term, candidate) = match (term, candidate) {
        (Some(term), Some(candidate)) => (to_term(term)?, to_candidate(&candidate)?),
        (None, None) => return Ok(None),
        (Some(_), None) | (None, Some(_)) => return Err(nonsense("half a lease")),
    };
    let successor = row.get::<_, Option<String>>(ElectionColumn::HandoverTo as usize)?;
    let successor = successor.as_deref().map(to_candidate).transpose()?;
    Ok(Some(LeaseRecord {
        leader: Leader {
            candidate,
            term,
            since_unix_ms: Some(to_u64(row.get(ElectionColumn::Since as usize)?)?),
            metadata: to_metadata(&row.get::<_, String>(ElectionColumn::Metadata as usize)?)?,
        },
        nonce: to_nonce(&row.get::<_, Vec<u8>>(ElectionColumn::Nonce as usize)?)?,
        ttl: to_duration(row.get(ElectionColumn::Ttl as usize)?)?,
        expires_at: to_instant(row.get(ElectionColumn::ExpiresAt as usize)?)?,
        process: to_process(&row.get::<_, Vec<u8>>(ElectionColumn::Process as usize)?)?,
        handover: row.get::<_, bool>(ElectionColumn::Handover as usize)?.then_some(Handover { successor }),
    }))
}

fn reservation_in(row: &Row<'_>) -> Result<Option<Reservation>, SqliteStoreError> {
    let Some(candidate) = row.get::<_, Option<String>>(ElectionColumn::ReservedFor as usize)? else { return Ok(None) };
    let nonce = row.get::<_, Option<Vec<u8>>>(ElectionColumn::ReservedNonce as usize)?;
    Ok(Some(Reservation {
        candidate: to_candidate(&candidate)?,
        nonce: nonce.as_deref().map(to_nonce).transpose()?,
        until: to_instant(row.get(ElectionColumn::ReservedUntil as usize)?)?,
    }))
}
