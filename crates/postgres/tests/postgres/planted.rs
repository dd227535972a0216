//! Other roles that leave functions, triggers and schemas about, in the hope that somebody with more rights runs them.

use tenure::store::StoreErrorKind;
use tenure::store::postgres::Migration;
use tenure_core::WriteOutcome;
use tenure_testkit::postgres::{PgBouncer, PoolMode, PostgresServer, SqlSession};

use crate::support::{APP, OwnDatabase, PASSWORD, POSTGRES, StoreCandidate, assert_told, config, migrate, options};

/// A role that may create things in `public`, and what has run there in the name of others.
struct Mallory {
    name: String,
    session: SqlSession,
}

impl Mallory {
    fn in_database(place: &OwnDatabase) -> Self {
        let name = format!("mallory_{}", place.database.name);
        POSTGRES.create_role(&name, PASSWORD);
        place.database.sql(&format!("GRANT CREATE ON SCHEMA public TO {name}"));
        let mut session = SqlSession::open(&place.database.url_as(&name, PASSWORD)).unwrap();
        session.run(TRAP).unwrap();
        Self { name, session }
    }

    fn run(&mut self, sql: &str) {
        self.session.run(sql).unwrap();
    }

    /// Who has run something of hers.
    fn victims(&mut self) -> Vec<String> {
        self.session.run("SELECT DISTINCT who FROM public.caught").unwrap().into_iter().flatten().flatten().collect()
    }
}

const TRAP: &str = "
    CREATE TABLE public.caught (who text);
    GRANT ALL ON public.caught TO PUBLIC;
    CREATE FUNCTION public.caught() RETURNS void LANGUAGE sql AS 'INSERT INTO public.caught VALUES (current_user)';
";

/// Each is a better match than the one that is meant, unless that is named in full.
const BETTER_MATCHES: &str = "
    CREATE FUNCTION public.hashtextextended(text, integer) RETURNS bigint LANGUAGE sql AS
        'SELECT public.caught(); SELECT 7::bigint';
    CREATE FUNCTION public.concat_all(text, name) RETURNS text LANGUAGE sql AS
        'SELECT public.caught(); SELECT $1';
    CREATE OPERATOR public.|| (LEFTARG = text, RIGHTARG = name, FUNCTION = public.concat_all);
    CREATE FUNCTION public.times(numeric, integer) RETURNS numeric LANGUAGE sql AS
        'SELECT public.caught(); SELECT $1 OPERATOR(pg_catalog.*) $2::numeric';
    CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = public.times);
    CREATE FUNCTION public.unnest(text[]) RETURNS SETOF text LANGUAGE sql AS
        'SELECT public.caught(); SELECT pg_catalog.unnest($1)';
    CREATE FUNCTION public.unnest(uuid[]) RETURNS SETOF uuid LANGUAGE sql AS
        'SELECT public.caught(); SELECT pg_catalog.unnest($1)';
    CREATE FUNCTION public.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS
        'SELECT public.caught(); SELECT $2';
";

#[tokio::test]
async fn a_migration_runs_nothing_that_others_have_left_about() {
    let place = OwnDatabase::empty();
    let mut mallory = Mallory::in_database(&place);
    mallory.run(BETTER_MATCHES);
    place.database.sql("GRANT CREATE ON SCHEMA public TO tenure");
    let migration = Migration::new(&place.owner()).role(APP).unwrap().compat("public").unwrap();
    for _ in 0..2 {
        migration.run().await.unwrap();
    }
    assert_eq!(mallory.victims(), Vec::<String>::new());
    // Whoever runs it by hand has a path of their own.
    let mut owner = SqlSession::open(&place.database.url()).unwrap();
    owner.run("SET search_path = public, pg_catalog").unwrap();
    owner.run(&migration.script()).unwrap();
    assert_eq!(mallory.victims(), Vec::<String>::new());
}

/// It knows the type, because it takes part in elections of its own.
const FOR_CANDIDATES: &str = "
    CREATE FUNCTION public.unnest(tenure.campaign_reply[]) RETURNS SETOF tenure.campaign_reply LANGUAGE sql AS
        'SELECT public.caught(); SELECT * FROM pg_catalog.unnest($1)';
";

