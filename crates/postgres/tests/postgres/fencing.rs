//! A fence in front of the transactions of a real database.

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::Duration;

use futures_util::future::join_all;
use tenure::Term;
use tenure::fencing::{PostgresFence, PostgresFenceError};
use tenure::store::postgres::{Migration, PostgresConfig};
use tenure_testkit::postgres::{PostgresDatabase, PostgresOptions, PostgresServer};
use tokio_postgres::{Client, IsolationLevel, NoTls};

use tenure_testkit::store_candidate::{StoreCandidate, granted, open, term_of, until};

const APP: &str = "app";
const PASSWORD: &str = "app-password";

static POSTGRES: LazyLock<PostgresServer> =
    LazyLock::new(|| PostgresServer::start_with(PostgresOptions::default().role(APP, PASSWORD).max_connections(200)));

/// A database with a table of payouts in which nothing but the fence keeps an invoice from being paid twice.
struct PayoutDatabase {
    database: PostgresDatabase<'static>,
}

impl PayoutDatabase {
    async fn new() -> Self {
        let database = POSTGRES.new_database();
        let config = PostgresConfig::from_url(&database.url().parse().unwrap()).unwrap();
        Migration::new(&config).role(APP).unwrap().run().await.unwrap();
        database.sql(&format!(
            "CREATE TABLE payouts (invoice bigint, term bigint); GRANT SELECT, INSERT ON payouts TO {APP}"
        ));
        Self { database }
    }

    fn url(&self) -> String {
        self.database.url_as(APP, PASSWORD)
    }

    /// A candidate on a handle of its own.
    fn candidate(&self, name: &str) -> StoreCandidate {
        StoreCandidate::new(&open(&self.url()), "payouts", name)
    }

    async fn client(&self) -> Client {
        client(&self.url()).await
    }

    fn paid(&self) -> Vec<String> {
        self.database.sql("SELECT invoice FROM payouts ORDER BY 1").into_iter().flatten().flatten().collect()
    }
}

async fn client(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    // How it ends is told to whoever asks through the client.
    tokio::spawn(async { drop(connection.await) });
    client
}

fn fence(term: Term) -> PostgresFence {
    PostgresFence::new("payouts", term)
}

/// Pays an invoice as the leader of this term.
async fn pay(client: &mut Client, term: Term, invoice: i64) -> Result<(), PostgresFenceError> {
    let transaction = client.transaction().await.unwrap();
    let fence = fence(term);
    fence.check(&transaction).await?;
    transaction.execute("INSERT INTO payouts VALUES ($1, $2)", &[&invoice, &fence.term()]).await.unwrap();
    transaction.commit().await.map_err(PostgresFenceError::Failed)
}

#[tokio::test]
async fn a_term_that_is_over_pays_nothing() {
    let shop = PayoutDatabase::new().await;
    let (old, new, mut client) = (shop.candidate("old"), shop.candidate("new"), shop.client().await);
    let first = old.granted().await;
    pay(&mut client, first, 1).await.unwrap();
    old.resign().await.unwrap();
    pay(&mut client, first, 2).await.expect("nobody else has led yet");
    let second = new.granted().await;

    let error = pay(&mut client, first, 3).await.unwrap_err();
    assert!(error.is_stale(), "{error}");
    assert!(error.to_string().contains(&format!("not the newest, which is {second}")), "{error}");
    pay(&mut client, second, 4).await.unwrap();
    assert_eq!(shop.paid(), ["1", "2", "4"]);
    let ahead = pay(&mut client, Term::new(second.get() + 1).unwrap(), 5).await.unwrap_err();
    assert!(ahead.is_stale(), "a term that nobody was granted is none: {ahead}");
    // What was written before the fence goes with it.
    let transaction = client.transaction().await.unwrap();
    transaction.execute("INSERT INTO payouts VALUES (6, 0)", &[]).await.unwrap();
    assert!(fence(first).check(&transaction).await.unwrap_err().is_stale());
    assert!(transaction.execute("INSERT INTO payouts VALUES (7, 0)", &[]).await.is_err(), "it has failed");
    transaction.commit().await.unwrap();
    assert_eq!(shop.paid(), ["1", "2", "4"]);
}

/// As drivers do that prepare statements and infer the types of parameters.
#[tokio::test]
async fn the_statement_works_with_any_driver() {
    let shop = PayoutDatabase::new().await;
    let (leader, mut client) = (shop.candidate("a"), shop.client().await);
    let fence = fence(leader.granted().await);
    for (term, is_stale) in [(fence.term(), false), (fence.term() - 1, true)] {
        let transaction = client.transaction().await.unwrap();
        let answer = transaction.execute(fence.sql(), &[&fence.election(), &term, &fence.namespace()]).await;
        let code = answer.err().map(|error| error.code().unwrap().code().to_owned());
        assert_eq!(code.as_deref(), is_stale.then_some(PostgresFence::STALE));
    }
    client.execute("SELECT tenure.fence($1, $2)", &[&fence.election(), &fence.term()]).await.expect("in SQL alone");
}

