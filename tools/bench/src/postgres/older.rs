//! What older systems need for the same. Their own code was run with PostgreSQL 15 on a machine with two cores: three
//! processes an election, a ttl of 3 s, renewals and polls each second; store calls with their defaults. The figures are
//! medians of that time, and not measured again.

/// Figures of one of them, as they go into the table.
pub(super) struct Older {
    pub(super) name: &'static str,
    pub(super) handover: &'static str,
    pub(super) crash: &'static str,
    pub(super) gone: &'static str,
    /// A black hole of 20 s, and refused connections for as long.
    pub(super) outages: [&'static str; 2],
    pub(super) group: &'static str,
    pub(super) elections: &'static str,
}

/// The recipe `leader-election` for TypeScript and Python, with a table.
pub(super) const RECIPE: Older = Older {
    name: "the recipe `leader-election`",
    handover: "526 ms",
    crash: "2,930 ms after the kill",
    gone: "2.3 to 3.3 s",
    outages: [
        "; the recipe `leader-election`: two leaders for 16.5 to 17.5 s",
        "; the recipe `leader-election`: two leaders for ever",
    ],
    group: "1.00",
    elections: "1,000 elections: client 30 %, server 28 %, 972 statements per second",
};

/// `@platformatic/leader`, with an advisory lock.
pub(super) const LOCK: Older = Older {
    name: "`@platformatic/leader`",
    handover: "242 ms",
    crash: "342 ms after the kill",
    gone: "nobody in 60 s",
    outages: ["; `@platformatic/leader`: no overlap, and no failover", "; `@platformatic/leader`: the process crashes"],
    group: "1.00",
    elections: "1,000 elections: client 12.8 %, server 2.6 %, 1,008 statements per second, 1,000 connections",
};
