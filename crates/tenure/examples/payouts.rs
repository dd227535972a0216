//! Payouts that cannot happen twice: the leader pays what is due, and the database refuses whoever leads no longer.
//!
//! It needs a PostgreSQL database, in which `tenure migrate` was run, with these tables:
//!
//! ```sql
//! CREATE TABLE invoices (id bigint PRIMARY KEY, amount numeric NOT NULL);
//! CREATE TABLE payouts (invoice bigint NOT NULL REFERENCES invoices, amount numeric NOT NULL, term bigint NOT NULL);
//! ```
//!
//! Run two of them, and kill or pause the one that leads: the other one goes on, and no invoice is paid twice.
//!
//! ```sh
//! cargo run --example payouts --features postgres -- postgres://app@127.0.0.1/shop
//! ```
//!
//! A second argument makes it end by itself after that many payouts.

use std::env;
use std::error::Error;
use std::time::Duration;

use tenure::{Client, Leadership, Preset};
use tokio_postgres::NoTls;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().nth(1).ok_or("give the address of a PostgreSQL database")?;
    let limit = env::args().nth(2).map(|text| text.parse()).transpose()?;
    let (mut database, connection) = tokio_postgres::connect(&url, NoTls).await?;
    tokio::spawn(connection);

    let client = Client::open(&url)?;
    let candidacy = client.election("payouts")?.candidate().preset(Preset::Fast).start()?;
    println!("{} stands by", candidacy.candidate());
    let leadership = candidacy.elected().await?;
    let paid = pay_what_is_due(&mut database, &leadership, limit.unwrap_or(u64::MAX)).await?;
    println!("done after {paid} payouts");
    candidacy.stop().await;
    Ok(())
}

async fn pay_what_is_due(
    database: &mut tokio_postgres::Client,
    leadership: &Leadership,
    limit: u64,
) -> Result<u64, Box<dyn Error>> {
    let due = "SELECT id FROM invoices WHERE NOT EXISTS (SELECT FROM payouts WHERE invoice = id) ORDER BY id LIMIT 1";
    let mut paid = 0;
    while paid < limit && !leadership.is_cancelled() {
        match database.query_opt(due, &[]).await? {
            Some(invoice) => {
                pay(database, leadership, invoice.get(0)).await?;
                paid += 1;
            }
            // Waits because nothing is due.
            None => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
    Ok(paid)
}

/// However long this process was paused since it looked: either it still leads when this commits, or nothing is paid.
async fn pay(
    database: &mut tokio_postgres::Client,
    leadership: &Leadership,
    invoice: i64,
) -> Result<(), Box<dyn Error>> {
    let fence = leadership.postgres_fence();
    let transaction = database.transaction().await?;
    fence.check(&transaction).await?;
    let insert = "INSERT INTO payouts SELECT id, amount, $2 FROM invoices WHERE id = $1";
    transaction.execute(insert, &[&invoice, &fence.term()]).await?;
    transaction.commit().await?;
    println!("paid invoice {invoice} under term {}", leadership.term());
    Ok(())
}