#[tokio::test]
async fn a_candidate_runs_nothing_that_other_candidates_have_left_about() {
    let place = OwnDatabase::new().await;
    let mut mallory = Mallory::in_database(&place);
    Migration::new(&place.owner()).role(&mallory.name).unwrap().run().await.unwrap();
    mallory.run(BETTER_MATCHES);
    mallory.run(FOR_CANDIDATES);
    let leader = StoreCandidate::new(&place.store(), "e", "leader");
    let term = leader.granted().await;
    leader.keeps(term).await;
    StoreCandidate::new(&leader.store, "e", "other").held().await;
    leader.observe().await;
    leader.open_job(term).await.unwrap();
    leader.claim(term, 110).await.unwrap();
    leader.store.examine().await;
    leader.resign().await.unwrap();
    let advisory = place.url().replacen("postgres://", "postgres+advisory://", 1);
    let locker = StoreCandidate::at(&advisory, "7", "locker");
    let term = locker.granted().await;
    locker.keeps(term).await;
    locker.store.examine().await;
    locker.resign().await.unwrap();
    assert_eq!(mallory.victims(), Vec::<String>::new());
}

/// Where a pooler keeps settings from the server, names have to be enough.
#[tokio::test]
async fn behind_a_pooler_a_candidate_runs_nothing_of_others_either() {
    let server = PostgresServer::start_with(options());
    migrate(&server.url()).await;
    server.sql(&format!("GRANT CREATE ON SCHEMA public TO {APP}"));
    server.sql(&[TRAP, BETTER_MATCHES, FOR_CANDIDATES].concat());
    let pooler = PgBouncer::start(&server, PoolMode::Transaction, 3);
    let leader = StoreCandidate::at(&pooler.url_as(APP, PASSWORD), "e", "leader");
    let term = leader.granted().await;
    leader.keeps(term).await;
    StoreCandidate::new(&leader.store, "e", "other").held().await;
    leader.store.examine().await;
    leader.resign().await.unwrap();
    assert_eq!(server.sql("SELECT who FROM caught"), Vec::<Vec<Option<String>>>::new());
}

#[tokio::test]
async fn what_somebody_else_owns_is_not_built_upon() {
    for (left_about, named) in [
        ("CREATE SCHEMA tenure AUTHORIZATION {mallory}", "\"tenure\" belongs to"),
        (
            "CREATE SCHEMA tenure AUTHORIZATION tenure; CREATE TABLE tenure.version (is_only boolean, version integer); \
             ALTER TABLE tenure.version OWNER TO {mallory}",
            "tenure.version",
        ),
        (
            "CREATE SCHEMA tenure AUTHORIZATION tenure; CREATE FUNCTION tenure.be_durable() RETURNS void LANGUAGE sql AS ''; \
             ALTER FUNCTION tenure.be_durable() OWNER TO {mallory}",
            "tenure.be_durable()",
        ),
    ] {
        let place = OwnDatabase::empty();
        let mallory = Mallory::in_database(&place);
        place.database.sql(&left_about.replace("{mallory}", &mallory.name));
        let error = Migration::new(&place.owner()).run().await.unwrap_err();
        assert_told(&error, StoreErrorKind::Denied, WriteOutcome::NotSent, &[named, &mallory.name, "OWNER TO"]);
    }
}

#[tokio::test]
async fn of_a_schema_that_is_somebody_elses_altogether_a_few_names_are_told() {
    let place = OwnDatabase::new().await;
    let error = Migration::new(&config(&place.url())).run().await.unwrap_err();
    assert_told(
        &error,
        StoreErrorKind::Denied,
        WriteOutcome::NotSent,
        &["belongs to tenure", " more (TE003)", "as that user"],
    );
    assert!(error.to_string().len() < 500, "{error}");
}

#[tokio::test]
async fn a_trigger_that_others_have_put_on_a_table_of_ours_stops_the_migration() {
    let place = OwnDatabase::new().await;
    let mut mallory = Mallory::in_database(&place);
    place
        .database
        .sql(&format!("GRANT USAGE ON SCHEMA tenure TO {0}; GRANT TRIGGER ON tenure.version TO {0}", mallory.name));
    mallory.run(
        "CREATE FUNCTION public.trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM public.caught(); RETURN NEW; END $$; \
         CREATE TRIGGER trap BEFORE INSERT OR UPDATE ON tenure.version FOR EACH ROW EXECUTE FUNCTION public.trap()",
    );
    let error = Migration::new(&place.owner()).run().await.unwrap_err();
    assert_told(&error, StoreErrorKind::Denied, WriteOutcome::NotSent, &["trigger trap on tenure.version"]);
    assert_eq!(mallory.victims(), Vec::<String>::new());
}

