//! A crowd that waits for one leader.

use std::time::Duration;

use redis::from_redis_value;
use tenure::blocking::{Candidacy, Client};
use tenure_testkit::bound::within;
use tenure_testkit::eventually;
use tenure_testkit::redis::RedisServer;
use tenure_testkit::scenario::ELECTION;
use tenure_testkit::test_timing::TestTiming;

use crate::support::elected;

/// So many processes stand by, and so many candidates in each.
const PROCESSES: usize = 20;
const CANDIDATES: usize = 50;

/// A lease that is not given back would last longer than the test, so whoever is not woken does not come.
pub(crate) fn case_43_of_a_thousand_followers_one_is_woken_by_a_resignation_and_wins() {
    let server = RedisServer::start();
    let timing = TestTiming::PATIENT.validated();
    let stand = |client: &Client, id: String| {
        let candidacy = client.election(ELECTION).unwrap().candidate().timing(timing);
        candidacy.id(id).start().unwrap()
    };
    let client = Client::open(&server.url()).unwrap();
    let leader = stand(&client, "first".to_owned());
    let first = elected(&leader);
    let crowd: Vec<Candidacy> = (0..PROCESSES)
        .flat_map(|process| {
            let client = Client::open(&server.url()).unwrap();
            (0..CANDIDATES).map(|number| stand(&client, format!("{process}-{number}"))).collect::<Vec<_>>()
        })
        .collect();
    let standing: fn(&RedisServer) -> usize =
        |server| from_redis_value(server.command(&["HLEN", "{tenure:default:nightly}:standing"])).unwrap();
    eventually("a thousand who stand by", || standing(&server) == crowd.len());
    let listening = || from_redis_value::<Vec<String>>(server.command(&["PUBSUB", "CHANNELS"])).unwrap().len();
    eventually("processes that can be woken", || listening() > PROCESSES);
    let mut known = 0;
    eventually("silence", || {
        let before = std::mem::replace(&mut known, scripts(&server));
        // Waits because who stood by before it could be woken asks once more, and nothing tells when all have.
        std::thread::sleep(Duration::from_millis(300));
        before == known
    });

    let started = std::time::Instant::now();
    leader.resign().unwrap();
    let leaders = || crowd.iter().filter(|candidacy| candidacy.is_leader()).count();
    eventually("a winner", || leaders() > 0);
    within("leadership for one of a thousand", started.elapsed(), TestTiming::SHORT.max_failover(2));
    // Waits because the others, if they were woken, would come now; fifteen are told to look after a second, one after the
    // other.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(leaders(), 1);
    let winner = crowd.iter().find_map(Candidacy::leadership).unwrap();
    assert!(winner.term() > first.term());
    let asked = scripts(&server) - known;
    println!("{asked} scripts ran for {} followers of one resignation", crowd.len());
    // The successor, those who look after it, and renewals.
    assert!(asked <= 32, "{asked} scripts ran");
}

fn scripts(server: &RedisServer) -> u64 {
    server.calls("evalsha") + server.calls("eval")
}
