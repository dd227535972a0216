//! The events of one process in one election, in order.

use std::collections::BTreeMap;

use tenure_core::{CandidateId, ElectionName};

use crate::event::{Event, What};

/// A process as one election knew it.
#[derive(Debug)]
pub(crate) struct Life<'a> {
    pub(crate) candidate: &'a CandidateId,
    pub(crate) pid: Option<u32>,
    /// By time. At the same nanosecond the order of input counts, and a kill comes last.
    pub(crate) events: Vec<&'a Event>,
}

/// Everybody who stood in an election. A kill belongs to every process that it may mean: with that candidate id, and with
/// that process id where both tell one.
pub(crate) fn lives<'a>(election: &ElectionName, events: &'a [Event]) -> Vec<Life<'a>> {
    let here = |event: &&Event| event.election.as_ref().is_none_or(|name| name == election);
    let (kills, own): (Vec<&Event>, Vec<&Event>) =
        events.iter().filter(here).partition(|event| matches!(event.what, What::Killed));
    let mut lives: BTreeMap<(&CandidateId, Option<u32>), Vec<&Event>> = BTreeMap::new();
    for event in own {
        lives.entry((&event.candidate, event.pid)).or_default().push(event);
    }
    let life = |((candidate, pid), mut events): ((&'a CandidateId, Option<u32>), Vec<&'a Event>)| {
        let means =
            |kill: &&&Event| kill.candidate == *candidate && (kill.pid.is_none() || pid.is_none() || kill.pid == pid);
        events.extend(kills.iter().filter(means));
        events.sort_by_key(|event| event.boot_ns);
        Life { candidate, pid, events }
    };
    lives.into_iter().map(life).collect()
}
