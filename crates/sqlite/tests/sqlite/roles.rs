//! What the other processes do. Each line that begins with @ is for the test that started it.

use std::io::{BufRead, stdin};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures_util::stream::{StreamExt, select};
use rustix::io::{FdFlags, fcntl_setfd};
use tenure::Store;
use tenure::store::sqlite::SqliteStore;
use tenure::store::{Campaign, Hint, Interest};
use tenure_core::CampaignReply;

use crate::messages;
use crate::support::{SqliteCandidate, key};

/// Not a test: the entry of processes that tests start. Without a role it does nothing.
#[tokio::test]
async fn role() {
    let (Ok(role), Ok(path)) = (std::env::var("TENURE_TEST_ROLE"), std::env::var("TENURE_TEST_PATH")) else { return };
    let path = Path::new(&path);
    match role.as_str() {
        "open" => open(path),
        "lead" => lead(path).await,
        "lead for a second" => lead_for_a_second(path).await,
        "lead with a guard" => lead_with_a_guard(path).await,
        "hammer" => hammer(path).await,
        "stand by" => stand_by(path).await,
        "send" => send(path).await,
        "lead and listen" => lead_and_listen(path).await,
        other => panic!("no such role: {other}"),
    }
}

/// Opens the file, and tells how that went.
fn open(path: &Path) {
    match SqliteStore::open(path) {
        Ok(_) => println!("\n@opened"),
        Err(error) => println!("\n@{error}"),
    }
}

/// Leads until told to end.
async fn lead(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    println!("\n@{}", SqliteCandidate::new(&store, "e", "other").granted().await);
    wait();
}

/// Has a lease that is not renewed, and waits to be ended.
async fn lead_for_a_second(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let request = Campaign { ttl: Duration::from_secs(1), ..SqliteCandidate::new(&store, "e", "other").request() };
    let reply = store.campaign(&[request]).await.remove(0).unwrap();
    println!("\n@{reply:?}");
    wait();
}

/// Leads, and hands its life line to a process that outlives it.
async fn lead_with_a_guard(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let life_line: OwnedFd = store.life_line().unwrap();
    fcntl_setfd(&life_line, FdFlags::empty()).unwrap();
    let guard = Command::new("sleep").arg("600").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    println!("\n@{}", guard.id());
    println!("\n@{}", SqliteCandidate::new(&store, "e", "other").granted().await);
    wait();
}

/// Stands by until told to end.
async fn stand_by(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    println!("\n@{:?}", SqliteCandidate::new(&store, "e", "other").held().await.rank);
    wait();
}

/// Sends messages for ever, and tells of each that was accepted.
async fn send(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    for number in 0.. {
        messages::send(&store, &[messages::new_message(&key("e"), &format!("{number}"))]).await;
        println!("\n@{number}");
    }
}

/// Leads two elections, and tells of every hint.
async fn lead_and_listen(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let told = |what: &'static str| move |hint: Hint| (what, hint);
    let (of_messages, own) = (store.watch(Interest::Messages), store.watch(Interest::Own));
    let mut hints = select(own.map(told("election")), of_messages.map(told("messages of")));
    SqliteCandidate::new(&store, "f", "other").granted().await;
    println!("\n@{}", SqliteCandidate::new(&store, "e", "other").granted().await);
    while let Some((what, hint)) = hints.next().await {
        println!("\n@{what} {}", hint.key.unwrap().name);
    }
}

/// Takes the lease and gives it back as fast as it can, for ever.
async fn hammer(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let mut failed = 0;
    loop {
        let candidate = SqliteCandidate::new(&store, "e", "hammer");
        match candidate.campaign().await {
            Ok(CampaignReply::Granted { term }) => println!("\n@{term}"),
            Ok(CampaignReply::Held(_)) => {}
            Err(error) => {
                failed += 1;
                assert!(failed < 10, "{error}");
            }
        }
        let _ = candidate.resign().await;
    }
}

fn wait() {
    stdin().lock().read_line(&mut String::new()).unwrap();
}
