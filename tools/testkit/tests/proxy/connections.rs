//! What happens to connections as a whole.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use tenure_testkit::proxy::{Direction, Proxy};
use tokio::net::TcpSocket;

use crate::support::{EchoClient, EchoEvent, scene};

#[test]
fn refused_connections_leave_the_open_ones_alone() {
    let (_server, proxy) = scene();
    let mut client = EchoClient::of(&proxy);
    client.exchange("a");
    proxy.refuse();
    assert_eq!(EchoClient::connect(&proxy).err().unwrap().kind(), ErrorKind::ConnectionRefused);
    let elsewhere = TcpSocket::new_v4().unwrap().bind(proxy.address());
    assert_eq!(elsewhere.err().unwrap().kind(), ErrorKind::AddrInUse, "nobody else gets the port meanwhile");
    client.exchange("b");
    proxy.heal();
    EchoClient::of(&proxy).exchange("c");
    assert_eq!(proxy.counts().accepted, 2);
}

#[test]
fn a_reset_ends_every_connection_at_both_ends() {
    let (server, proxy) = scene();
    let mut clients = [EchoClient::of(&proxy), EchoClient::of(&proxy)];
    clients.iter_mut().for_each(|client| client.exchange("a"));
    server.asked("a");
    server.asked("a");
    proxy.reset();
    for client in &mut clients {
        assert_eq!(client.rest(), (String::new(), Err(ErrorKind::ConnectionReset)));
        assert_eq!(server.next(), EchoEvent::Ended(Err(ErrorKind::ConnectionReset)));
    }
    proxy.await_counts("the resets", |counts| counts.resets == 2 && counts.open == 0);
    EchoClient::of(&proxy).exchange("b");
}

#[test]
fn requests_end_while_replies_still_flow() {
    let (server, proxy) = scene();
    let mut client = EchoClient::of(&proxy);
    client.exchange("a");
    server.asked("a");
    proxy.half_close(Direction::Requests);
    assert_eq!(server.next(), EchoEvent::Ended(Ok(())));
    client.send("b\n");
    proxy.await_swallowed(Direction::Requests, 2);
    EchoClient::of(&proxy).exchange("c");
}

#[test]
fn replies_end_while_requests_still_flow() {
    let (server, proxy) = scene();
    let mut client = EchoClient::of(&proxy);
    client.exchange("a");
    server.asked("a");
    proxy.half_close(Direction::Replies);
    assert_eq!(client.rest(), (String::new(), Ok(())));
    client.send("b\n");
    server.asked("b");
    proxy.await_swallowed(Direction::Replies, 3);
    EchoClient::of(&proxy).exchange("c");
}

#[test]
fn a_server_that_is_gone_breaks_the_connection() {
    // A port that is taken, and on which nobody listens.
    let gone = TcpSocket::new_v4().unwrap();
    gone.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let proxy = Proxy::before(gone.local_addr().unwrap()).unwrap();
    assert_eq!(EchoClient::of(&proxy).rest(), (String::new(), Err(ErrorKind::ConnectionReset)));
}

#[test]
fn dropping_it_closes_the_port_and_every_connection() {
    let (server, proxy) = scene();
    let mut client = EchoClient::of(&proxy);
    client.exchange("a");
    server.asked("a");
    let address = proxy.address();
    drop(proxy);
    assert_eq!(client.rest(), (String::new(), Ok(())));
    assert_eq!(server.next(), EchoEvent::Ended(Ok(())));
    assert_eq!(TcpStream::connect(address).err().unwrap().kind(), ErrorKind::ConnectionRefused);
}

#[test]
#[should_panic(expected = "waited in vain for connections")]
fn a_wait_for_what_does_not_happen_fails() {
    let (_server, proxy) = scene();
    proxy.with_patience(Duration::from_millis(1)).await_connections(1);
}
