//! What the server confirmed, it keeps.

use std::time::Duration;

use tenure::store::Severity;
use tenure_testkit::eventually;
use tenure_testkit::postgres::{PostgresServer, Standby};

use crate::support::{APP, OwnDatabase, PASSWORD, StoreCandidate, migrate, open, options, until};

#[tokio::test]
async fn what_was_granted_survives_the_death_of_the_server() {
    let server = PostgresServer::start_with(options().durable());
    migrate(&server.url()).await;
    // Whatever the role has set.
    server.sql("ALTER ROLE app SET synchronous_commit = off");
    let leader = StoreCandidate::new(&open(&server.url_as(APP, PASSWORD)), "e", "leader");
    let term = leader.granted().await;
    server.kill();

    server.restart();
    let lease =
        until("an answer", async || leader.store.observe(std::slice::from_ref(&leader.key)).await.remove(0).ok())
            .await
            .lease
            .expect("the lease that was granted");
    assert_eq!((lease.leader.term, lease.leader.candidate), (term, leader.id.clone()));
    leader.keeps(term).await;
    server.kill();

    server.restart();
    until("an answer", async || leader.renew(term).await.ok()).await;
    leader.keeps(term).await;
}

/// What is in force when a transaction ends is what counts.
#[tokio::test]
async fn whatever_is_set_all_that_counts_is_committed_at_least_as_a_synchronous_standby_needs_it() {
    let place = OwnDatabase::new().await;
    place.database.sql(
        "CREATE TABLE commits (level text); \
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS \
         $$ BEGIN INSERT INTO public.commits VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$",
    );
    for table in ["election", "run", "message"] {
        place.database.sql(&format!(
            "CREATE CONSTRAINT TRIGGER note AFTER INSERT OR UPDATE ON tenure.{table} DEFERRABLE INITIALLY DEFERRED \
             FOR EACH ROW EXECUTE FUNCTION public.note()"
        ));
    }
    let settings = ["off", "local", "remote_write", "on", "remote_apply"];
    for (setting, expected) in settings.into_iter().zip(["on", "on", "on", "on", "remote_apply"]) {
        place.database.sql(&format!("ALTER DATABASE {} SET synchronous_commit = {setting}", place.database.name));
        let leader = StoreCandidate::new(&place.store(), setting, "leader");
        let term = leader.granted().await;
        leader.keeps(term).await;
        leader.open_job(term).await.unwrap();
        leader.claim(term, 110).await.unwrap();
        leader.give_back(term, 110).await.unwrap();
        leader.resign().await.unwrap();
        let levels = place.database.sql("SELECT DISTINCT level FROM commits");
        assert_eq!(levels, [[Some(expected.to_owned())]], "with {setting}");
        assert!(place.value("SELECT count(*) FROM commits").unwrap().parse::<u32>().unwrap() >= 5);
        place.database.sql("TRUNCATE commits");
    }
}

#[tokio::test]
async fn what_only_the_primary_has_is_no_grant_where_standbys_confirm() {
    let primary = PostgresServer::start_with(options());
    migrate(&primary.url()).await;
    let standby = Standby::of(&primary);
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
    primary.sql("SELECT pg_reload_conf()");
    let is_synchronous = || primary.sql("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'").len() == 1;
    eventually("a standby that confirms", is_synchronous);
    primary.sql("ALTER ROLE app SET synchronous_commit = local");
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", primary.port(), standby.port());
    let address = format!("postgres://{APP}:{PASSWORD}@{hosts}/postgres");
    let (first, second) = (StoreCandidate::at(&address, "e", "first"), StoreCandidate::at(&address, "e", "second"));
    let term = first.granted().await;
    let findings = first.store.examine().await;
    let replication = findings.iter().find(|finding| finding.check == "replication").unwrap();
    assert!(replication.severity == Severity::Warning && replication.detail.contains("local"), "{replication:?}");
    first.resign().await.unwrap();

    standby.cut();
    let unconfirmed = tokio::time::timeout(Duration::from_secs(1), first.campaign()).await;
    assert!(unconfirmed.is_err(), "a grant that only the primary has: {unconfirmed:?}");
    primary.kill();
    standby.promote();
    let next = second.granted_soon().await;
    assert!(next > term, "{next:?} after {term:?}");
    assert_eq!(first.held().await.leader.unwrap().candidate, second.id);
}

/// The server then says that all is well, and warns that it may not be.
#[tokio::test]
async fn a_wait_for_a_standby_that_somebody_cancels_grants_nothing() {
    let server = PostgresServer::start_with(options());
    migrate(&server.url()).await;
    let confirm = |names: &str| {
        server.sql(&format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        server.sql("SELECT pg_reload_conf()");
        eventually("the setting", || server.value("SHOW synchronous_standby_names").as_deref() == Some(names));
    };
    let candidate = StoreCandidate::at(&server.url_as(APP, PASSWORD), "e", "candidate");
    candidate.observe().await;
    confirm("nobody");
    // It waits for a standby that there is not, and everybody sees that it has committed when it is cancelled.
    let cancel = async {
        let cancelled = "SELECT FROM pg_stat_activity \
                         WHERE CASE WHEN wait_event = 'SyncRep' THEN pg_cancel_backend(pid) ELSE false END";
        until("a campaign that waits", async || (!server.sql(cancelled).is_empty()).then_some(())).await;
    };
    let (reply, ()) = tokio::join!(candidate.campaign(), cancel);
    assert!(reply.is_err(), "what no standby has was granted: {reply:?}");
    confirm("");
    candidate.granted_soon().await;
}
