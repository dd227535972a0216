//! A resignation until the next one leads, by candidates of one process.

use std::error::Error;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tenure::blocking::{Candidacy, Client};
use tenure::{Clock, EventKind, Instant, Timing};

use crate::stats::Samples;

/// Before each sample: processors and caches are as cold as in real life, and those who campaigned at the last one stand
/// by again.
pub(crate) const IDLE: Duration = Duration::from_millis(60);
/// Nothing here takes longer than a few leases.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Something whose duration is compared with others.
pub(crate) trait Contestant {
    /// Does it once.
    fn once(&mut self) -> Result<Duration, Box<dyn Error>>;
}

/// Lets all of them do it so many times, in turns, so that whatever else the machine does hits all of them alike. The
/// samples are in microseconds.
pub(crate) fn take_turns<const N: usize>(
    rounds: usize,
    mut contestants: [&mut dyn Contestant; N],
) -> Result<[Samples; N], Box<dyn Error>> {
    let mut samples = std::array::from_fn(|_| Samples::default());
    for _ in 0..rounds {
        for (contestant, samples) in contestants.iter_mut().zip(&mut samples) {
            std::thread::sleep(IDLE);
            samples.push_micros(contestant.once()?);
        }
    }
    Ok(samples)
}

/// Candidates with a store of their own each, as if they were processes of their own.
pub(crate) struct Candidates {
    candidates: Vec<Candidacy>,
    elected: Receiver<(usize, Instant)>,
    leader: usize,
}

impl Candidates {
    /// So many candidates for one election. One of them leads when this returns.
    pub(crate) fn raise(url: &str, ttl: Duration, count: usize) -> Result<Self, Box<dyn Error>> {
        Self::raise_in_groups(url, ttl, count, count)
    }

    /// The same with so many stores, as if they were candidates of so many processes.
    pub(crate) fn raise_in_groups(
        url: &str,
        ttl: Duration,
        count: usize,
        groups: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let handles = (0..groups).map(|_| Client::open(url)).collect::<Result<Vec<_>, _>>()?;
        let timing = Timing::from_ttl(ttl)?;
        let (sender, elected) = channel();
        let mut candidates = Vec::new();
        for index in 0..count {
            let candidacy = handles[index % groups].election("bench")?.candidate().timing(timing).start()?;
            let events = candidacy.events();
            let sender = sender.clone();
            std::thread::spawn(move || {
                for event in events {
                    if matches!(event.kind, EventKind::Elected { .. }) && sender.send((index, event.at)).is_err() {
                        return;
                    }
                }
            });
            candidates.push(candidacy);
        }
        let (leader, _) = elected.recv_timeout(PATIENCE)?;
        Ok(Self { candidates, elected, leader })
    }

    /// Lets all of them leave.
    pub(crate) fn end(self) {
        self.candidates.iter().for_each(Candidacy::request_stop);
        self.candidates.iter().for_each(Candidacy::stop);
    }
}

impl Contestant for Candidates {
    fn once(&mut self) -> Result<Duration, Box<dyn Error>> {
        let began = Clock::boottime().now();
        self.candidates[self.leader].request_resign();
        let (next, at) = self.elected.recv_timeout(PATIENCE)?;
        self.leader = next;
        Ok(at.saturating_since(began))
    }
}

/// More than are handed over to in the time that one who resigned stays away.
pub(crate) const CANDIDATES: usize = 16;
/// Longer than anything here takes.
pub(crate) const TTL: Duration = Duration::from_secs(15);
