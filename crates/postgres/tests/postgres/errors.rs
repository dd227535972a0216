//! Servers that refuse: what it is called, what became of the write, what to do, and that no password is shown.

use std::time::Duration;

use rustix::process::Signal;
use tenure::store::postgres::{Migration, PostgresConfig};
use tenure::store::{ElectionKey, Interest, StoreErrorKind};
use tenure::{StoreError, with_causes};
use tenure_core::WriteOutcome;
use tenure_testkit::postgres::{PostgresServer, SqlSession, Standby};

use crate::support::{
    APP, OwnDatabase, PASSWORD, POSTGRES, StoreCandidate, assert_told, granted, held, migrate, open, options, until,
};

#[track_caller]
fn assert_discreet(error: &StoreError) {
    let all = format!("{error} {error:?} {}", with_causes(error));
    assert!(!all.contains(PASSWORD) && !all.contains(WRONG), "{all}");
}

const WRONG: &str = "wrong-password";

/// What a candidate is told that asks there.
async fn told_at(url: &str) -> StoreError {
    let error = StoreCandidate::new(&open(url), "e", "a").refused().await;
    assert_discreet(&error);
    error
}

#[tokio::test]
async fn addresses_that_do_not_work() {
    let place = OwnDatabase::new().await;
    let table: [(String, StoreErrorKind, &[&str]); 5] = [
        (place.database.url_as(APP, WRONG), StoreErrorKind::Denied, &["28P01", "check the user, the password"]),
        (place.database.url_as("nobody", PASSWORD), StoreErrorKind::Denied, &["28P01", "check the user"]),
        (
            POSTGRES.url_for(APP, PASSWORD, "nowhere"),
            StoreErrorKind::Missing,
            &["\"nowhere\" does not exist", "create the database"],
        ),
        (
            format!("{}?schema=elsewhere", place.url()),
            StoreErrorKind::Schema,
            &["no elections in the schema \"elsewhere\"", "create them with `tenure migrate`"],
        ),
        (
            // Nobody listens there.
            format!("postgres://{APP}:{PASSWORD}@127.0.0.1:1/postgres"),
            StoreErrorKind::Unavailable,
            &["cannot connect"],
        ),
    ];
    for (url, kind, words) in &table {
        let error = told_at(url).await;
        assert_told(&error, *kind, WriteOutcome::NotSent, words);
        assert_eq!(with_causes(&error), error.to_string(), "nothing is said twice");
    }
}

#[tokio::test]
async fn a_role_that_was_granted_nothing() {
    let place = OwnDatabase::empty();
    Migration::new(&place.owner()).run().await.unwrap();
    let words = ["may not use the schema \"tenure\"", "tenure migrate --role"];
    assert_told(&told_at(&place.url()).await, StoreErrorKind::Denied, WriteOutcome::NotSent, &words);

    // Half of the rights are as good as none.
    place.database.sql(&format!("GRANT USAGE ON SCHEMA tenure TO {APP}"));
    assert_told(&told_at(&place.url()).await, StoreErrorKind::Denied, WriteOutcome::NotSent, &words);
    Migration::new(&place.owner()).role(APP).unwrap().run().await.unwrap();
    let candidate = StoreCandidate::new(&place.store(), "e", "a");
    let term = candidate.granted().await;
    place.database.sql(&format!("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA tenure FROM {APP}"));
    let error = candidate.renew(term).await.unwrap_err();
    // It surely had no effect.
    assert_told(&error, StoreErrorKind::Denied, WriteOutcome::Refused, &words);
}

#[tokio::test]
async fn a_server_that_is_going_or_has_gone() {
    let server = PostgresServer::start_with(options());
    migrate(&server.url()).await;
    let candidate = StoreCandidate::new(&open(&server.url_as(APP, PASSWORD)), "e", "a");
    let term = candidate.granted().await;
    // It waits for its clients, and takes no new ones.
    server.process().signal(Signal::TERM);
    let error = until("a server that refuses", async || {
        Some(candidate_elsewhere(&server).await).filter(|error| error.to_string().contains("57P03"))
    })
    .await;
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::NotSent, &["shutting down", "retrying"]);
    candidate.keeps(term).await;

    server.kill();
    let error = candidate.renew(term).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error}");
    let error = until("a refusal", async || {
        candidate.renew(term).await.err().filter(|error| error.write_outcome() == WriteOutcome::NotSent)
    })
    .await;
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::NotSent, &["cannot connect"]);
    assert_discreet(&error);
    server.restart();
    until("the server", async || candidate.renew(term).await.ok()).await;
    candidate.keeps(term).await;
}

