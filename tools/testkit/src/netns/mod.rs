//! Network namespaces: another host, as far as the network is concerned, whose cable can be pulled.

mod ip;
mod pair;
mod remains;

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

pub use ip::NetnsError;
use ip::{check_capabilities, ip};
use pair::AddressPair;
use remains::{Name, Remains, sweep};

/// Whether namespaces can be made here; the error says what is missing. It is tried, because only that is proof.
pub fn available() -> Result<(), NetnsError> {
    Namespace::new().map(drop)
}

/// A network namespace with a link to the one of this process.
///
/// ```
/// use tenure_testkit::netns::Namespace;
///
/// let elsewhere = Namespace::new()?;
/// let output = elsewhere.command("ip").args(["-brief", "address"]).output()?;
/// assert!(String::from_utf8_lossy(&output.stdout).contains(&elsewhere.inside().to_string()));
/// elsewhere.cut()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Unlike a proxy that swallows bytes, a link that is cut leaves a connection truly half-open: neither kernel hears of
/// the other again, and both send again what was not acknowledged (cases 31 to 33 of the fault catalogue). After a
/// repair TCP needs about as long to notice it as the outage took.
///
/// Dropping it kills what still runs inside and deletes it. Drop first what talks to it from outside: its address
/// leads nowhere then. Namespaces whose process was killed are deleted when the next process makes its first one.
#[derive(Debug)]
pub struct Namespace {
    remains: Remains,
    pair: AddressPair,
}

/// One of the two ways over the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkDirection {
    /// From this process's network into the namespace.
    Inward,
    /// From the namespace to this process's network.
    Outward,
}

impl Namespace {
    /// Makes a namespace and its link.
    pub fn new() -> Result<Self, NetnsError> {
        static SWEPT: Once = Once::new();
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        check_capabilities()?;
        SWEPT.call_once(sweep);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = Name::of_this_process(number).to_string();
        let name = name.as_str();

        // From here on the remains clear up behind an error.
        let remains = Remains::of(name);
        ip(&["netns", "add", name])?;
        ip(&["link", "add", name, "type", "veth", "peer", "name", INNER_LINK, "netns", name])?;
        ip(&["link", "set", name, "up"])?;
        let pair = AddressPair::claim(name, number)?;
        let (inside, outside) = (pair.inside().to_string(), pair.outside().to_string());
        ip(&["address", "add", &outside, "dev", name])?;
        ip(&["-netns", name, "address", "add", &inside, "peer", &outside, "dev", INNER_LINK])?;
        ip(&["-netns", name, "link", "set", "lo", "up"])?;
        ip(&["-netns", name, "link", "set", INNER_LINK, "up"])?;
        Ok(Self { remains, pair })
    }

    /// The address of the namespace, which can be reached from outside.
    pub fn inside(&self) -> Ipv4Addr {
        self.pair.inside()
    }

    /// The address of this process's end of the link, which can be reached from inside.
    pub fn outside(&self) -> Ipv4Addr {
        self.pair.outside()
    }

    /// A command that will run inside. Its process is the program's own: killing it leaves no wrapper.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.name()]).arg(program);
        command
    }

    /// Pulls the cable. Whoever is inside sees that its interface is down and gets errors for new connections;
    /// everyone outside, and every open connection, gets silence.
    pub fn cut(&self) -> Result<(), NetnsError> {
        ip(&["-netns", self.name(), "link", "set", INNER_LINK, "down"])
    }

    /// Loses all that goes one way, without a sign at either end. For silence on both sides, lose both ways.
    pub fn lose(&self, way: LinkDirection) -> Result<(), NetnsError> {
        // A frame to a neighbour that does not exist crosses the link, and is ignored.
        let (place, neighbour, link) = self.neighbour(way);
        let entry = ["neighbour", "replace", &neighbour, "lladdr", NOBODY, "dev", link, "nud", "permanent"];
        ip(&[&place[..], &entry].concat())
    }

    /// Puts the cable back, and loses nothing any more.
    pub fn restore(&self) -> Result<(), NetnsError> {
        ip(&["-netns", self.name(), "link", "set", INNER_LINK, "up"])?;
        for way in [LinkDirection::Inward, LinkDirection::Outward] {
            let (place, neighbour, link) = self.neighbour(way);
            // Flushing is content with nothing to flush, and asks for the true address when the next frame goes out.
            ip(&[&place[..], &["neighbour", "flush", "to", &neighbour, "dev", link, "nud", "all"]].concat())?;
        }
        Ok(())
    }

    /// Under this name it is known to `ip netns`, as is its outer end to `ip link`.
    pub fn name(&self) -> &str {
        self.remains.name()
    }

    /// Where frames that go this way are addressed, to whom, and over which link.
    fn neighbour(&self, way: LinkDirection) -> (Vec<&str>, String, &str) {
        match way {
            LinkDirection::Inward => (Vec::new(), self.inside().to_string(), self.name()),
            LinkDirection::Outward => (vec!["-netns", self.name()], self.outside().to_string(), INNER_LINK),
        }
    }
}

const INNER_LINK: &str = "eth0";
/// An address of the kind that is given out locally, and that no interface here has.
const NOBODY: &str = "02:00:00:00:00:01";
