//! Bytes that arrive late, or more than once.

use std::time::{Duration, Instant};

use tenure_testkit::proxy::{Direction, ProxyFault};

use crate::support::{EchoClient, EchoEvent, scene, scene_of_lines};

#[test]
fn a_held_reply_waits_for_the_test_and_what_follows_keeps_its_place() {
    let (server, proxy) = scene();
    let mut client = EchoClient::of(&proxy);
    proxy.inject_next(1, Direction::Replies, ProxyFault::Hold);
    for (line, waiting) in [("a", 3), ("b", 6)] {
        client.send(&format!("{line}\n"));
        server.asked(line);
        proxy.await_waiting(Direction::Replies, waiting);
    }
    assert!(client.waits());
    proxy.clear(Direction::Replies);
    assert_eq!((client.line().unwrap(), client.line().unwrap()), ("=a\n".to_owned(), "=b\n".to_owned()));
    client.exchange("c");
    assert_eq!((proxy.counts().replies.waiting, proxy.counts().replies.struck), (0, 1));
}

#[test]
fn a_held_direction_holds_a_close_too() {
    let (server, proxy) = scene();
    let (mut client, mut other) = (EchoClient::of(&proxy), EchoClient::of(&proxy));
    client.exchange("a");
    server.asked("a");
    proxy.inject(Direction::Requests, ProxyFault::Hold);
    client.finish();
    proxy.await_counts("the close", |counts| counts.requests.closes == 1);
    // What the other client sends from now on would come after the close, if that had passed.
    proxy.inject(Direction::Requests, ProxyFault::Delay(Duration::ZERO));
    other.exchange("b");
    server.asked("b");
    proxy.heal();
    assert_eq!(server.next(), EchoEvent::Ended(Ok(())));
    assert_eq!(client.rest(), (String::new(), Ok(())));
}

#[test]
fn a_delay_makes_each_chunk_late_and_keeps_the_order() {
    let (server, proxy) = scene();
    let mut client = EchoClient::of(&proxy);
    proxy.inject(Direction::Requests, ProxyFault::Delay(DELAY));
    let sent_at = Instant::now();
    client.send("a\n");
    proxy.await_waiting(Direction::Requests, 2);
    client.send("b\n");
    server.asked("a");
    assert!(sent_at.elapsed() >= DELAY);
    server.asked("b");
    assert_eq!((client.line().unwrap(), client.line().unwrap()), ("=a\n".to_owned(), "=b\n".to_owned()));
    proxy.heal();
    client.exchange("c");
    assert_eq!(proxy.counts().requests.struck, 2);
}

#[test]
fn delays_pass_at_the_same_time() {
    let (server, proxy) = scene_of_lines();
    let mut client = EchoClient::of(&proxy);
    proxy.inject(Direction::Requests, ProxyFault::Delay(DELAY));
    let lines: String = (0..100).map(|line| format!("{line}\n")).collect();
    let sent_at = Instant::now();
    client.send(&lines);
    (0..100).for_each(|line| server.asked(&line.to_string()));
    assert!(sent_at.elapsed() < DELAY * 50, "one after another they would take {:?}", DELAY * 100);
    assert_eq!(proxy.counts().requests.struck, 100);
}

#[test]
fn a_duplicate_arrives_twice() {
    let (server, proxy) = scene_of_lines();
    let mut client = EchoClient::of(&proxy);
    proxy.inject_next(1, Direction::Replies, ProxyFault::Duplicate);
    client.send("a\nb\n");
    assert_eq!([(); 3].map(|()| client.line().unwrap()), ["=a\n", "=a\n", "=b\n"]);
    server.asked("a");
    server.asked("b");
    assert_eq!((proxy.counts().replies.arrived, proxy.counts().replies.delivered), (6, 9));
}

#[test]
fn a_repetition_takes_the_place_of_what_comes_next() {
    let (server, proxy) = scene_of_lines();
    let mut client = EchoClient::of(&proxy);
    client.exchange("a");
    proxy.inject_next(1, Direction::Replies, ProxyFault::Repeat);
    client.send("b\nc\n");
    assert_eq!([(); 2].map(|()| client.line().unwrap()), ["=a\n", "=c\n"]);
    ["a", "b", "c"].iter().for_each(|line| server.asked(line));
}

#[test]
fn a_flapping_link_delivers_late_and_loses_nothing() {
    let (server, proxy) = scene();
    let mut client = EchoClient::of(&proxy);
    proxy.flap(Duration::from_millis(20), Duration::from_millis(20));
    for outages in 1..5 {
        proxy.await_counts("an outage", move |counts| counts.outages >= outages);
        client.exchange("a");
        server.asked("a");
    }
}

#[test]
fn nothing_flows_while_the_link_is_down() {
    let (server, proxy) = scene();
    let mut client = EchoClient::of(&proxy);
    proxy.flap(Duration::from_secs(600), Duration::ZERO);
    proxy.await_counts("the outage", |counts| counts.outages == 1);
    // The second could not join the first if that had passed.
    for waiting in [2, 4] {
        client.send("a\n");
        proxy.await_waiting(Direction::Requests, waiting);
    }
    assert!(client.waits() && server.has_seen_nothing());
    proxy.heal();
    assert_eq!((client.line().unwrap(), client.line().unwrap()), ("=a\n".to_owned(), "=a\n".to_owned()));
    client.exchange("b");
}

/// Long enough to be seen, short enough to be waited for.
const DELAY: Duration = Duration::from_millis(100);
