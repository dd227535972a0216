//! Many elections in one process, all renewed each second.

use std::error::Error;
use std::time::Duration;

use tenure::{Election, Tenure, Timing};

use crate::usage::resident_bytes;

/// How long the leases live that are renewed each second.
pub(crate) const TTL: Duration = Duration::from_secs(6);
/// The first renewals still come in the groups in which the elections were won.
pub(crate) const SETTLING: Duration = Duration::from_secs(3);

/// Elections that this process has won, with one handle for all of them.
pub(crate) struct Elections {
    elections: Vec<Election>,
    /// What this process occupied when there were only their names.
    bytes_before: f64,
    /// Dropped last: the elections need its thread to leave.
    _tenure: Tenure,
}

impl Elections {
    /// Wins so many elections on this store.
    pub(crate) fn win(url: &str, count: u32) -> Result<Self, Box<dyn Error>> {
        let timing = Timing::builder(TTL).renew_every(Duration::from_secs(1)).build()?;
        let tenure = Tenure::open(url)?;
        let names: Vec<String> = (0..count).map(|index| format!("election-{index}")).collect();
        let bytes_before = resident_bytes()?;
        let start = |name: &String| tenure.election(name)?.timing(timing).start();
        let elections: Vec<Election> = names.iter().map(start).collect::<Result<_, _>>()?;
        for election in &elections {
            election.wait_elected_for(PATIENCE)?.ok_or("not elected in time")?;
        }
        Ok(Self { elections, bytes_before, _tenure: tenure })
    }

    /// Resident bytes for all of them, beyond their names.
    pub(crate) fn bytes(&self) -> Result<f64, Box<dyn Error>> {
        Ok(resident_bytes()? - self.bytes_before)
    }

    /// Leaves all of them; fails if one was lost, because what was measured is worth nothing then.
    pub(crate) fn leave(self) -> Result<(), Box<dyn Error>> {
        if self.elections.iter().any(|election| !election.is_leader()) {
            return Err("an election was lost while it was measured".into());
        }
        self.elections.iter().for_each(Election::request_stop);
        self.elections.iter().for_each(Election::stop_blocking);
        Ok(())
    }
}

/// The longest that an election may take to be won by its only candidate.
const PATIENCE: Duration = Duration::from_secs(60);