#[tokio::test]
async fn elections_namespaces_and_schemas_are_told_apart_and_other_errors_are_not_stale() {
    let shop = PayoutDatabase::new().await;
    let (leader, client) = (shop.candidate("a"), shop.client().await);
    let fence = fence(leader.granted().await);
    fence.check(&client).await.unwrap();
    assert!(fence.clone().in_namespace("elsewhere").check(&client).await.unwrap_err().is_stale());
    let odd = PostgresFence::new("it's \"another\"", leader.granted().await);
    assert!(odd.check(&client).await.unwrap_err().is_stale());
    let error = fence.in_schema("else\"where").unwrap().check(&client).await.unwrap_err();
    assert!(!error.is_stale() && tenure::with_causes(&error).contains("does not exist"), "{error:?}");
}

/// A store whose elections are in a schema of their own, as an address can say.
#[tokio::test]
async fn a_leadership_is_fenced_in_the_schema_of_its_store() {
    let shop = PayoutDatabase::new().await;
    let url = format!("{}?schema=it%27s%20%22mine%22", shop.database.url());
    Migration::new(&PostgresConfig::from_url(&url.parse().unwrap()).unwrap()).run().await.unwrap();
    let candidacy = tenure::Client::open(&url).unwrap().election("payouts").unwrap().candidate().start().unwrap();
    let fence = candidacy.elected().await.unwrap().postgres_fence();
    assert_eq!(fence.sql(), "SELECT \"it's \"\"mine\"\"\".fence($1, $2, $3)");
    let mut client = client(&shop.database.url()).await;
    let transaction = client.transaction().await.unwrap();
    fence.check(&transaction).await.unwrap();
    drop(transaction);
    candidacy.stop().await;
}

#[tokio::test]
async fn while_a_fenced_transaction_is_open_nobody_else_is_elected_and_the_leader_renews() {
    let shop = PayoutDatabase::new().await;
    let (leader, follower) =
        (shop.candidate("leader").with_ttl(Duration::from_millis(500)), shop.candidate("follower"));
    let mut client = shop.client().await;
    let term = leader.granted().await;
    let transaction = client.transaction().await.unwrap();
    fence(term).check(&transaction).await.unwrap();
    // On a machine that is too busy the lease may be over already; what counts is that this does not wait.
    leader.renew(term).await.expect("a fence does not hold up renewals");
    until("the end of the lease", async || leader.observe().await.lease.is_none().then_some(())).await;

    for _ in 0..2 {
        let held = follower.held().await;
        assert!(held.leader.is_none() && held.remaining <= Duration::from_secs(1), "{held:?}");
        fence(term).check(&transaction).await.expect("it is still the newest");
    }
    transaction.execute("INSERT INTO payouts VALUES (1, 0)", &[]).await.unwrap();
    transaction.commit().await.unwrap();
    assert!(follower.granted().await > term);
    assert_eq!(shop.paid(), ["1"]);
}

#[tokio::test]
async fn a_transaction_that_is_forgotten_is_ended() {
    let shop = PayoutDatabase::new().await;
    let (leader, follower) =
        (shop.candidate("leader").with_ttl(Duration::from_millis(500)), shop.candidate("follower"));
    let (mut bounded, mut client) = (shop.client().await, shop.client().await);
    let term = leader.granted().await;
    let transaction = client.transaction().await.unwrap();
    fence(term).check(&transaction).await.unwrap();
    let bound = "SELECT current_setting('idle_in_transaction_session_timeout')";
    assert_eq!(transaction.query_one(bound, &[]).await.unwrap().get::<_, &str>(0), "1min", "if nobody has set one");
    transaction.rollback().await.unwrap();
    assert_eq!(client.query_one(bound, &[]).await.unwrap().get::<_, &str>(0), "0", "and only for the transaction");

    bounded.batch_execute("SET idle_in_transaction_session_timeout = '200ms'").await.unwrap();
    let transaction = bounded.transaction().await.unwrap();
    fence(term).check(&transaction).await.unwrap();
    transaction.execute("INSERT INTO payouts VALUES (1, 0)", &[]).await.unwrap();
    until("another leader", async || term_of(&follower.campaign().await.unwrap())).await;
    assert!(transaction.commit().await.is_err());
    assert_eq!(shop.paid(), Vec::<String>::new());
}

/// Two that take turns without a word, and decide what to pay before they ask whether they still may.
#[tokio::test]
async fn in_fifty_failovers_every_invoice_is_paid_once() {
    const FAILOVERS: usize = 50;
    let shop = PayoutDatabase::new().await;
    let (elected, stale) = (Cell::new(0), Cell::new(0));
    let run = async |name: &str| {
        let (candidate, mut client) = (shop.candidate(name).with_ttl(Duration::from_millis(20)), shop.client().await);
        let mut last = None;
        while elected.get() < FAILOVERS {
            let Some(term) = term_of(&candidate.campaign().await.unwrap()) else {
                // Waits because another one leads.
                tokio::time::sleep(Duration::from_millis(2)).await;
                continue;
            };
            // It may find its own lease again.
            elected.set(elected.get() + usize::from(last.replace(term) != Some(term)));
            // Paused now and then, it goes on afterwards as if nothing had happened.
            let pause = Duration::from_millis(if elected.get().is_multiple_of(3) { 40 } else { 3 });
            for _ in 0..20 {
                if !pay_the_next(&mut client, term, pause).await {
                    stale.set(stale.get() + 1);
                    break;
                }
            }
        }
    };
    join_all([run("one"), run("two")]).await;
    let paid = shop.database.sql("SELECT count(*), count(DISTINCT invoice), max(invoice) FROM payouts").remove(0);
    assert!(paid[0] == paid[1] && paid[1] == paid[2], "each once, and none left out: {paid:?}");
    assert!(stale.get() > FAILOVERS / 4, "{stale:?} leaders were stopped by the fence");
    assert!(paid[0].as_ref().unwrap().parse::<usize>().unwrap() > FAILOVERS / 4, "{paid:?}");
}

