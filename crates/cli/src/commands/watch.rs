//! `tenure watch`: changes of leadership as they happen.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use serde::Serialize;
use tenure::Clock;
use tenure::store::Observation;

use super::status::observe;
use crate::args::{Global, StatusArgs};
use crate::exit::{Exit, Failure};
use crate::options::{open, open_for};
use crate::output::{json_line, now};
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

/// What is remembered of an election: who leads, and under which term, if that is known.
type Known = Option<(String, Option<u64>)>;

pub(super) async fn execute(global: &Global, args: &StatusArgs) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()?;
    let tenure = match &args.name {
        Some(name) => open_for(global, name)?,
        None => open(global)?,
    };
    // Listening begins before looking, so that nothing falls between the two.
    let mut hints = tenure.hints();
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    let mut observed = observe(&tenure, args.name.as_deref()).await?;
    loop {
        for (name, seen) in &observed {
            let now = leader_of(seen);
            if known.get(name) != Some(&now) {
                // A reader that has gone away is no reason to complain.
                if report(args.json, name, &now).is_err() {
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
    let longest = if pushes { Duration::from_secs(30) } else { Duration::from_secs(1) };
    let expiries = observed.iter().filter_map(|(_, seen)| seen.lease.as_ref()?.remaining);
    expiries.map(|remaining| remaining + AFTER_EXPIRY).chain([longest]).min().unwrap_or(longest)
}

fn leader_of(seen: &Observation) -> Known {
    let lease = seen.lease.as_ref()?;
    Some((lease.leader.candidate.to_string(), lease.term.map(tenure::Term::get)))
}

fn report(json: bool, election: &str, leader: &Known) -> io::Result<()> {
    let at = now();
    if json {
        let line = ChangeLine {
            event: "observed",
            election,
            candidate: leader.as_ref().map(|(candidate, _)| candidate.as_str()),
            term: leader.as_ref().and_then(|(_, term)| *term),
            reason: None,
            at,
            boot_ns: Clock::boottime().now().as_nanos(),
        };
        return json_line(&mut io::stdout(), &line);
    }
    use std::io::Write;
    match leader {
        Some((candidate, None)) => writeln!(io::stdout(), "{at}  {election}: {candidate} leads"),
        Some((candidate, Some(term))) => writeln!(io::stdout(), "{at}  {election}: {candidate} leads, term {term}"),
        None => writeln!(io::stdout(), "{at}  {election}: nobody leads"),
    }
}