async fn candidate_elsewhere(server: &PostgresServer) -> StoreError {
    match StoreCandidate::new(&open(&server.url_as(APP, PASSWORD)), "other", "b").campaign().await {
        Ok(reply) => panic!("{reply:?} from a server that goes"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_server_without_room() {
    let server = PostgresServer::start_with(options().max_connections(8));
    migrate(&server.url()).await;
    let url = server.url_as(APP, PASSWORD);
    let mut taken: Vec<SqlSession> = Vec::new();
    let error = until("a server without room", async || {
        // Again and again, since connections that were closed before make room a little later.
        while let Ok(session) = SqlSession::open(&url) {
            taken.push(session);
        }
        StoreCandidate::new(&open(&url), "e", "a").campaign().await.err()
    })
    .await;
    let words = ["53300", "raise max_connections", "two connections"];
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::NotSent, &words);
    assert_discreet(&error);
    drop(taken);
    let candidate = StoreCandidate::new(&open(&url), "e", "a");
    until("a connection", async || candidate.campaign().await.ok()).await;
}

#[tokio::test]
async fn a_database_that_takes_no_writes() {
    let place = OwnDatabase::new().await;
    let leader = StoreCandidate::new(&place.store(), "e", "a");
    let term = leader.granted().await;
    place.database.sql(&format!("ALTER DATABASE {} SET default_transaction_read_only = on", place.database.name));
    let error = told_at(&place.url()).await;
    assert_told(&error, StoreErrorKind::ReadOnly, WriteOutcome::Refused, &["25006", "is read-only"]);
    leader.keeps(term).await;
    assert_eq!(StoreCandidate::new(&place.store(), "e", "b").observe().await.lease.unwrap().leader.term, term);
}

#[tokio::test]
async fn a_standby() {
    let primary = PostgresServer::start_with(options());
    migrate(&primary.url()).await;
    let standby = Standby::of(&primary);
    let error = told_at(&standby.url_as(APP, PASSWORD)).await;
    assert_told(&error, StoreErrorKind::ReadOnly, WriteOutcome::NotSent, &["it is a standby", "on the primary"]);
}

/// A trigger raises what a server without a disk does: filling one would harm others.
#[tokio::test]
async fn a_full_disk() {
    let place = OwnDatabase::new().await;
    let leader = StoreCandidate::new(&place.store(), "e", "a");
    let term = leader.granted().await;
    place.database.sql(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
         CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON tenure.election FOR EACH ROW EXECUTE FUNCTION full_disk()",
    );
    let error = leader.renew(term).await.unwrap_err();
    assert_told(&error, StoreErrorKind::Full, WriteOutcome::Refused, &["could not extend file", "53100"]);
    assert_eq!(StoreCandidate::new(&leader.store, "other", "b").refused().await.kind(), StoreErrorKind::Full);
    assert_eq!(
        StoreCandidate::new(&leader.store, "e", "b").held().await.leader.unwrap().term,
        term,
        "nothing was taken away"
    );
    place.database.sql("DROP FUNCTION full_disk CASCADE");
    leader.keeps(term).await;
}

#[tokio::test]
async fn orders_that_meet_a_locked_row_say_what_to_do() {
    let place = OwnDatabase::new().await;
    let leader = StoreCandidate::new(&place.store(), "blocked", "a");
    leader.granted().await;
    let mut session = place.database.session();
    session.run("BEGIN; SELECT FROM tenure.election WHERE name = 'blocked' FOR UPDATE").unwrap();
    let words = ["another transaction holds a lock", "pg_locks", "idle in transaction", "try again"];
    let error = leader.store.request_handover(&leader.key, None).await.unwrap_err();
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Refused, &words);
    session.run("COMMIT").unwrap();
    assert!(leader.store.request_handover(&leader.key, None).await.unwrap());
}

#[tokio::test]
async fn a_row_that_somebody_keeps_locked_costs_nobody_else() {
    let place = OwnDatabase::new().await;
    let store = place.store();
    let [blocked, free] = ["blocked", "free"].map(|election| StoreCandidate::new(&store, election, "a"));
    let terms = [blocked.granted().await, free.granted().await];
    let mut session = place.database.session();
    session.run("BEGIN; SELECT FROM tenure.election WHERE name = 'blocked' FOR UPDATE").unwrap();

    let mut replies = store.renew(&[blocked.renewal(terms[0]), free.renewal(terms[1])]).await;
    assert!(replies.pop().unwrap().is_ok());
    let words = ["another transaction holds a lock", "pg_locks", "idle in transaction"];
    assert_told(&replies.pop().unwrap().unwrap_err(), StoreErrorKind::Unavailable, WriteOutcome::Refused, &words);
    let error = blocked.resign().await.unwrap_err();
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Refused, &words);
    let newcomer = StoreCandidate::new(&store, "new", "b");
    let mut replies = store.campaign(&[blocked.request(), newcomer.request()]).await;
    crate::support::granted(replies.pop().unwrap());
    let waits = held(replies.pop().unwrap());
    assert!(waits.leader.is_none() && waits.remaining <= Duration::from_millis(100), "{waits:?}");

    session.run("ROLLBACK").unwrap();
    blocked.keeps(terms[0]).await;
}

