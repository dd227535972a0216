//! Rows that are renewed each second by a bare loop.

use std::error::Error;

use tokio_postgres::Statement;

use super::wire::PostgresWire;
use crate::elections::TTL;
use crate::renewals::{Renewals, Round};

/// With one statement for all rows: the floor.
pub(super) fn in_batches(url: &str, count: u32) -> Result<Renewals, Box<dyn Error>> {
    const RENEW: &str = "UPDATE floor_lease AS l SET expires_at = clock_timestamp() + $4 * interval '1 second'
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS asked (id, holder, term)
        WHERE l.id = asked.id AND l.holder = asked.holder AND l.term = asked.term
            AND l.expires_at > clock_timestamp()";
    start(url, count, RENEW, |wire, renew, ids| {
        let ones = vec![1_i64; ids.len()];
        let renewed = wire.wait(wire.client.execute(renew, &[&ids, &ones, &ones, &TTL.as_secs_f64()]))?;
        Ok(u32::try_from(renewed)?)
    })
}

/// With a statement for each row, one after the other, as programs do that have a loop for each lease.
pub(super) fn one_by_one(url: &str, count: u32) -> Result<Renewals, Box<dyn Error>> {
    const RENEW: &str = "UPDATE floor_lease SET expires_at = clock_timestamp() + $4 * interval '1 second'
        WHERE id = $1 AND holder = $2 AND term = $3 AND expires_at > clock_timestamp()";
    start(url, count, RENEW, |wire, renew, ids| {
        let mut renewed = 0;
        for id in ids {
            renewed += wire.wait(wire.client.execute(renew, &[id, &1_i64, &1_i64, &TTL.as_secs_f64()]))?;
        }
        Ok(u32::try_from(renewed)?)
    })
}

fn start(
    url: &str,
    count: u32,
    renew: &str,
    round: impl Fn(&PostgresWire, &Statement, &Vec<i64>) -> Round + Send + 'static,
) -> Result<Renewals, Box<dyn Error>> {
    let wire = PostgresWire::open(url)?;
    let ids: Vec<i64> = (1..=i64::from(count)).collect();
    let insert = "INSERT INTO floor_lease SELECT id, 1, 1, clock_timestamp() + $2 * interval '1 second'
        FROM unnest($1::bigint[]) AS made (id)";
    wire.wait(wire.client.execute(insert, &[&ids, &TTL.as_secs_f64()]))?;
    let renew = wire.prepare(renew)?;
    Ok(Renewals::start(count, move || round(&wire, &renew, &ids)))
}
