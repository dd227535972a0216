//! The events of one process in one election, in order.

use std::collections::BTreeMap;

use tenure_core::{CandidateId, ElectionName};

use crate::event::{HistoryEvent, HistoryEventKind};

/// A process as one election knew it.
#[derive(Debug)]
pub(crate) struct ProcessLife<'a> {
    pub(crate) candidate: &'a CandidateId,
    pub(crate) pid: Option<u32>,
    /// By time. At the same nanosecond the order of input counts, and a kill comes last.
    pub(crate) events: Vec<&'a HistoryEvent>,
}

/// Everybody who stood in an election. A kill belongs to every process that it may mean: with that candidate id, and with
/// that process id where both tell one.
pub(crate) fn lives<'a>(election: &ElectionName, events: &'a [HistoryEvent]) -> Vec<ProcessLife<'a>> {
    let here = |event: &&HistoryEvent| event.election.as_ref().is_none_or(|name| name == election);
    let (kills, own): (Vec<&HistoryEvent>, Vec<&HistoryEvent>) =
        events.iter().filter(here).partition(|event| matches!(event.what, HistoryEventKind::Killed));
    let mut lives: BTreeMap<(&CandidateId, Option<u32>), Vec<&HistoryEvent>> = BTreeMap::new();
    for event in own {
        lives.entry((&event.candidate, event.pid)).or_default().push(event);
    }
    let life = |((candidate, pid), mut events): ((&'a CandidateId, Option<u32>), Vec<&'a HistoryEvent>)| {
        let means = |kill: &&&HistoryEvent| {
            kill.candidate == *candidate && (kill.pid.is_none() || pid.is_none() || kill.pid == pid)
        };
        events.extend(kills.iter().filter(means));
        events.sort_by_key(|event| event.boot_ns);
        ProcessLife { candidate, pid, events }
    };
    lives.into_iter().map(life).collect()
}
