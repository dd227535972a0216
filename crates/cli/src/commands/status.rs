//! `tenure status`: who leads.

use tenure::Tenure;
use tenure::store::Observation;

use crate::args::{Global, StatusArgs};
use crate::duration::show;
use crate::exit::{Exit, Failure};
use crate::options::{open, open_for};
use crate::output::{StatusLine, json_line, print, table};

pub(super) async fn execute(global: &Global, args: &StatusArgs) -> Result<Exit, Failure> {
    let tenure = match &args.name {
        Some(name) => open_for(global, name)?,
        None => open(global)?,
    };
    let observed = observe(&tenure, args.name.as_deref()).await?;
    if args.json {
        let lines: Vec<StatusLine> = observed.iter().map(|(name, seen)| StatusLine::new(name, seen)).collect();
        print(|out| json_line(out, &lines))?;
    } else if observed.is_empty() {
        print(|out| writeln!(out, "no elections in namespace {}", global.namespace))?;
    } else {
        let rows: Vec<Vec<String>> = observed.iter().map(|(name, seen)| row(name, seen)).collect();
        let headings = ["ELECTION", "LEADER", "TERM", "REMAINING", "SINCE", "STANDING BY"];
        print(|out| table(out, &headings, &rows))?;
    }
    Ok(Exit::Success)
}

/// One election, or all that there are.
pub(super) async fn observe(tenure: &Tenure, name: Option<&str>) -> Result<Vec<(String, Observation)>, Failure> {
    match name {
        Some(name) => Ok(vec![(name.to_owned(), tenure.observe(name).await?)]),
        None => Ok(tenure.observe_all().await?.into_iter().map(|(name, seen)| (name.to_string(), seen)).collect()),
    }
}

fn row(name: &str, seen: &Observation) -> Vec<String> {
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
