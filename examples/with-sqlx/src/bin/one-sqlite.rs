//! Both libraries link SQLite, and a program can link only one: this program has one, and both use it.

use sqlx::SqlitePool;
use tenure::Client;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = SqlitePool::connect("sqlite::memory:").await?;
    let version: String = sqlx::query_scalar("SELECT sqlite_version()").fetch_one(&pool).await?;

    let directory = std::env::temp_dir().join(format!("one-sqlite-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let client = Client::open(&format!("sqlite:{}/tenure.db", directory.display()))?;
    let candidacy = client.election("report")?.candidate().start()?;
    let leadership = candidacy.elected().await?;
    println!("SQLite {version}, leading under term {}", leadership.term());
    candidacy.stop().await;
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}
