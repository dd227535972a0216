//! What a role may that holds elections, and what it may not.

use tenure_testkit::postgres::SqlSession;

use crate::support::{APP, OwnDatabase, PASSWORD, POSTGRES, StoreCandidate};

#[tokio::test]
async fn no_table_is_open_and_nothing_can_be_made() {
    let place = OwnDatabase::new().await;
    StoreCandidate::new(&place.store(), "e", "a").granted().await;
    let tables = names(
        &place,
        "SELECT oid::regclass FROM pg_class WHERE relkind = 'r' AND relnamespace = 'tenure'::regnamespace",
    );
    assert!(tables.len() >= 4, "{tables:?}");
    let mut app = place.session();
    for table in &tables {
        for statement in [
            format!("SELECT FROM {table}"),
            format!("SELECT FROM {table} FOR UPDATE"),
            format!("INSERT INTO {table} DEFAULT VALUES"),
            format!("DELETE FROM {table}"),
            format!("TRUNCATE {table}"),
            format!("COPY {table} TO STDOUT"),
            format!("DROP TABLE {table}"),
        ] {
            assert_denied(&mut app, &statement);
        }
        let may = format!(
            "SELECT has_table_privilege('{APP}', '{table}', 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') OR has_any_column_privilege('{APP}', '{table}', 'SELECT, INSERT, UPDATE, REFERENCES')"
        );
        assert_eq!(place.value(&may).unwrap(), "f", "{table}");
    }
    for statement in [
        "CREATE TABLE tenure.mine ()",
        "CREATE FUNCTION tenure.mine() RETURNS void LANGUAGE sql AS ''",
        "CREATE OR REPLACE FUNCTION tenure.schema_version() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "CREATE TABLE public.mine ()",
        "CREATE SCHEMA mine",
        "ALTER SCHEMA tenure RENAME TO mine",
        "GRANT USAGE ON SCHEMA tenure TO PUBLIC",
    ] {
        // Granting what one has without the right to is only a warning.
        if statement.starts_with("GRANT") {
            app.run(statement).unwrap_or_default();
        } else {
            assert_denied(&mut app, statement);
        }
    }
    assert_eq!(place.value("SELECT nspacl::text LIKE '%{=U%' OR nspacl::text LIKE '%,=U%' FROM pg_namespace WHERE nspname = 'tenure'").unwrap(), "f");
}

/// Functions that work with the rights of whoever calls them are useless to this role.
#[tokio::test]
async fn helpers_write_nothing_for_those_who_call_them_directly() {
    let place = OwnDatabase::new().await;
    let leader = StoreCandidate::new(&place.store(), "e", "a");
    leader.granted().await;
    StoreCandidate::new(&leader.store, "e", "b").held().await;
    let (election, zero) = ("tenure.election_id('default', 'e')", "'00000000-0000-0000-0000-000000000000'::uuid");
    let row = format!(
        "ROW({election}, 'default', 'e', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, 0, 0)::tenure.election"
    );
    let before = contents(&place);
    let mut app = place.session();
    for call in [
        format!("grant_lease({row}, 'thief', {zero}, 1000000, '{{}}', '', clock_timestamp())"),
        format!("successor_of({election}, 'thief', clock_timestamp())"),
        format!("record_transition({election}, 99, clock_timestamp(), 99, 'thief', 'elected', 'granted')"),
        format!("stand_by_for({election}, {zero}, 'thief', 10, 1000000, '', 0, clock_timestamp())"),
        format!(
            "campaign_in(1, {election}, 'default', 'e', 'thief', {zero}, 1000000, 10, '{{}}', 1000000, '', 0, true)"
        ),
        format!(
            "campaign_in_turn(ARRAY[{election}], ARRAY['default'], ARRAY['e'], ARRAY['thief'], ARRAY[{zero}], ARRAY[1000000], ARRAY[10], ARRAY['{{}}'], ARRAY[1000000], '', 0, true)"
        ),
        format!("resign_in({election}, {zero}, NULL, NULL, 'resigned', true)"),
        format!("renew_in(ARRAY[{election}], ARRAY[{zero}], ARRAY[1::bigint], ARRAY[1000000::bigint], '')"),
        format!("claim_in({election}, {zero}, 1, 'thief', 'backup', 1, 'run', 0, 100, 1000)"),
        format!("lock_jobs(ARRAY[{election}], ARRAY['backup'])"),
    ] {
        assert_denied(&mut app, &format!("SELECT tenure.{call}"));
    }
    assert_eq!(contents(&place), before);
}

#[tokio::test]
async fn every_function_with_more_rights_than_its_caller_looks_at_nothing_of_the_callers() {
    let place = OwnDatabase::new().await;
    let unsafe_ones = "SELECT oid::regprocedure FROM pg_proc WHERE prosecdef AND pronamespace = 'tenure'::regnamespace \
                       AND NOT coalesce(proconfig::text LIKE '%search_path=pg_catalog, pg_temp%', false)";
    assert_eq!(names(&place, unsafe_ones), Vec::<String>::new());
    let count = "SELECT count(*) FROM pg_proc WHERE prosecdef AND pronamespace = 'tenure'::regnamespace";
    assert!(place.value(count).unwrap().parse::<u32>().unwrap() >= 8);
    // A table of the caller's own that has the name of ours is not taken for it.
    let mut app = place.session();
    app.run("CREATE TEMP TABLE version AS SELECT 7 AS version; SET search_path = pg_temp, tenure").unwrap();
    assert_eq!(app.run("SELECT tenure.schema_version()").unwrap()[0][0].as_deref(), Some("8"));
}

#[tokio::test]
async fn everybody_else_has_no_rights() {
    let place = OwnDatabase::new().await;
    let stranger = format!("stranger_{}", place.database.name);
    POSTGRES.create_role(&stranger, PASSWORD);
    let open = format!(
        "SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'tenure'::regnamespace AND has_function_privilege('{stranger}', oid, 'EXECUTE')"
    );
    assert_eq!(names(&place, &open), Vec::<String>::new());
    let mut session = SqlSession::open(&place.database.url_as(&stranger, PASSWORD)).unwrap();
    for statement in ["SELECT tenure.schema_version()", "SELECT FROM tenure.version", "SELECT tenure.touch()"] {
        assert_denied(&mut session, statement);
    }
}

fn names(place: &OwnDatabase, sql: &str) -> Vec<String> {
    place.database.sql(sql).into_iter().flatten().flatten().collect()
}

fn contents(place: &OwnDatabase) -> Vec<String> {
    let rows = |table| names(place, &format!("SELECT t::text FROM tenure.{table} AS t ORDER BY 1"));
    ["election", "stand_by", "transition", "version"].into_iter().flat_map(rows).collect()
}

#[track_caller]
fn assert_denied(session: &mut SqlSession, statement: &str) {
    let error = session.run(statement).err().unwrap_or_else(|| panic!("{statement}: was not refused"));
    assert_eq!(error.code(), Some("42501"), "{statement}: {error}");
}
