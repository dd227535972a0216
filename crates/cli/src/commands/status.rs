//! `tenure status`: who leads.

use tenure::store::{Feature, Observation};
use tenure::{CandidateId, Tenure};

use super::{gaps, live};
use crate::args::{Global, StatusArgs};
use crate::duration::show;
use crate::exit::{Exit, Failure};
use crate::options::{open_to_look, open_to_look_for, store_shown};
use crate::output::{StatusLine, json_line, print, table};

pub(super) async fn execute(global: &Global, args: &StatusArgs) -> Result<Exit, Failure> {
    if args.watch {
        return live::execute(global, args.name.as_deref()).await;
    }
    let asked_about = args.leads.as_ref().map(CandidateId::new).transpose().map_err(tenure::Error::from)?;
    let tenure = match &args.name {
        Some(name) => open_to_look_for(global, name)?,
        None => open_to_look(global)?,
    };
    let observed = observe(&tenure, args.name.as_deref()).await?;
    // Whether one candidate leads is known everywhere.
    if args.leads.is_none() {
        gaps::tell(&tenure, shown(args.name.as_deref()));
    }
    if args.json {
        let lines: Vec<StatusLine> = observed.iter().map(|(name, seen)| StatusLine::new(name, seen)).collect();
        print(|out| json_line(out, &lines))?;
    } else if observed.is_empty() {
        let what = if gaps::lacks(&tenure, Feature::Records) { "no elections are listed" } else { "no elections" };
        print(|out| writeln!(out, "{what} in namespace {} of {}", global.namespace, store_shown(global)))?;
    } else {
        let rows: Vec<Vec<String>> = observed.iter().map(|(name, seen)| row(name, seen)).collect();
        let headings = ["ELECTION", "LEADER", "TERM", "REMAINING", "SINCE", "STANDING BY"];
        print(|out| table(out, &headings, &rows))?;
    }
    let leads = |seen: &Observation| seen.lease.as_ref().map(|lease| lease.leader.candidate.clone());
    let is_so =
        asked_about.is_none_or(|candidate| observed.iter().any(|(_, seen)| leads(seen).as_ref() == Some(&candidate)));
    Ok(if is_so { Exit::Success } else { Exit::Failure })
}

/// What is shown of one election, or of all, and what not every store knows.
pub(super) fn shown(name: Option<&str>) -> &'static [Feature] {
    const LIST: [Feature; 4] = [Feature::Records, Feature::StandBys, Feature::Deadlines, Feature::Metadata];
    if name.is_some() { &LIST[1..] } else { &LIST }
}

/// One election, or all that there are.
pub(super) async fn observe(tenure: &Tenure, name: Option<&str>) -> Result<Vec<(String, Observation)>, Failure> {
    match name {
        Some(name) => Ok(vec![(name.to_owned(), tenure.observe(name).await?)]),
        None => Ok(tenure.observe_all().await?.into_iter().map(|(name, seen)| (name.to_string(), seen)).collect()),
    }
}

/// One election as a row of a table: name, leader, term, remaining, since, standing by.
pub(super) fn row(name: &str, seen: &Observation) -> Vec<String> {
    let line = StatusLine::new(name, seen);
    let dash = || "-".to_owned();
    let reserved = line.reserved_for.map(|candidate| format!("(reserved for {candidate})"));
    vec![
        line.election,
        line.leader.or(reserved).unwrap_or_else(dash),
        line.term.map_or_else(dash, |term| term.to_string()),
        seen.lease.as_ref().and_then(|lease| lease.remaining).map_or_else(dash, show),
        line.since.unwrap_or_else(dash),
        if line.standing_by.is_empty() { dash() } else { line.standing_by.join(", ") },
    ]
}
