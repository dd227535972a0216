//! `tenure resign`: ask the leader to hand over.

use std::time::Duration;

use serde::Serialize;
use tenure::store::{Feature, Observation};
use tenure::{CandidateId, Clock};

use crate::args::{Global, ResignArgs};
use crate::duration::show;
use crate::exit::{CommandError, Exit};
use crate::options::open_to_look_for;
use crate::output::{json_line, print};

/// The outcome as `tenure resign --json` prints it.
#[derive(Debug, Serialize)]
struct HandoverLine<'a> {
    election: &'a str,
    from: &'a str,
    from_term: u64,
    leader: Option<String>,
    term: Option<u64>,
    took_ms: u64,
}

/// How long to wait for a successor where nobody knows whether there is one. Longer than a candidate holds back for the sake
/// of one that was named.
const UNKNOWN_LINE: Duration = Duration::from_secs(3);

/// How much longer than it is waited for the hand-over a store may take that does not answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

pub(super) async fn execute(global: &Global, args: &ResignArgs) -> Result<Exit, CommandError> {
    let limit = args.wait.saturating_add(ANSWER_WITHIN);
    tokio::time::timeout(limit, hand_over(global, args)).await.unwrap_or_else(|_| {
        let message = format!(
            "the store has not answered within {}; the leader of {} may have been asked to hand over, or not: see `tenure \
             status {}`",
            show(limit),
            args.name,
            args.name
        );
        Err(CommandError::new(Exit::StoreUnavailable, message))
    })
}

async fn hand_over(global: &Global, args: &ResignArgs) -> Result<Exit, CommandError> {
    let to = args.to.as_ref().map(CandidateId::new).transpose().map_err(tenure::Error::from)?;
    let client = open_to_look_for(global, &args.name)?;
    let mut hints = client.store().hints();
    let before = client.election(&args.name)?.observe().await?;
    // It counts through a suspend.
    let clock = Clock::boottime();
    let started = clock.now();
    let elapsed = || clock.now().saturating_since(started);
    let Some(old) = &before.lease else { return Err(nobody_leads(&args.name)) };
    if to.as_ref() == Some(&old.leader.candidate) {
        report(args, &old.leader, &before, elapsed())?;
        return Ok(Exit::Success);
    }
    let knows_the_line = !client.store().capabilities().lacks.contains(&Feature::StandBys);
    if let Some(to) = to.as_ref().filter(|_| knows_the_line) {
        check_stands_by(&args.name, to, &before)?;
    }
    let asked_for = to.clone();
    let election = client.election(&args.name)?;
    let is_led = match to {
        Some(to) => election.request_handover_to(to).await?,
        None => election.request_handover().await?,
    };
    if !is_led {
        return Err(nobody_leads(&args.name));
    }
    loop {
        let seen = client.election(&args.name)?.observe().await?;
        let term_now = seen.lease.as_ref().map(|lease| lease.leader.term);
        let took = elapsed();
        // Where nobody knows who stands by, somebody who does is given the time to take over.
        let nobody_comes = seen.standing_by.is_empty() && (knows_the_line || took >= UNKNOWN_LINE.min(args.wait));
        if term_now.is_some_and(|term| term != old.leader.term) || (term_now.is_none() && nobody_comes) {
            report(args, &old.leader, &seen, took)?;
            return check_successor(&args.name, asked_for.as_ref(), &seen);
        }
        let Some(left) = args.wait.checked_sub(elapsed()).filter(|left| !left.is_zero()) else {
            let message = format!(
                "{} was asked to hand over {} but still leads after {:?}; it may be stopped or cut off from the store, \
                 and is replaced when its lease runs out",
                old.leader.candidate, args.name, args.wait
            );
            return Err(CommandError::new(Exit::NotElected, message));
        };
        // A hint may be lost; looking now and then is the truth.
        let _ = tokio::time::timeout(left.min(Duration::from_millis(500)), hints.next()).await;
    }
}

fn report(args: &ResignArgs, from: &tenure::Leader, seen: &Observation, took: Duration) -> Result<(), CommandError> {
    let leader = seen.lease.as_ref().map(|lease| &lease.leader);
    if args.json {
        let line = HandoverLine {
            election: &args.name,
            from: from.candidate.as_str(),
            from_term: from.term.get(),
            leader: leader.map(|leader| leader.candidate.to_string()),
            term: leader.map(|leader| leader.term.get()),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        };
        return print(|out| json_line(out, &line));
    }
    print(|out| match leader {
        Some(leader) if leader.term == from.term => {
            writeln!(out, "{} already leads {}, term {}; nothing was done", from.candidate, args.name, from.term)
        }
        Some(leader) => {
            let (from, to, term) = (&from.candidate, &leader.candidate, leader.term);
            writeln!(out, "{from} handed over to {to}, term {term}, in {took:.1?}")
        }
        None => writeln!(out, "{} resigned; no candidate has taken over", from.candidate),
    })
}

/// A mistyped name must not cost the leader its lease.
fn check_stands_by(name: &str, to: &CandidateId, seen: &Observation) -> Result<(), CommandError> {
    if seen.standing_by.iter().any(|stand_by| stand_by.candidate == *to) {
        return Ok(());
    }
    let others: Vec<&str> = seen.standing_by.iter().map(|stand_by| stand_by.candidate.as_str()).collect();
    let those = match others.as_slice() {
        [] => "no candidate does".to_owned(),
        others => format!("standing by: {}", others.join(", ")),
    };
    Err(CommandError::new(Exit::Failure, format!("{to} does not stand by for {name} ({those}); nothing was done")))
}

/// Whether the one that was named leads now.
fn check_successor(name: &str, asked_for: Option<&CandidateId>, seen: &Observation) -> Result<Exit, CommandError> {
    let leader = seen.lease.as_ref().map(|lease| &lease.leader.candidate);
    match asked_for {
        Some(asked_for) if leader != Some(asked_for) => {
            let message = format!("{asked_for} does not lead {name}: it did not take over in time");
            Err(CommandError::new(Exit::NotElected, message))
        }
        _ => Ok(Exit::Success),
    }
}

fn nobody_leads(name: &str) -> CommandError {
    CommandError::new(Exit::Failure, format!("{name} has no leader to ask"))
}
