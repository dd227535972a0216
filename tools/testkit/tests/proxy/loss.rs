//! Bytes that do not arrive.

use std::io::ErrorKind;

use tenure_testkit::proxy::{Direction, ProxyFault};

use crate::support::{EchoClient, EchoEvent, scene, scene_of_lines};

#[test]
fn without_a_fault_everything_passes_and_is_counted() {
    let (server, proxy) = scene();
    let mut client = EchoClient::of(&proxy);
    client.exchange("a");
    server.asked("a");
    client.finish();
    assert_eq!(server.next(), EchoEvent::Ended(Ok(())));
    assert_eq!(client.line().unwrap(), "");
    proxy.await_counts("the end of the connection", |counts| counts.open == 0);
    let counts = proxy.counts();
    assert_eq!((counts.accepted, counts.resets), (1, 0));
    assert_eq!((counts.requests.arrived, counts.requests.delivered), (2, 2));
    assert_eq!((counts.replies.arrived, counts.replies.delivered), (3, 3));
    assert_eq!((counts.requests.struck, counts.replies.struck), (0, 0));
}

#[test]
fn a_lost_reply_leaves_its_request_executed() {
    let (server, proxy) = scene();
    let mut client = EchoClient::of(&proxy);
    proxy.inject_next(1, Direction::Replies, ProxyFault::Swallow);
    client.send("a\n");
    server.asked("a");
    proxy.await_swallowed(Direction::Replies, 3);
    assert!(client.waits());
    client.exchange("b");
    assert_eq!(proxy.counts().replies.struck, 1);
}

#[test]
fn replies_are_lost_until_told_otherwise() {
    let (server, proxy) = scene();
    let mut client = EchoClient::of(&proxy);
    proxy.inject(Direction::Replies, ProxyFault::Swallow);
    for (line, swallowed) in [("a", 3), ("b", 6)] {
        client.send(&format!("{line}\n"));
        server.asked(line);
        proxy.await_swallowed(Direction::Replies, swallowed);
    }
    assert!(client.waits());
    proxy.clear(Direction::Replies);
    client.exchange("c");
}

#[test]
fn a_black_hole_swallows_both_ways_and_on_new_connections() {
    let (server, proxy) = scene();
    let mut clients = [EchoClient::of(&proxy)];
    clients[0].exchange("a");
    server.asked("a");
    proxy.black_hole();
    clients[0].send("b\n");
    proxy.await_swallowed(Direction::Requests, 2);
    let mut late = EchoClient::of(&proxy);
    proxy.await_connections(2);
    late.send("c\n");
    proxy.await_swallowed(Direction::Requests, 4);
    assert!(clients[0].waits() && late.waits() && server.has_seen_nothing());
    assert_eq!(proxy.counts().open, 2);
    proxy.heal();
    late.exchange("d");
    clients[0].exchange("e");
}

#[test]
fn a_black_hole_hides_that_a_client_has_left() {
    let (server, proxy) = scene();
    let mut client = EchoClient::of(&proxy);
    client.exchange("a");
    server.asked("a");
    proxy.black_hole();
    client.send("b\n");
    client.finish();
    drop(client);
    proxy.await_swallowed(Direction::Requests, 2);
    proxy.await_counts("the close", |counts| counts.requests.closes == 1);
    proxy.heal();
    let mut other = EchoClient::of(&proxy);
    other.exchange("c");
    server.asked("c");
    assert_eq!(proxy.counts().open, 2);
}

#[test]
fn a_truncated_chunk_is_followed_by_a_reset() {
    let (server, proxy) = scene();
    let mut client = EchoClient::of(&proxy);
    proxy.inject_next(1, Direction::Replies, ProxyFault::Truncate(2));
    client.send("abc\n");
    server.asked("abc");
    assert_eq!(client.rest(), ("=a".to_owned(), Err(ErrorKind::ConnectionReset)));
    assert_eq!(server.next(), EchoEvent::Ended(Err(ErrorKind::ConnectionReset)));
    proxy.await_counts("the reset", |counts| counts.resets == 1);
    assert_eq!((proxy.counts().replies.delivered, proxy.counts().replies.swallowed), (2, 3));
    EchoClient::of(&proxy).exchange("d");
}

#[test]
fn a_framing_joins_what_belongs_together_and_parts_what_does_not() {
    let (server, proxy) = scene_of_lines();
    let mut client = EchoClient::of(&proxy);
    proxy.inject_next(1, Direction::Requests, ProxyFault::Swallow);
    client.send("first ");
    proxy.await_counts("the first half", |counts| counts.requests.arrived == 6);
    client.send("line\nsecond line\nrest");
    server.asked("second line");
    assert_eq!(proxy.counts().requests.swallowed, 11);
    client.finish();
    server.asked("rest");
}
