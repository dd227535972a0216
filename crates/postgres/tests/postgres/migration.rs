//! The schema: made once, by whoever may, under any name, and by hand as well.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use futures_util::future::join_all;
use tenure::Store;
use tenure::store::ledger::{Claimed, Opened, OpenedJob, Tick};
use tenure::store::postgres::{Migration, PostgresConfig, PostgresStore};
use tenure::store::{NewMessage, StoreErrorKind, random_message_id};
use tenure_core::WriteOutcome;

use crate::support::{APP, OwnDatabase, StoreCandidate, assert_told, config, id, key};

#[tokio::test]
async fn ten_at_once_make_one_schema() {
    let place = OwnDatabase::empty();
    let migration = Migration::new(&place.owner()).role(APP).unwrap();
    for result in join_all((0..10).map(|_| migration.run())).await {
        result.unwrap();
    }
    assert_eq!(place.value("SELECT count(*) FROM pg_namespace WHERE nspname = 'tenure'").unwrap(), "1");
    assert_eq!(place.value("SELECT version FROM tenure.version").unwrap(), "8");
    StoreCandidate::new(&place.store(), "e", "a").granted().await;
}

#[tokio::test]
async fn running_it_again_changes_nothing() {
    let place = OwnDatabase::empty();
    let migration = Migration::new(&place.owner()).role(APP).unwrap().compat("public").unwrap();
    migration.run().await.unwrap();
    let leader = StoreCandidate::new(&place.store(), "e", "a");
    let term = leader.granted().await;
    let before = shape(&place);
    assert!(before.len() > 30, "{before:#?}");
    migration.run().await.unwrap();
    assert_eq!(shape(&place), before);
    leader.keeps(term).await;
}

#[tokio::test]
async fn what_psql_runs_is_the_same() {
    let [by_hand, by_us] = [OwnDatabase::empty(), OwnDatabase::empty()];
    let migration = |place: &OwnDatabase| Migration::new(&place.owner()).role(APP).unwrap().compat("public").unwrap();
    migration(&by_us).run().await.unwrap();
    for _ in 0..2 {
        psql(&by_hand.database.url(), &migration(&by_hand).script());
        assert_eq!(shape(&by_hand), shape(&by_us));
    }
    StoreCandidate::new(&by_hand.store(), "e", "a").granted().await;
}

#[tokio::test]
async fn who_may_not_is_told_who_may() {
    let place = OwnDatabase::empty();
    let error = Migration::new(&config(&place.url())).run().await.unwrap_err();
    let words = ["permission denied", "as the owner of the database", "tenure migrate --print"];
    assert_told(&error, StoreErrorKind::Denied, WriteOutcome::NotSent, &words);
    assert_eq!(place.value("SELECT to_regnamespace('tenure')"), None, "nothing is left behind");
}

#[tokio::test]
async fn a_role_that_is_missing_is_named() {
    let place = OwnDatabase::empty();
    let migration = Migration::new(&place.owner()).role("nobody").unwrap();
    let error = migration.run().await.unwrap_err();
    assert_told(&error, StoreErrorKind::Missing, WriteOutcome::NotSent, &["\"nobody\"", "create it first"]);
    assert_eq!(place.value("SELECT to_regnamespace('tenure')"), None, "all or nothing");
}

#[tokio::test]
async fn any_name_that_the_server_takes_will_do() {
    let place = OwnDatabase::empty();
    let longest = "ü".repeat(31) + "x";
    assert_eq!(longest.len(), 63);
    let names = [
        "it's \"quoted\" \\ %s %I",
        "two words",
        "schlüssel 🦀",
        "SELECT",
        "$$",
        "$tenure$ $_tenure",
        "{schema} {version} {compat}",
        "a; DROP TABLE version",
        &longest,
    ];
    let trials = names.iter().map(async |name| {
        let (owner, app) = (place.owner().schema(name).unwrap(), config(&place.url()).schema(name).unwrap());
        let compat = if name.len() == 63 { "public".to_owned() } else { format!("{name}+") };
        let make = format!(
            "CREATE SCHEMA IF NOT EXISTS \"{0}\"; GRANT ALL ON SCHEMA \"{0}\" TO tenure",
            compat.replace('"', "\"\"")
        );
        place.database.sql(&make);
        let migration = Migration::new(&owner).role(APP).unwrap().compat(&compat).unwrap();
        migration.run().await.unwrap_or_else(|error| panic!("{name}: {error}"));
        migration.run().await.unwrap_or_else(|error| panic!("{name}, again: {error}"));
        holds_an_election(&app).await;
    });
    join_all(trials).await;
}

