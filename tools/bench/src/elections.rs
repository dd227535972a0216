//! Many elections in one process, all renewed each second.

use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use tenure::Timing;
use tenure::blocking::{Candidacy, Client};

use crate::figures::pass;
use crate::roles;
use crate::scale::Scale;
use crate::table::FigureTable;
use crate::usage::resident_bytes;

/// How long the leases live that are renewed each second.
pub(crate) const TTL: Duration = Duration::from_secs(6);
/// The first renewals still come in the groups in which the elections were won.
pub(crate) const SETTLING: Duration = Duration::from_secs(3);

/// Elections that this process has won, with one handle for all of them.
pub(crate) struct Elections {
    elections: Vec<Candidacy>,
    /// What this process occupied when there were only their names.
    bytes_before: f64,
    /// Dropped last: the elections need its thread to leave.
    _tenure: Client,
}

impl Elections {
    /// Wins so many elections on this store.
    pub(crate) fn win(url: &str, count: u32) -> Result<Self, Box<dyn Error>> {
        let timing = Timing::builder(TTL).renew_every(Duration::from_secs(1)).build()?;
        let client = Client::open(url)?;
        let names: Vec<String> = (0..count).map(|index| format!("election-{index}")).collect();
        let bytes_before = resident_bytes()?;
        let start = |name: &String| client.election(name)?.candidate().timing(timing).start();
        let elections: Vec<Candidacy> = names.iter().map(start).collect::<Result<_, _>>()?;
        for candidacy in &elections {
            candidacy.elected_timeout(PATIENCE)?.ok_or("not elected in time")?;
        }
        Ok(Self { elections, bytes_before, _tenure: client })
    }

    /// Resident bytes for all of them, beyond their names.
    pub(crate) fn bytes(&self) -> Result<f64, Box<dyn Error>> {
        Ok(resident_bytes()? - self.bytes_before)
    }

    /// Leaves all of them; fails if one was lost, because what was measured is worth nothing then.
    pub(crate) fn leave(self) -> Result<(), Box<dyn Error>> {
        if self.elections.iter().any(|candidacy| !candidacy.is_leader()) {
            return Err("an election was lost while it was measured".into());
        }
        self.elections.iter().for_each(Candidacy::request_stop);
        self.elections.iter().for_each(Candidacy::stop);
        Ok(())
    }
}

/// What renewals have cost: in the client, and whatever the server tells.
pub(crate) struct RenewalCost<L> {
    /// CPU seconds of the client.
    client: f64,
    /// What its elections occupy beyond their names.
    pub(crate) client_bytes: f64,
    pub(crate) before: L,
    pub(crate) after: L,
    seconds: f64,
    /// From the start of the client until it had all of them, in seconds.
    pub(crate) ready_after: f64,
}

impl<L> RenewalCost<L> {
    /// Lets a process play this role for so many leases, and watches it.
    pub(crate) fn watch(
        role: &str,
        url: &str,
        count: u32,
        scale: &Scale,
        mut look: impl FnMut() -> Result<L, Box<dyn Error>>,
    ) -> Result<Self, Box<dyn Error>> {
        let started = Instant::now();
        let mut client = roles::start(&[role, url, &count.to_string()])?;
        let ready_after = started.elapsed().as_secs_f64();
        std::thread::sleep(scale.settling);
        let (usage_before, before) = (roles::usage(&mut client)?, look()?);
        let began = Instant::now();
        pass(&format!("{count} leases, {role}"), scale.renewals);
        let seconds = began.elapsed().as_secs_f64();
        let (usage, after) = (roles::usage(&mut client)?, look()?);
        roles::dismiss(client)?;
        let client = usage.cpu_seconds - usage_before.cpu_seconds;
        Ok(Self { client, client_bytes: usage.bytes, before, after, seconds, ready_after })
    }

    /// What the processors were used for, when the server used so many seconds of them.
    pub(crate) fn cpu(&self, server: f64) -> Cpu {
        Cpu { client: 100.0 * self.client / self.seconds, server: 100.0 * server / self.seconds }
    }
}

/// Percent of a core.
#[derive(Clone, Copy)]
pub(crate) struct Cpu {
    pub(crate) client: f64,
    pub(crate) server: f64,
}

impl Cpu {
    /// Puts it into the table, beside its floor.
    pub(crate) fn compare(self, floor: Self, what: &str, table: &mut FigureTable) {
        let both = |cpu: Self| cpu.client + cpu.server;
        for (who, ours, floor) in [
            ("client", self.client, floor.client),
            ("server", self.server, floor.server),
            ("both", both(self), both(floor)),
        ] {
            let (measured, beside) = (format!("{ours:.2} %"), format!("{floor:.2} %"));
            table.ratio(format!("{what}: CPU of {who}"), measured, beside, ours / floor, 2.0);
        }
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {:.2} %, server {:.2} % of a core", self.client, self.server)
    }
}

/// What is asked of the client for each election.
pub(crate) fn demand_memory(what: &str, count: u32, client_bytes: f64, beside: String, table: &mut FigureTable) {
    let each = client_bytes / f64::from(count);
    table.demand(
        format!("{what}: memory of the client for each, beyond its name"),
        format!("{each:.0} bytes"),
        beside,
        "at most 1,000 bytes",
        each <= 1_000.0,
    );
}

/// The longest that an election may take to be won by its only candidate.
const PATIENCE: Duration = Duration::from_secs(60);
