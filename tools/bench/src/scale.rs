//! How much is measured.

use std::time::Duration;

use crate::elections::SETTLING;

/// The numbers behind all figures.
pub(crate) struct Scale {
    /// Round trips without a pause.
    pub(crate) pings: usize,
    /// Durable writes without a pause.
    pub(crate) writes: usize,
    pub(crate) handovers: usize,
    /// Runs with whole processes.
    pub(crate) runs: usize,
    /// How many elections in one process.
    pub(crate) elections: &'static [u32],
    /// Up to how many of them a call for each is measured, too.
    pub(crate) max_singles: u32,
    /// How long they are left alone before they are watched.
    pub(crate) settling: Duration,
    /// For how long renewals are watched.
    pub(crate) renewals: Duration,
    pub(crate) group_ttl: Duration,
    pub(crate) group_watch: Duration,
    pub(crate) followers: usize,
    pub(crate) crowd_ttl: Duration,
    pub(crate) crowd_watch: Duration,
    pub(crate) resignations: usize,
    /// How long a leader is cut off that has to lose its lease.
    pub(crate) outage: Duration,
    /// How often the host of a leader goes.
    pub(crate) cuts: usize,
    /// How many leaders are killed in a row.
    pub(crate) kills: usize,
}

impl Scale {
    pub(crate) const FULL: Self = Self {
        pings: 10_000,
        writes: 2_000,
        handovers: 100,
        runs: 12,
        elections: &[1_000, 10_000],
        max_singles: 1_000,
        settling: SETTLING,
        renewals: Duration::from_secs(15),
        group_ttl: Duration::from_secs(30),
        group_watch: Duration::from_secs(120),
        followers: 1_000,
        crowd_ttl: Duration::from_secs(15),
        crowd_watch: Duration::from_secs(30),
        resignations: 5,
        outage: Duration::from_secs(20),
        cuts: 5,
        kills: 60,
    };

    /// Everything happens, but nothing of it often.
    pub(crate) const QUICK: Self = Self {
        pings: 100,
        writes: 100,
        handovers: 3,
        runs: 1,
        elections: &[20],
        max_singles: 20,
        settling: Duration::from_millis(200),
        renewals: Duration::from_millis(1_200),
        group_ttl: Duration::from_millis(600),
        group_watch: Duration::from_millis(1_200),
        followers: 20,
        crowd_ttl: Duration::from_millis(1_500),
        crowd_watch: Duration::from_secs(1),
        resignations: 1,
        outage: Duration::from_secs(4),
        cuts: 1,
        kills: 3,
    };
}