#[tokio::test]
async fn names_that_the_server_would_cut_short_are_refused() {
    let place = OwnDatabase::empty();
    for (name, why) in [("x".repeat(64), "63 bytes"), ("ü".repeat(32), "63 bytes"), (String::new(), "empty")] {
        let refusals = [
            place.owner().schema(&name).map(drop),
            Migration::new(&place.owner()).role(&name).map(drop),
            Migration::new(&place.owner()).compat(&name).map(drop),
        ];
        for refusal in refusals {
            assert_told(&refusal.unwrap_err(), StoreErrorKind::Configuration, WriteOutcome::NotSent, &[why]);
        }
    }
    let url = format!("{}?schema={}", place.url(), "x".repeat(64));
    let error = PostgresConfig::from_url(&url.parse().unwrap()).unwrap_err();
    assert_told(&error, StoreErrorKind::Configuration, WriteOutcome::NotSent, &["63 bytes"]);
}

#[tokio::test]
async fn the_schema_of_another_version_is_left_alone() {
    let place = OwnDatabase::new().await;
    place.database.sql("UPDATE tenure.version SET version = 99");
    let before = shape(&place);
    let error = Migration::new(&place.owner()).role(APP).unwrap().run().await.unwrap_err();
    assert_told(
        &error,
        StoreErrorKind::Schema,
        WriteOutcome::NotSent,
        &["newer version of tenure", "upgrade this program"],
    );
    assert_eq!(shape(&place), before);
    let error = StoreCandidate::new(&place.store(), "e", "a").refused().await;
    assert_told(
        &error,
        StoreErrorKind::Schema,
        WriteOutcome::NotSent,
        &["newer version of tenure", "99", "upgrade this program"],
    );

    place.database.sql("UPDATE tenure.version SET version = 0");
    let error = StoreCandidate::new(&place.store(), "e", "a").refused().await;
    assert_told(&error, StoreErrorKind::Schema, WriteOutcome::NotSent, &["version 0", "run `tenure migrate`"]);
}

/// What the first version had in place of the present function.
const OPEN_JOBS_OF_VERSION_1: &str = "
    DROP FUNCTION tenure.open_jobs(uuid, uuid, bigint, text[], text[], bigint[], bigint);
    CREATE FUNCTION tenure.open_jobs(
        p_election uuid, p_nonce uuid, p_term bigint, p_jobs text[], p_schedules text[], p_from bigint[], p_jobs_max bigint
    ) RETURNS TABLE (place integer, verdict text, mark bigint, interrupted bigint[])
    LANGUAGE plpgsql AS 'BEGIN END';
    ALTER FUNCTION tenure.open_jobs(uuid, uuid, bigint, text[], text[], bigint[], bigint) OWNER TO tenure;
    REVOKE ALL ON FUNCTION tenure.open_jobs(uuid, uuid, bigint, text[], text[], bigint[], bigint) FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION tenure.open_jobs(uuid, uuid, bigint, text[], text[], bigint[], bigint) TO app;
    DROP INDEX tenure.run_not_begun;
    DROP INDEX tenure.stand_by_stale;
    DROP INDEX tenure.stand_by_named;
    UPDATE tenure.version SET version = 1";

/// What the second version had in place of the present function and column.
const JOBS_OF_VERSION_2: &str = "
    DROP FUNCTION tenure.jobs(uuid, bigint);
    CREATE FUNCTION tenure.jobs(p_election uuid, p_runs_max bigint) RETURNS TABLE (job text, schedule text)
    LANGUAGE sql AS 'SELECT NULL::text, NULL::text WHERE false';
    ALTER FUNCTION tenure.jobs(uuid, bigint) OWNER TO tenure;
    REVOKE ALL ON FUNCTION tenure.jobs(uuid, bigint) FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION tenure.jobs(uuid, bigint) TO app;
    DROP FUNCTION tenure.finish;
    CREATE FUNCTION tenure.finish(uuid[], uuid[], bigint[], text[], bigint[], bigint[], text[], text[]) RETURNS integer[]
    LANGUAGE sql AS 'SELECT NULL::integer[]';
    ALTER FUNCTION tenure.finish OWNER TO tenure;
    REVOKE ALL ON FUNCTION tenure.finish FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION tenure.finish TO app;
    DROP FUNCTION tenure.steer_job;
    ALTER TABLE tenure.job DROP COLUMN skipped, DROP COLUMN paused_at, DROP COLUMN requested;
    ALTER TABLE tenure.run DROP COLUMN retries;
    UPDATE tenure.version SET version = 2";

