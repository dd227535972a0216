//! Pays invoices while it leads. Run several: `DATABASE_URL=postgres://… cargo run --features postgres`.
//! The database needs `tenure migrate` and a table `payouts (invoice bigint, term bigint)`.

use sqlx::{AssertSqlSafe, PgPool};
use tenure::{Client, Leadership, fencing::PostgresFence};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::var("DATABASE_URL")?;
    let pool = PgPool::connect(&url).await?;
    let candidacy = Client::open(&url)?.election("payouts")?.candidate().start()?;
    let leadership = candidacy.elected().await?;
    for invoice in 1..=3 {
        if !pay(&pool, &leadership, invoice).await? {
            return Err("somebody else leads by now".into());
        }
        println!("paid invoice {invoice} under term {}", leadership.term());
    }
    candidacy.stop().await;
    Ok(())
}

/// However long this process was paused before: either it still leads when this commits, or nothing is paid.
pub async fn pay(pool: &PgPool, leadership: &Leadership, invoice: i64) -> sqlx::Result<bool> {
    let fence = leadership.postgres_fence();
    let mut transaction = pool.begin().await?;
    let check = sqlx::query(AssertSqlSafe(fence.sql()));
    let check = check.bind(fence.election()).bind(fence.term()).bind(fence.namespace());
    match check.execute(&mut *transaction).await {
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(PostgresFence::STALE) => return Ok(false),
        checked => checked?,
    };
    let insert = sqlx::query("INSERT INTO payouts (invoice, term) VALUES ($1, $2)");
    insert.bind(invoice).bind(fence.term()).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(true)
}
