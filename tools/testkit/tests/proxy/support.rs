//! A server that answers lines, a client that sends them, and a proxy between the two.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use tenure_testkit::PATIENCE;
use tenure_testkit::proxy::{Proxy, Stretch};

/// A server and a proxy in front of it.
pub(crate) fn scene() -> (EchoServer, Proxy) {
    let server = EchoServer::start();
    let proxy = Proxy::before(server.address).unwrap();
    (server, proxy)
}

/// The same, with a proxy that knows that a line is a message.
pub(crate) fn scene_of_lines() -> (EchoServer, Proxy) {
    let server = EchoServer::start();
    let line = |_: Stretch, bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
    let proxy = Proxy::with_framing(server.address, line).unwrap();
    (server, proxy)
}

/// Answers each line `x` with `=x`, and tells the test what it sees. It accepts connections until the tests end.
pub(crate) struct EchoServer {
    pub(crate) address: SocketAddr,
    events: Receiver<EchoEvent>,
}

/// What a server sees.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EchoEvent {
    Asked(String),
    /// A client has closed its side, or the connection broke.
    Ended(Result<(), ErrorKind>),
}

impl EchoServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, events) = channel();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let (connection, events) = (connection.unwrap(), sender.clone());
                thread::spawn(move || {
                    let end = answer(&connection, &events).map_err(|error| error.kind());
                    // A test that has ended wants to know no more.
                    let _ = events.send(EchoEvent::Ended(end));
                });
            }
        });
        Self { address, events }
    }

    pub(crate) fn next(&self) -> EchoEvent {
        self.events.recv_timeout(PATIENCE).unwrap()
    }

    pub(crate) fn asked(&self, line: &str) {
        assert_eq!(self.next(), EchoEvent::Asked(line.to_owned()));
    }

    pub(crate) fn has_seen_nothing(&self) -> bool {
        self.events.try_recv().is_err()
    }
}

fn answer(connection: &TcpStream, events: &Sender<EchoEvent>) -> io::Result<()> {
    for line in BufReader::new(connection).lines() {
        let line = line?;
        let reply = format!("={line}\n");
        let _ = events.send(EchoEvent::Asked(line));
        let mut connection = connection;
        connection.write_all(reply.as_bytes())?;
    }
    Ok(())
}

/// Sends lines and reads what comes back.
pub(crate) struct EchoClient(BufReader<TcpStream>);

impl EchoClient {
    pub(crate) fn of(proxy: &Proxy) -> Self {
        Self::connect(proxy).unwrap()
    }

    pub(crate) fn connect(proxy: &Proxy) -> io::Result<Self> {
        let stream = TcpStream::connect(proxy.address())?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(stream)))
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// What comes next, up to the end of a line or of the stream.
    pub(crate) fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).map(|_| line)
    }

    /// All that still comes, and how it ends.
    pub(crate) fn rest(&mut self) -> (String, Result<(), ErrorKind>) {
        let mut rest = Vec::new();
        let end = self.0.read_to_end(&mut rest);
        (String::from_utf8(rest).unwrap(), end.map(drop).map_err(|error| error.kind()))
    }

    /// Sends a line and wants the right answer.
    pub(crate) fn exchange(&mut self, line: &str) {
        self.send(&format!("{line}\n"));
        assert_eq!(self.line().unwrap(), format!("={line}\n"));
    }

    /// True if nothing has come, not even an end.
    pub(crate) fn waits(&mut self) -> bool {
        self.0.get_ref().set_nonblocking(true).unwrap();
        let is_waiting = self.0.fill_buf().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        self.0.get_ref().set_nonblocking(false).unwrap();
        is_waiting
    }

    pub(crate) fn finish(&self) {
        self.0.get_ref().shutdown(Shutdown::Write).unwrap();
    }
}