/// A table of the recipe may be somebody else's, and is read by whoever migrates.
#[tokio::test]
async fn a_recipe_that_would_run_code_of_its_owner_is_not_taken_over() {
    let place = OwnDatabase::empty();
    let mut mallory = Mallory::in_database(&place);
    mallory.run(
        "CREATE TYPE public.trap AS ENUM ('a'); \
         CREATE FUNCTION public.spring(public.trap) RETURNS text LANGUAGE sql AS 'SELECT public.caught(); SELECT ''{}''::text'; \
         CREATE CAST (public.trap AS text) WITH FUNCTION public.spring(public.trap); \
         CREATE TABLE public.leader_election (service_name varchar(255) PRIMARY KEY, leader_id varchar(255) NOT NULL, \
             term integer NOT NULL DEFAULT 1, last_heartbeat timestamptz NOT NULL DEFAULT now(), metadata public.trap); \
         INSERT INTO public.leader_election VALUES ('e', 'a', 1, now(), 'a')",
    );
    let admin = format!("admin_{}", place.database.name);
    POSTGRES.create_role(&admin, PASSWORD);
    place.database.sql(&format!("ALTER ROLE {admin} SUPERUSER"));
    let administrator = config(&place.database.url_as(&admin, PASSWORD));
    let error = Migration::new(&administrator).compat("public").unwrap().run().await.unwrap_err();
    assert_told(&error, StoreErrorKind::Denied, WriteOutcome::NotSent, &["leader_election", &mallory.name]);
    assert_eq!(mallory.victims(), Vec::<String>::new());

    mallory.run("DROP TABLE public.leader_election; CREATE VIEW public.leader_election AS SELECT 1 AS term");
    let error = Migration::new(&administrator).compat("public").unwrap().run().await.unwrap_err();
    assert_told(&error, StoreErrorKind::Denied, WriteOutcome::NotSent, &["leader_election", &mallory.name]);
}

#[tokio::test]
async fn rights_that_everything_new_gets_are_not_left_on_tables_and_helpers() {
    let place = OwnDatabase::empty();
    let mallory = Mallory::in_database(&place);
    let mut owner = SqlSession::open(&place.database.url()).unwrap();
    for what in ["TABLES", "FUNCTIONS", "SCHEMAS"] {
        owner.run(&format!("ALTER DEFAULT PRIVILEGES GRANT ALL ON {what} TO {}, PUBLIC", mallory.name)).unwrap();
    }
    Migration::new(&place.owner()).role(APP).unwrap().run().await.unwrap();
    let open = format!(
        "SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'tenure'::regnamespace AND relkind = 'r' \
             AND has_table_privilege('{0}', oid, 'SELECT, INSERT, UPDATE, DELETE, TRIGGER') \
         UNION ALL SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'tenure'::regnamespace \
             AND has_function_privilege('{0}', oid, 'EXECUTE') \
         UNION ALL SELECT 'the schema' WHERE has_schema_privilege('{0}', 'tenure', 'USAGE, CREATE')",
        mallory.name
    );
    assert_eq!(place.database.sql(&open), Vec::<Vec<Option<String>>>::new());
    StoreCandidate::new(&place.store(), "e", "leader").granted().await;

    // What an administrator grants later stays.
    place.database.sql(&format!("GRANT SELECT ON tenure.election TO {}", mallory.name));
    Migration::new(&place.owner()).role(APP).unwrap().run().await.unwrap();
    let kept = format!("SELECT has_table_privilege('{}', 'tenure.election', 'SELECT')", mallory.name);
    assert_eq!(place.value(&kept).as_deref(), Some("t"));
}

/// They look at whatever their caller's path leads to, so only functions that have a path of their own may call them.
#[tokio::test]
async fn functions_without_a_path_of_their_own_can_be_called_by_none_but_their_owner() {
    let place = OwnDatabase::new().await;
    let callable = format!(
        "SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'tenure'::regnamespace \
         AND NOT coalesce(proconfig::text LIKE '%search_path=pg_catalog, pg_temp%', false) \
         AND has_function_privilege('{APP}', oid, 'EXECUTE')"
    );
    assert_eq!(place.database.sql(&callable), Vec::<Vec<Option<String>>>::new());
}
