//! What a link does to a connection when it is cut, loses one way, and is restored.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tenure_testkit::PATIENCE;
use tenure_testkit::netns::{LinkDirection, Namespace};
use tenure_testkit::running::RunningProcess;

use crate::support::{has_said, namespace, says, start_in};

#[test]
fn a_cut_link_leaves_a_connection_half_open_until_it_is_restored() {
    let namespace = namespace();
    let (server, mut client) = connected(&namespace);
    namespace.cut().unwrap();
    client.send("b");
    client.expect_silence();
    assert!(!has_said(&server, "b"));
    assert_eq!(client.error(), None, "it must look healthy");
    assert_eq!(connect_error(client.address), ErrorKind::TimedOut);
    namespace.restore().unwrap();
    assert_eq!(client.line(), "=b\n");
    assert_eq!(says(&server), "b");
}

#[test]
fn a_server_behind_a_cut_link_does_not_learn_that_its_client_has_left() {
    let namespace = namespace();
    let (server, client) = connected(&namespace);
    namespace.cut().unwrap();
    drop(client);
    // A connection attempt lasts long enough for the news to have come, if it could.
    assert_eq!(connect_error(SocketAddr::from((namespace.inside(), 1))), ErrorKind::TimedOut);
    assert!(!has_said(&server, "the end"));
    namespace.restore().unwrap();
    assert_eq!(says(&server), "the end");
}

#[test]
fn requests_that_are_lost_are_not_executed() {
    let namespace = namespace();
    let (server, mut client) = connected(&namespace);
    namespace.lose(LinkDirection::Inward).unwrap();
    client.send("b");
    client.expect_silence();
    assert!(!has_said(&server, "b"));
    assert_eq!(connect_error(client.address), ErrorKind::TimedOut);
    namespace.restore().unwrap();
    assert_eq!((says(&server), client.line()), ("b".to_owned(), "=b\n".to_owned()));
}

#[test]
fn replies_that_are_lost_leave_the_request_executed() {
    let namespace = namespace();
    let (server, mut client) = connected(&namespace);
    namespace.lose(LinkDirection::Outward).unwrap();
    client.send("b");
    assert_eq!(says(&server), "b");
    client.expect_silence();
    assert_eq!(connect_error(client.address), ErrorKind::TimedOut);
    namespace.restore().unwrap();
    assert_eq!(client.line(), "=b\n");
    client.send("c");
    assert_eq!(says(&server), "c", "nothing is executed twice");
}

#[test]
fn many_namespaces_live_side_by_side() {
    let namespaces: Vec<Namespace> = std::thread::scope(|scope| {
        let makers: Vec<_> = (0..8).map(|_| scope.spawn(namespace)).collect();
        makers.into_iter().map(|maker| maker.join().unwrap()).collect()
    });
    let pairs: Vec<_> = namespaces.iter().map(connected).collect();
    namespaces[0].cut().unwrap();
    for (server, client) in pairs.into_iter().skip(1) {
        let mut client = client;
        client.send("b");
        assert_eq!((says(&server), client.line()), ("b".to_owned(), "=b\n".to_owned()));
    }
}

/// A server inside and a client outside, which have talked once.
fn connected(namespace: &Namespace) -> (RunningProcess, LinkClient) {
    let server = start_in(namespace, "server");
    let address = SocketAddr::from((namespace.inside(), says(&server).parse().unwrap()));
    let stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
    assert_eq!(stream.local_addr().unwrap().ip(), namespace.outside());
    let mut client = LinkClient { address, stream: BufReader::new(stream) };
    client.send("a");
    assert_eq!((says(&server), client.line()), ("a".to_owned(), "=a\n".to_owned()));
    (server, client)
}

fn connect_error(address: SocketAddr) -> ErrorKind {
    TcpStream::connect_timeout(&address, SILENCE).unwrap_err().kind()
}

struct LinkClient {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl LinkClient {
    fn send(&mut self, line: &str) {
        self.stream.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        self.stream.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line
    }

    /// Only time can show that nothing comes.
    fn expect_silence(&mut self) {
        self.stream.get_ref().set_read_timeout(Some(SILENCE)).unwrap();
        // Unlike a single read, this begins again after an interruption.
        let read = self.stream.read_line(&mut String::new());
        assert_eq!(read.unwrap_err().kind(), ErrorKind::WouldBlock);
    }

    fn error(&self) -> Option<ErrorKind> {
        self.stream.get_ref().take_error().unwrap().map(|error| error.kind())
    }
}

/// Many times what an answer takes, and short enough to be waited for.
const SILENCE: Duration = Duration::from_millis(500);
