//! A resource that checks terms takes none that is older than one it has taken.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Check, HistoryViolation};
use crate::event::Accepted;

/// What a resource took.
#[derive(Debug, Clone, Serialize)]
pub struct Register {
    /// Its name.
    pub resource: String,
    /// Whether it checks terms: every one does whose name does not begin with `unfenced`.
    pub fenced: bool,
    /// How many writes it took.
    pub accepted: usize,
    /// How many of them came from an older term than one before.
    pub stale: usize,
    /// The stale ones, where none may be. One that does not check terms shows what the others were spared.
    pub violations: Vec<HistoryViolation>,
}

/// Judges each resource by itself.
pub(crate) fn check(accepted: &[Accepted]) -> Vec<Register> {
    let mut by_resource: BTreeMap<&str, Vec<&Accepted>> = BTreeMap::new();
    for write in accepted {
        by_resource.entry(&write.resource).or_default().push(write);
    }
    by_resource.into_iter().map(|(resource, writes)| register(resource, writes)).collect()
}

/// Of two writes at the same nanosecond nothing tells which was first, so neither is stale because of the other.
fn register(resource: &str, mut writes: Vec<&Accepted>) -> Register {
    writes.sort_by_key(|write| write.boot_ns);
    let mut stale = Vec::new();
    let mut newest: Option<&Accepted> = None;
    for at_once in writes.chunk_by(|one, other| one.boot_ns == other.boot_ns) {
        let newer = |write: &&Accepted| newest.filter(|newest| newest.term > write.term);
        stale.extend(at_once.iter().filter_map(|write| Some(violation(resource, newer(write)?, write))));
        newest = newest.into_iter().chain(at_once.iter().copied()).max_by_key(|write| write.term);
    }
    let fenced = !resource.starts_with("unfenced");
    Register {
        resource: resource.to_owned(),
        fenced,
        accepted: writes.len(),
        stale: stale.len(),
        violations: if fenced { stale } else { Vec::new() },
    }
}

fn violation(resource: &str, newer: &Accepted, write: &Accepted) -> HistoryViolation {
    HistoryViolation {
        check: Check::Fencing,
        message: format!("{resource} took a write of term {} after one of term {}", write.term, newer.term),
        lines: vec![newer.source.clone(), write.source.clone()],
        between_boot_ns: None,
    }
}
