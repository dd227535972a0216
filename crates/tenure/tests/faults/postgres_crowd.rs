//! Many candidates, and few connections to a PostgreSQL server.

use std::time::{Duration, Instant};

use tenure::Timing;
use tenure::blocking::{Candidacy, Client};
use tenure_testkit::bound::within;
use tenure_testkit::eventually;
use tenure_testkit::postgres::{APP, PgBouncer, PoolMode, PostgresOptions, PostgresServer};
use tenure_testkit::scenario::ELECTION;
use tenure_testkit::stores::StoreServer;
use tenure_testkit::test_timing::TestTiming;

use crate::postgres::STORE;
use crate::support::{EventLog, elected};

/// So many processes stand by, and so many candidates in each.
const PROCESSES: usize = 10;
const CANDIDATES: usize = 30;

fn stand(client: &Client, timing: Timing, id: String) -> Candidacy {
    let candidacy = client.election(ELECTION).unwrap().candidate().timing(timing);
    candidacy.id(id).start().unwrap()
}

/// A lease that is not given back would last longer than the test, so whoever is not woken does not come.
pub(crate) fn case_43_of_three_hundred_followers_with_few_connections_one_is_woken_and_wins() {
    let server = STORE.serve(PostgresOptions::default().max_connections(30).setting("log_statement", "all"));
    let url = StoreServer::url(&server);
    let timing = TestTiming::PATIENT.validated();
    let leader = stand(&Client::open(&url).unwrap(), timing, "first".to_owned());
    let first = elected(&leader);
    let crowd: Vec<Candidacy> = (0..PROCESSES)
        .flat_map(|process| {
            let client = Client::open(&url).unwrap();
            (0..CANDIDATES).map(|number| stand(&client, timing, format!("{process}-{number}"))).collect::<Vec<_>>()
        })
        .collect();
    let count = |sql: &str| server.value(sql).unwrap().parse::<usize>().unwrap();
    let reachable = "SELECT count(*) FROM tenure.stand_by WHERE channel <> ''";
    eventually("three hundred who stand by and can be woken", || count(reachable) == crowd.len());
    let connections = count(&format!("SELECT count(*) FROM pg_stat_activity WHERE usename = '{APP}'"));
    println!("{connections} connections for {} candidates in {} processes", crowd.len() + 1, PROCESSES + 1);
    assert!(connections <= 2 * (PROCESSES + 1), "{connections} connections");
    let known = campaigns(&server);

    let started = Instant::now();
    leader.resign().unwrap();
    let leaders = || crowd.iter().filter(|candidacy| candidacy.is_leader()).count();
    eventually("a winner", || leaders() > 0);
    within("leadership for one of three hundred", started.elapsed(), TestTiming::SHORT.max_failover(2));
    // Waits because the others, if they were woken, would come now; one more is told to look when a second is over.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(leaders(), 1);
    let winner = crowd.iter().find_map(Candidacy::leadership).unwrap();
    assert!(winner.term() > first.term());
    let asked = campaigns(&server) - known;
    println!("{asked} statements campaigned for {} followers of one resignation", crowd.len());
    assert!(asked <= 20, "{asked} statements campaigned");
}

/// How many statements have asked for a lease.
fn campaigns(server: &PostgresServer) -> usize {
    server.log().matches(".campaign(").count()
}

/// A pooler lends the same few servers to all. Whoever comes and goes quickly must not leave an answer behind that another
/// one takes for its own.
pub(crate) fn case_47_those_who_come_and_go_behind_a_pooler_leave_no_answers_to_others() {
    let server = STORE.serve(PostgresOptions::default());
    let pooler = PgBouncer::start(&server, PoolMode::Transaction, 2);
    let url = StoreServer::url(&pooler);
    let timing = TestTiming::PATIENT.validated();
    let come_and_go = |visitor: usize| {
        for round in 0..10 {
            let client = Client::open(&url).unwrap();
            let name = format!("{ELECTION}-{visitor}");
            let candidacy = client.election(&name).unwrap().candidate().timing(timing).start().unwrap();
            let told = EventLog::by(&candidacy);
            drop(elected(&candidacy));
            candidacy.resign().unwrap_or_else(|error| panic!("round {round}: {error}"));
            assert_eq!(told.errors_so_far(), Vec::<String>::new(), "round {round} of visitor {visitor}");
        }
    };
    std::thread::scope(|scope| {
        (0..4).for_each(|visitor| drop(scope.spawn(move || come_and_go(visitor))));
    });
}