/// Whether there was another payout under this term.
async fn pay_the_next(client: &mut Client, term: Term, pause: Duration) -> bool {
    let row = client.query_one("SELECT coalesce(max(invoice), 0) + 1 FROM payouts", &[]).await.unwrap();
    // Waits because that is what makes a decision stale.
    tokio::time::sleep(pause).await;
    match pay(client, term, row.get(0)).await {
        Ok(()) => true,
        Err(error) if error.is_stale() => false,
        Err(error) => panic!("{}", tenure::with_causes(&error)),
    }
}

/// A transaction that sees all data as they were when it began does not see a grant that came later, and must not pay.
#[tokio::test]
async fn under_stricter_isolation_a_term_that_is_over_pays_nothing_either() {
    for level in [IsolationLevel::ReadCommitted, IsolationLevel::RepeatableRead, IsolationLevel::Serializable] {
        for renewals in [0, 1, 3] {
            let shop = PayoutDatabase::new().await;
            let (old, new, mut client) = (shop.candidate("old"), shop.candidate("new"), shop.client().await);
            let term = old.granted().await;
            let transaction = client.build_transaction().isolation_level(level).start().await.unwrap();
            transaction.query("SELECT FROM payouts", &[]).await.unwrap();
            for _ in 0..renewals {
                old.keeps(term).await;
            }
            old.resign().await.unwrap();
            let next = new.granted().await;
            for _ in 0..renewals {
                new.keeps(next).await;
            }
            let error = fence(term).check(&transaction).await.expect_err("another one leads");
            match (&error, level) {
                (PostgresFenceError::Stale(_), IsolationLevel::ReadCommitted) => {}
                (PostgresFenceError::Failed(cause), IsolationLevel::RepeatableRead | IsolationLevel::Serializable) => {
                    assert_eq!(cause.code().unwrap().code(), "40001", "{level:?}, {renewals} renewals: {cause}");
                }
                _ => panic!("{level:?}, {renewals} renewals: {error:?}"),
            }
        }
    }
}

#[tokio::test]
async fn under_any_isolation_the_fence_holds_whatever_was_renewed_before_and_after_it() {
    for level in [IsolationLevel::ReadCommitted, IsolationLevel::RepeatableRead, IsolationLevel::Serializable] {
        for renewals in [0, 1, 3] {
            let shop = PayoutDatabase::new().await;
            let (old, new, mut client) = (shop.candidate("old"), shop.candidate("new"), shop.client().await);
            let term = old.granted().await;
            let transaction = client.build_transaction().isolation_level(level).start().await.unwrap();
            transaction.query("SELECT FROM payouts", &[]).await.unwrap();
            for _ in 0..renewals {
                old.keeps(term).await;
            }
            fence(term).check(&transaction).await.unwrap_or_else(|error| panic!("{level:?}, {renewals}: {error:?}"));
            for _ in 0..renewals {
                old.keeps(term).await;
            }
            shop.database.sql("UPDATE tenure.election SET expires_at = clock_timestamp()");
            let held = new.held().await;
            assert!(held.leader.is_none(), "{level:?}, {renewals} renewals: {held:?}");
            transaction.execute("INSERT INTO payouts VALUES (1, 0)", &[]).await.unwrap();
            transaction.commit().await.unwrap();
            assert!(new.granted().await > term);
        }
    }
}

#[tokio::test]
async fn a_role_may_be_let_through_the_fence_and_nothing_else() {
    let shop = PayoutDatabase::new().await;
    let term = granted(shop.candidate("leader").campaign().await);
    let role = format!("payer_{}", shop.database.name);
    POSTGRES.create_role(&role, PASSWORD);
    let payer = client(&shop.database.url_as(&role, PASSWORD)).await;
    let error = fence(term).check(&payer).await.unwrap_err();
    assert!(!error.is_stale() && tenure::with_causes(&error).contains("permission denied"), "{error:?}");
    shop.database
        .sql(&format!("GRANT USAGE ON SCHEMA tenure TO {role}; GRANT EXECUTE ON FUNCTION tenure.fence TO {role}"));
    fence(term).check(&payer).await.unwrap();
    for forbidden in ["SELECT tenure.schema_version()", "SELECT FROM tenure.election", "SELECT tenure.touch()"] {
        let error = payer.batch_execute(forbidden).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "42501", "{forbidden}");
    }
}