#[tokio::test]
async fn the_second_version_is_brought_up_to_date_with_its_jobs_and_its_roles() {
    let place = OwnDatabase::new().await;
    let (before, leader) = (shape(&place), StoreCandidate::new(&place.store(), "e", "a"));
    let term = leader.granted().await;
    leader.open_job(term).await.unwrap();
    assert_eq!(leader.claim(term, 200).await.unwrap(), Claimed::Granted);
    place.database.sql(JOBS_OF_VERSION_2);
    for _ in 0..2 {
        Migration::new(&place.owner()).run().await.unwrap();
        let after = shape(&place);
        // A column that comes back has another number.
        let is_number = |line: &&String| {
            [" skipped ", " retries ", " paused_at ", " requested "].iter().any(|column| line.contains(column))
        };
        let changed = before.iter().filter(|line| !after.contains(line)).filter(|line| !is_number(line));
        let functions = |shape: &[String]| shape.iter().filter(|line| line.contains("FUNCTION")).count();
        assert_eq!(changed.collect::<Vec<_>>(), Vec::<&String>::new());
        assert_eq!(functions(&after), functions(&before));
    }
    let store = place.store();
    let leader = StoreCandidate { store: Arc::clone(&store), ..leader };
    assert!(leader.give_back(term, 200).await.unwrap());
    let jobs = store.ledger().unwrap().jobs(&leader.key, 10).await.unwrap();
    assert_eq!((jobs.len(), jobs[0].fired, jobs[0].missed, jobs[0].runs.len()), (1, 0, 1, 1));
}

#[tokio::test]
async fn the_first_version_is_brought_up_to_date_with_its_jobs_and_its_roles() {
    let place = OwnDatabase::new().await;
    let (before, leader) = (shape(&place), StoreCandidate::new(&place.store(), "e", "a"));
    let term = leader.granted().await;
    leader.open_job(term).await.unwrap();
    for second in [200, 300] {
        assert_eq!(leader.claim(term, second).await.unwrap(), Claimed::Granted);
    }
    place.database.sql(OPEN_JOBS_OF_VERSION_1);
    let error = StoreCandidate::new(&place.store(), "e", "b").refused().await;
    assert_told(
        &error,
        StoreErrorKind::Schema,
        WriteOutcome::NotSent,
        &["version 1, but 8 is needed", "run `tenure migrate`"],
    );

    // No role is named: whoever could call the functions still can.
    for _ in 0..2 {
        Migration::new(&place.owner()).run().await.unwrap();
        assert_eq!(shape(&place), before);
    }
    let leader = StoreCandidate { store: place.store(), ..leader };
    assert!(leader.give_back(term, 200).await.unwrap());
    leader.resign().await.unwrap();
    let next = leader.granted().await;
    let [mark, unbegun] = [300, 200].map(Tick::from_unix_s);
    let opened = OpenedJob { mark, interrupted: vec![mark], unbegun: vec![unbegun], is_paused: false, requested: None };
    assert_eq!(leader.open_job(next).await.unwrap(), Opened::Jobs(vec![opened]));
    assert_eq!(leader.claim_again(next, 200).await.unwrap(), Claimed::Granted);
}

#[tokio::test]
async fn the_first_version_is_brought_up_to_date_for_its_owner_alone_and_without_jobs() {
    let [unshared, jobless] = [OwnDatabase::empty(), OwnDatabase::empty()];
    for place in [&unshared, &jobless] {
        Migration::new(&place.owner()).run().await.unwrap();
        let before = shape(place);
        place.database.sql(OPEN_JOBS_OF_VERSION_1);
        place.database.sql("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA tenure FROM app");
        if std::ptr::eq(place, &jobless) {
            place.database.sql("DROP FUNCTION tenure.open_jobs; DROP TABLE tenure.job, tenure.run CASCADE");
        }
        Migration::new(&place.owner()).run().await.unwrap();
        assert_eq!(shape(place), before);
    }
}

/// What the sixth version had in place of the present function, and without the names of mailboxes.
const MAILBOX_OF_VERSION_6: &str = "
    DROP FUNCTION tenure.send, tenure.count_messages;
    ALTER TABLE tenure.mailbox DROP COLUMN namespace, DROP COLUMN name;
    CREATE FUNCTION tenure.send(uuid[], uuid[], text[], text[], text[], bigint) RETURNS integer[]
    LANGUAGE sql AS 'SELECT NULL::integer[]';
    ALTER FUNCTION tenure.send OWNER TO tenure;
    REVOKE ALL ON FUNCTION tenure.send FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION tenure.send TO app;
    UPDATE tenure.version SET version = 6";

