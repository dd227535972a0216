//! `tenure watch`: changes of leadership as they happen.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use serde::Serialize;
use tenure::store::{Change, Observation, Transition};
use tenure::{Clock, Tenure};

use super::status::observe;
use crate::args::{Global, WatchArgs};
use crate::exit::{Exit, Failure};
use crate::message::printable;
use crate::options::{open_to_look, open_to_look_for};
use crate::output::{is_read, json_line, now};
use crate::signals::Signals;
use crate::voice::say;

/// A change as `tenure watch --json` prints it.
#[derive(Debug, Serialize)]
struct ChangeLine<'a> {
    event: &'static str,
    election: &'a str,
    candidate: Option<&'a str>,
    term: Option<u64>,
    reason: Option<&'a str>,
    at: String,
    boot_ns: u64,
}

/// The pause before looking again at a store that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// What is remembered of an election: who leads, and under which term.
type Known = Option<(String, u64)>;

pub(super) async fn execute(global: &Global, args: &WatchArgs) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()?;
    let tenure = match &args.name {
        Some(name) => open_to_look_for(global, name)?,
        None => open_to_look(global)?,
    };
    // Listening begins before looking, so that nothing falls between the two.
    let mut hints = tenure.hints();
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    let mut observed = observe(&tenure, args.name.as_deref()).await?;
    loop {
        for (name, seen) in &observed {
            let now = leader_of(seen);
            if known.get(name) != Some(&now) {
                let lost =
                    known.get(name).cloned().flatten().filter(|(_, term)| Some(*term) != now.as_ref().map(|now| now.1));
                let ended = match lost {
                    Some((candidate, term)) => Some((reason(&tenure, name, term).await, candidate, term)),
                    None => None,
                };
                if !is_read(report(args.json, name, ended.as_ref(), &now))? {
                    return Ok(Exit::Success);
                }
                known.insert(name.clone(), now);
            }
        }
        tokio::select! {
            signal = signals.end() => return Ok(Exit::Signalled(signal)),
            _ = hints.recv() => while hints.try_recv().is_ok() {},
            () = tokio::time::sleep(next_look(&observed, tenure.capabilities().pushes)) => {}
        }
        match observe(&tenure, args.name.as_deref()).await {
            Ok(seen) => observed = seen,
            // Who watches wants to see how it goes on.
            Err(failure) => {
                say(&failure.message);
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}

/// The next known expiry is when something may have changed without anybody saying so.
fn next_look(observed: &[(String, Observation)], pushes: bool) -> Duration {
    const AFTER_EXPIRY: Duration = Duration::from_millis(20);
    // Participants of another make tell nobody, and neither does whoever changes a store by hand.
    let longest = Duration::from_secs(if pushes { 2 } else { 1 });
    let expiries = observed.iter().filter_map(|(_, seen)| seen.lease.as_ref()).map(|lease| lease.remaining);
    expiries.map(|remaining| remaining + AFTER_EXPIRY).chain([longest]).min().unwrap_or(longest)
}

fn leader_of(seen: &Observation) -> Known {
    let leader = &seen.lease.as_ref()?.leader;
    Some((leader.candidate.to_string(), leader.term.get()))
}

/// Why a leadership ended, if the store has written it down.
async fn reason(tenure: &Tenure, election: &str, term: u64) -> Option<String> {
    const NEWEST: usize = 16;
    let history = tenure.history(election, NEWEST).await.ok()?;
    let is_it = |change: &&Transition| change.change == Change::Lost && change.term.get() == term;
    history.iter().find(is_it).map(|change| change.reason.clone())
}

/// A leadership that ended: why, if it is known, whose, and under which term.
type Ended = (Option<String>, String, u64);

fn report(json: bool, election: &str, ended: Option<&Ended>, leader: &Known) -> io::Result<()> {
    let at = now();
    if json {
        let boot_ns = Clock::boottime().now().as_nanos();
        let line = |event, candidate, term, reason| ChangeLine {
            event,
            election,
            candidate,
            term,
            reason,
            at: at.clone(),
            boot_ns,
        };
        if let Some((reason, candidate, term)) = ended {
            json_line(&mut io::stdout(), &line("lost", Some(candidate.as_str()), Some(*term), reason.as_deref()))?;
        }
        let candidate = leader.as_ref().map(|(candidate, _)| candidate.as_str());
        return json_line(
            &mut io::stdout(),
            &line("observed", candidate, leader.as_ref().map(|(_, term)| *term), None),
        );
    }
    use std::io::Write;
    if let Some((reason, candidate, term)) = ended {
        let reason = printable(reason.as_deref().unwrap_or("nobody wrote down why"));
        writeln!(io::stdout(), "{at}  {election}: {candidate} lost term {term}: {reason}")?;
    }
    match leader {
        Some((candidate, term)) => writeln!(io::stdout(), "{at}  {election}: {candidate} leads, term {term}"),
        None => writeln!(io::stdout(), "{at}  {election}: nobody leads"),
    }
}