/// Ends a request of the application while the server works on it, with this function.
async fn interrupted(place: &OwnDatabase, with: &str) -> StoreError {
    let candidate = StoreCandidate::new(&place.store(), "e", "a");
    candidate.granted().await;
    let mut session = place.database.session();
    session.run("BEGIN; LOCK TABLE tenure.election IN ACCESS EXCLUSIVE MODE").unwrap();
    let keys: [ElectionKey; 1] = [candidate.key.clone()];
    let request = candidate.store.observe(&keys);
    let interruption = async {
        let sql = format!(
            "SELECT {with}(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename = '{APP}' AND wait_event_type = 'Lock'"
        );
        until("a request that waits", async || (!place.database.sql(&sql).is_empty()).then_some(())).await;
    };
    let (mut replies, ()) = tokio::join!(request, interruption);
    session.run("ROLLBACK").unwrap();
    let error = replies.remove(0).unwrap_err();
    assert_discreet(&error);
    until("an answer", async || candidate.campaign().await.ok()).await;
    error
}

#[tokio::test]
async fn a_request_that_somebody_cancels() {
    let error = interrupted(&OwnDatabase::new().await, "pg_cancel_backend").await;
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Refused, &["57014"]);
}

#[tokio::test]
async fn a_session_that_somebody_ends() {
    let error = interrupted(&OwnDatabase::new().await, "pg_terminate_backend").await;
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Unknown, &["the connection was lost", "57P01"]);
}

#[test]
fn an_address_that_makes_no_sense_does_not_show_its_password() {
    let url = format!("postgres://{APP}:{PASSWORD}@127.0.0.1:port/x").parse().unwrap();
    let error = PostgresConfig::from_url(&url).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Configuration, "{error}");
    assert_discreet(&error);
}

#[tokio::test]
async fn a_connection_that_was_given_up_does_not_stay_open() {
    let place = OwnDatabase::new().await;
    let candidate = StoreCandidate::new(&place.store(), "e", "a");
    let _hints = candidate.store.watch(Interest::Own);
    let term = candidate.granted().await;
    let sessions = || {
        place.database.sql("SELECT pid FROM pg_stat_activity WHERE usename = 'app' AND datname = current_database()")
    };
    let before = until("a connection for requests and one to listen", async || {
        Some(sessions()).filter(|sessions| sessions.len() == 2)
    })
    .await;
    let mut session = SqlSession::open(&place.database.url()).unwrap();
    session.run("BEGIN; LOCK TABLE tenure.election IN ACCESS EXCLUSIVE MODE").unwrap();
    until("a connection beside the one that was given up", async || {
        tokio::time::timeout(Duration::from_millis(50), candidate.campaign()).await.expect_err("it is locked");
        sessions().iter().any(|session| !before.contains(session)).then_some(())
    })
    .await;
    session.run("ROLLBACK").unwrap();
    until("two connections again", async || (sessions().len() == 2).then_some(())).await;
    candidate.keeps(term).await;
}

#[tokio::test]
async fn a_row_that_was_never_written_like_this_leaves_the_others_alone() {
    let place = OwnDatabase::new().await;
    let store = place.store();
    let candidates = ["first", "middle", "last"].map(|election| StoreCandidate::new(&store, election, "a"));
    let term = candidates[1].granted().await;
    candidates[1].resign().await.unwrap();
    for (damage, words) in [("last_term = -5", "last_term is -5"), ("leader = 'x', expires_at = NULL", "is null")] {
        place.database.sql(&format!("UPDATE tenure.election SET {damage} WHERE name = 'middle'"));
        let requests = candidates.each_ref().map(StoreCandidate::request);
        let mut replies = store.campaign(&requests).await;
        let error = replies.remove(1).unwrap_err();
        let words = ["election middle", "the table election", words, "tenure forget middle"];
        assert_told(&error, StoreErrorKind::Corrupt, WriteOutcome::Refused, &words);
        assert_eq!(error.damaged_record().map(|key| key.name.as_str()), Some("middle"));
        assert_eq!(replies.into_iter().map(granted).count(), 2);
        place.database.sql(&format!("UPDATE tenure.election SET last_term = {term} WHERE name = 'middle'"));
    }
}
