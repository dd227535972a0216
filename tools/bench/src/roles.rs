//! Processes that this program starts once more as, so that nothing else is in what is measured of them.

use std::error::Error;
use std::io::{BufRead, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Subcommand;
use serde::{Deserialize, Serialize};
use tenure_testkit::running::RunningProcess;
use tenure_testkit::{eventually_within, tied_processes};
use tokio::signal::unix::{SignalKind, signal};

use crate::elections::Elections;
use crate::floor::{Enter, FloorHolder, WaitLoop};
use crate::renewals::Renewals;
use crate::runtime::runtime;
use crate::usage::cpu_seconds;
use crate::{postgres, redis};

/// What such a process does. The address says on which kind of store.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Role {
    /// Wins elections and keeps them.
    Leader { url: String, count: u32 },
    /// Renews leases with as few calls as possible.
    Batches { url: String, count: u32 },
    /// Renews leases with a call for each.
    Singles { url: String, count: u32 },
    /// Has the lease of the floor, until it is asked to end.
    Holder { url: String },
    /// Takes the lease of the floor whenever it is released.
    Waiter { url: String },
}

/// What a process has used so far.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub(crate) cpu_seconds: f64,
    /// What its elections occupy beyond their names.
    pub(crate) bytes: f64,
}

/// Plays the part.
pub(crate) fn play(role: Role) -> Result<(), Box<dyn Error>> {
    match role {
        Role::Leader { url, count } => {
            let elections = Elections::win(&url, count)?;
            answer(|| elections.bytes())?;
            elections.leave()
        }
        Role::Batches { url, count } => renew((bare(&url).in_batches)(&url, count)?),
        Role::Singles { url, count } => renew((bare(&url).one_by_one)(&url, count)?),
        Role::Holder { url } => hold((bare(&url).enter)(&url)?),
        Role::Waiter { url } => {
            let mut tell = |at: tenure::Instant| say(&at.as_nanos().to_string()).is_ok();
            (bare(&url).wait)(&url, &mut || drop(say(READY)), &mut tell).map_err(|error| error.to_string().into())
        }
    }
}

/// Makes bare renewals of so many leases.
type RenewLeases = fn(url: &str, count: u32) -> Result<Renewals, Box<dyn Error>>;

/// What is done by hand on one kind of store, so that ours has something to stand beside.
pub(crate) struct Bare {
    pub(crate) in_batches: RenewLeases,
    pub(crate) one_by_one: RenewLeases,
    pub(crate) enter: Enter,
    pub(crate) wait: WaitLoop,
}

/// What is done by hand on this store.
pub(crate) fn bare(url: &str) -> Bare {
    match url.split_once(':') {
        Some(("postgres+advisory", _)) => postgres::BARE_LOCK,
        Some(("postgres", _)) => postgres::BARE_LEASE,
        _ => redis::BARE,
    }
}

/// Starts a process that plays a part, and waits until it is ready.
pub(crate) fn start(role: &[&str]) -> Result<RunningProcess, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("role").args(role).stdin(Stdio::piped()).stdout(Stdio::piped());
    let running = tied_processes::start(command)?;
    let record = running.stdout().record();
    // Ten thousand elections are not won at once.
    eventually_within(AT_LENGTH, "a process that is ready", || !record.lines().is_empty());
    let said = running.stdout().next("a process that is ready");
    if said == READY { Ok(running) } else { Err(format!("a process said {said:?} instead of {READY:?}").into()) }
}

/// Asks such a process what it has used.
pub(crate) fn usage(running: &mut RunningProcess) -> Result<Usage, Box<dyn Error>> {
    running.child().stdin.as_mut().ok_or("no standard input")?.write_all(b"\n")?;
    Ok(serde_json::from_str(&running.stdout().next("what a process has used"))?)
}

/// Lets such a process end, which it does well only if all went well.
pub(crate) fn dismiss(mut running: RunningProcess) -> Result<(), Box<dyn Error>> {
    drop(running.child().stdin.take());
    // Nor are they left at once.
    if !running.process.ends_within(AT_LENGTH) {
        return Err("a process does not end".into());
    }
    match running.exit() {
        status if status.success() => Ok(()),
        status => Err(format!("a process ended with {status}").into()),
    }
}

fn renew(renewals: Renewals) -> Result<(), Box<dyn Error>> {
    answer(|| Ok(0.0))?;
    renewals.end()
}

/// Tells what this process has used whenever a line comes, until none can come any more.
fn answer(bytes: impl Fn() -> Result<f64, Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    say(READY)?;
    for line in std::io::stdin().lock().lines() {
        line?;
        say(&serde_json::to_string(&Usage { cpu_seconds: cpu_seconds()?, bytes: bytes()? })?)?;
    }
    Ok(())
}

fn hold(mut holder: Box<dyn FloorHolder>) -> Result<(), Box<dyn Error>> {
    runtime()?.block_on(async {
        let mut asked = signal(SignalKind::terminate())?;
        say(READY)?;
        asked.recv().await;
        std::io::Result::Ok(())
    })?;
    holder.release()
}

fn say(line: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

const READY: &str = "ready";
const AT_LENGTH: Duration = Duration::from_secs(120);
