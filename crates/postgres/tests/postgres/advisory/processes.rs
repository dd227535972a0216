//! Candidates that are processes of their own: killed, stopped, and on a host that is gone without a word.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::StreamExt;
use rustix::process::{Pid, Signal, kill_process};
use tenure::store::Interest;
use tenure::{Client, Clock, Timing};
use tenure_testkit::netns::Namespace;
use tenure_testkit::postgres::PostgresServer;

use super::support::{PASSWORD, PATIENCE, ROLE, SERVER, StoreCandidate, advisory, locks, options, until, url};

const TTL: Duration = Duration::from_secs(3);
/// So many of those who stand by wait for the end of the leader.
const WAITERS: usize = 5;

/// Not a test: the entry of processes that tests start. Without an address it does nothing.
#[tokio::test]
async fn role() {
    let Ok(url) = std::env::var("TENURE_TEST_URL") else { return };
    let client = Client::open(&url).unwrap();
    let timing = Timing::from_ttl(TTL).unwrap();
    let candidacy = client.election("1").unwrap().candidate().timing(timing).start().unwrap();
    until("leadership", async || candidacy.is_leader().then_some(())).await;
    println!("\n@leads");
    // Each answer is for the instant before it: whoever is stopped in between says nothing wrong.
    let mut last = Clock::boottime().now();
    while candidacy.is_leader() {
        last = Clock::boottime().now();
        // Waits because this is what a leader does: it works, and looks.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    println!("\n@{}", last.as_nanos());
    // Until it is killed, or has waited in vain for that.
    until("the end", async || None::<()>).await;
}

/// This test program once more, as a candidate. It is killed when dropped.
struct ChildCandidate {
    child: Child,
    lines: Box<dyn Iterator<Item = String>>,
}

impl ChildCandidate {
    fn start(mut command: Command, url: &str) -> Self {
        command.args(["--exact", "advisory::processes::role", "--nocapture"]).env("TENURE_TEST_URL", url);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let lines = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix('@').map(str::to_owned));
        Self { child, lines: Box::new(lines) }
    }

    fn here(url: &str) -> Self {
        Self::start(Command::new(std::env::current_exe().unwrap()), url)
    }

    fn leads(mut self) -> Self {
        assert_eq!(self.lines.next().as_deref(), Some("leads"));
        self
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// When it last thought that it leads, in nanoseconds of the clock that all processes share.
    fn led_until(&mut self) -> u64 {
        self.lines.next().unwrap().parse().unwrap()
    }
}

impl Drop for ChildCandidate {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[tokio::test]
async fn a_killed_leader_is_missed_at_once() {
    let database = SERVER.new_database();
    let leader = ChildCandidate::here(&url(&database)).leads();
    let follower = StoreCandidate::at(&url(&database), "1", "follower");
    let mut hints = follower.store.watch(Interest::Own);
    until("the one who waits", async || {
        follower.held().await;
        (locks(&database, "NOT granted") == 1).then_some(())
    })
    .await;
    while futures_util::FutureExt::now_or_never(hints.next()).is_some() {}
    let killed_at = Clock::boottime().now();
    leader.signal(Signal::KILL);
    let woken = tokio::time::timeout(PATIENCE, hints.next()).await;
    assert!(woken.is_ok(), "nobody was woken");
    follower.granted_soon().await;
    println!("a leader that was killed was succeeded after {:?}", Clock::boottime().now().saturating_since(killed_at));
}

#[tokio::test]
async fn a_stopped_leader_is_succeeded_and_knows_it_when_it_goes_on() {
    let database = SERVER.new_database();
    let mut leader = ChildCandidate::here(&url(&database)).leads();
    let follower = StoreCandidate::at(&url(&database), "1", "follower");
    follower.held().await;
    let stopped_at = Clock::boottime().now();
    leader.signal(Signal::STOP);
    follower.granted_soon().await;
    let granted_at = Clock::boottime().now();
    println!("a leader that was stopped was succeeded after {:?}", granted_at.saturating_since(stopped_at));
    leader.signal(Signal::CONT);
    let led_until = leader.led_until();
    assert!(led_until <= granted_at.as_nanos(), "it led until {led_until}, and another one from {granted_at:?}");
}

#[tokio::test]
async fn a_leader_whose_host_is_gone_is_succeeded_after_its_ttl_and_not_before() {
    let options = options().setting("listen_addresses", "*").access_rule(&format!("host all {ROLE} all trust"));
    let server = PostgresServer::start_with(options);
    let elsewhere = Namespace::new().unwrap();
    let near = advisory(&server.url_as(ROLE, PASSWORD));
    // The server does not encrypt, and whoever comes from another host has to be told.
    let far = near.replace("127.0.0.1", &elsewhere.outside().to_string()) + "?sslmode=disable";
    let mut leader = ChildCandidate::start(elsewhere.command(std::env::current_exe().unwrap()), &far).leads();
    let follower = StoreCandidate::at(&near, "1", "follower");
    follower.held().await;
    elsewhere.cut().unwrap();
    let cut_at = Clock::boottime().now();
    follower.granted_soon().await;
    let granted_at = Clock::boottime().now();
    let (led_until, took) = (leader.led_until(), granted_at.saturating_since(cut_at));
    let gap = Duration::from_nanos(granted_at.as_nanos().saturating_sub(led_until));
    println!(
        "a leader whose host was gone was succeeded after {took:?}, {gap:?} after it stopped; its ttl was {TTL:?}"
    );
    assert!(led_until <= granted_at.as_nanos(), "two led at the same time");
    assert!(took < TTL * 5, "{took:?}");
}

/// A leader, processes that wait for its end, and one more who stands by and would not look by itself during any test.
async fn a_leader_that_is_waited_for(
    url: &str,
    waits: impl Fn() -> usize,
) -> (StoreCandidate, Vec<ChildCandidate>, StoreCandidate) {
    let leader = StoreCandidate::at(url, "1", "leader");
    leader.granted().await;
    let waiters: Vec<ChildCandidate> = (0..WAITERS).map(|_| ChildCandidate::here(url)).collect();
    until("those who wait", async || (waits() == WAITERS).then_some(())).await;
    (leader, waiters, StoreCandidate::at(url, "1", "last"))
}

#[tokio::test]
async fn a_leader_is_missed_at_once_although_all_who_wait_for_its_end_are_stopped() {
    let database = SERVER.new_database();
    let (leader, waiters, last) =
        a_leader_that_is_waited_for(&url(&database), || locks(&database, "NOT granted")).await;
    let mut hints = last.store.watch(Interest::Own);
    last.held().await;
    waiters.iter().for_each(|waiter| waiter.signal(Signal::STOP));
    let gone_at = Clock::boottime().now();
    drop(leader);
    let hint = tokio::time::timeout(PATIENCE, hints.next()).await;
    assert!(hint.is_ok(), "nobody was told");
    last.granted_soon().await;
    println!("with those who waited stopped it took {:?}", Clock::boottime().now().saturating_since(gone_at));
}

#[tokio::test]
async fn those_who_waited_for_the_end_of_a_leader_and_are_gone_are_replaced() {
    let database = SERVER.new_database();
    let (leader, waiters, last) =
        a_leader_that_is_waited_for(&url(&database), || locks(&database, "NOT granted")).await;
    let term = leader.granted().await;
    leader.keeps(term).await;
    let mut hints = last.store.watch(Interest::Own);
    last.held().await;
    drop(waiters);
    // The server takes a second to see that they are gone.
    until("the end of their sessions", async || (locks(&database, "NOT granted") == 0).then_some(())).await;
    leader.keeps(term).await;
    until("one who waits in their place", async || (locks(&database, "NOT granted") == 1).then_some(())).await;
    drop(leader);
    let hint = tokio::time::timeout(PATIENCE, hints.next()).await;
    assert!(hint.is_ok(), "nobody was told");
    last.granted_soon().await;
}