#[tokio::test]
async fn the_sixth_version_is_brought_up_to_date_with_the_names_of_its_mailboxes() {
    let place = OwnDatabase::new().await;
    let before = shape(&place);
    let leader = StoreCandidate::new(&place.store(), "led", "a");
    leader.granted().await;
    let send = async |election: &str| {
        let sender = tenure::Sender::from(id("a"));
        let (key, channel) = (key(election), tenure::ChannelName::new("c").unwrap());
        let new_message = NewMessage { key, id: random_message_id(), channel, sender, payload: Arc::from("1") };
        place.store().mailbox().unwrap().send(&[new_message]).await.remove(0).unwrap();
    };
    let counted = async || {
        let counts = place.store().mailbox().unwrap().counts(&leader.key.namespace, None).await.unwrap();
        counts.into_iter().flatten().map(|count| (count.election.to_string(), count.waiting)).collect::<Vec<_>>()
    };
    send("led").await;
    send("unknown").await;
    place.database.sql(MAILBOX_OF_VERSION_6);
    // No role is named: whoever could send still can, and count.
    for _ in 0..2 {
        Migration::new(&place.owner()).run().await.unwrap();
        // A column that comes back has another number.
        let is_number = |line: &&String| line.starts_with("tenure.mailbox ");
        let after = shape(&place);
        let changed = before.iter().filter(|line| !is_number(line) && !after.contains(line));
        assert_eq!(changed.collect::<Vec<_>>(), Vec::<&String>::new());
    }
    assert_eq!(counted().await, [("led".to_owned(), 1)]);
    send("unknown").await;
    assert_eq!(counted().await, [("led".to_owned(), 1), ("unknown".to_owned(), 2)], "its name is known by now");
}

#[tokio::test]
async fn schemas_of_one_database_do_not_meet() {
    let place = OwnDatabase::new().await;
    let elsewhere = place.owner().schema("elsewhere").unwrap();
    Migration::new(&elsewhere).role(APP).unwrap().run().await.unwrap();
    let here = StoreCandidate::new(&place.store(), "e", "here");
    here.granted().await;
    holds_an_election(&config(&place.url()).schema("elsewhere").unwrap()).await;
    let history = here.store.history(&here.key, 10).await.unwrap();
    assert!(history.iter().all(|line| line.candidate == id("here")), "{history:?}");
}

/// Goes through all that a store can do.
async fn holds_an_election(config: &PostgresConfig) {
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(config));
    let (first, second) = (StoreCandidate::new(&store, "e", "first"), StoreCandidate::new(&store, "e", "second"));
    let term = first.granted().await;
    first.keeps(term).await;
    assert_eq!(second.held().await.leader.unwrap().term, term);
    assert!(store.request_handover(&first.key, Some(&id("second"))).await.unwrap());
    assert_eq!(first.observe().await.lease.unwrap().leader.candidate, id("first"));
    first.resign().await.unwrap();
    assert!(second.granted().await > term);
    assert_eq!(store.elections(&first.key.namespace).await.unwrap(), std::slice::from_ref(&first.key.name));
    assert_eq!(store.history(&first.key, 10).await.unwrap().len(), 3);
}

/// All that the migration makes, in words.
fn shape(place: &OwnDatabase) -> Vec<String> {
    let sql = "SELECT line FROM (
            SELECT pg_get_functiondef(p.oid) || coalesce(proacl::text, 'everybody') AS line, pronamespace AS place
            FROM pg_proc AS p WHERE prokind = 'f' AND pronamespace <> 'pg_catalog'::regnamespace
        UNION ALL
            SELECT concat_ws(' ', relname, relkind, relacl, reloptions, CASE relkind WHEN 'v' THEN pg_get_viewdef(oid) END),
                relnamespace
            FROM pg_class
        UNION ALL
            SELECT concat_ws(' ', attrelid::regclass, attnum, attname, format_type(atttypid, atttypmod), attnotnull), relnamespace
            FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid WHERE attnum > 0
        UNION ALL
            SELECT concat_ws(' ', conrelid::regclass, pg_get_constraintdef(oid)), connamespace FROM pg_constraint
        UNION ALL
            SELECT concat_ws(' ', nspname, nspacl), oid FROM pg_namespace
    ) AS lines JOIN pg_namespace ON pg_namespace.oid = place
    WHERE nspname IN ('tenure', 'public') ORDER BY line";
    place.database.sql(sql).into_iter().flatten().flatten().collect()
}

fn psql(url: &str, script: &str) {
    let mut psql = Command::new("psql");
    psql.args(["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", url]);
    psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = psql.spawn().unwrap();
    running.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
