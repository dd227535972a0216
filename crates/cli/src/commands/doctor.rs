//! `tenure doctor`: checks of the store and of the timing.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use tenure::store::{Severity, StoreError};
use tenure::{Client, MessageState, Prediction, Term, Timing};
use tenure_core::store_rules::record::TERMS_USED_UP;

use super::gaps::keeps_messages;
use crate::args::{DoctorArgs, Global};
use crate::duration::show;
use crate::exit::{CommandError, Exit};
use crate::message::printable;
use crate::options::{open_to_look, timing};
use crate::output::{json_line, print};
use crate::supervise::cgroup::Cgroup;
use crate::supervise::procfs;

/// More elections than these are not read one by one: each takes three requests.
const MAX_RECORDS_READ: usize = 1_000;

/// One check as `tenure doctor --json` prints it.
#[derive(Debug, Serialize)]
struct DoctorLine {
    check: String,
    verdict: &'static str,
    detail: String,
}

pub(super) async fn execute(global: &Global, args: &DoctorArgs) -> Result<Exit, CommandError> {
    let store = open_to_look(global);
    let sees_death = store.as_ref().is_ok_and(|client| client.store().capabilities().sees_death);
    let mut checks = timing_checks(args, sees_death);
    checks.push(containment_check());
    match store {
        Ok(client) => checks.extend(store_checks(&client).await),
        Err(failure) => checks.push(check("store", Severity::Bad, failure.message)),
    }
    let healthy = checks.iter().all(|check| check.verdict != word(Severity::Bad));
    if args.json {
        print(|out| json_line(out, &checks))?;
    } else {
        print(|out| {
            for DoctorLine { check, verdict, detail } in &checks {
                writeln!(out, "{verdict:7}  {check}: {}", printable(detail))?;
            }
            writeln!(out, "{}", if healthy { "all checks passed" } else { "some checks failed: see above" })
        })?;
    }
    Ok(if healthy { Exit::Success } else { Exit::Failure })
}

fn timing_checks(args: &DoctorArgs, sees_death: bool) -> Vec<DoctorLine> {
    match timing(&args.timing) {
        Ok(timing) => predictions(&timing, args.candidates, sees_death),
        Err(failure) => vec![check("timing", Severity::Bad, failure.message)],
    }
}

fn predictions(timing: &Timing, candidates: u32, sees_death: bool) -> Vec<DoctorLine> {
    let Prediction { max_failover, outage_survived, requests_per_minute, .. } = timing.predict(candidates);
    let good = |name, detail| check(name, Severity::Good, detail);
    let failover = if sees_death {
        let within = show(max_failover);
        format!("new leader within milliseconds after a crash; within {within} if the leader only hangs")
    } else {
        let within = show(max_failover);
        format!(
            "new leader within milliseconds after a crash that a guard or a helper outlives; within {within} after others"
        )
    };
    // One failure is all it takes then, and stores do restart.
    let sound = if timing.survives() > 1 { Severity::Good } else { Severity::Warning };
    vec![
        check(
            "timing",
            sound,
            format!(
                "ttl {}, renewed every {}, survives {} failed renewal(s) in a row, grace {}",
                show(timing.ttl()),
                show(timing.renew_every()),
                timing.survives(),
                show(timing.grace())
            ),
        ),
        good("failover", failover),
        good("outage", format!("leadership survives a store outage of up to {}", show(outage_survived))),
        good("load", format!("{requests_per_minute:.1} store requests per minute for {candidates} candidates")),
    ]
}

/// How `run`, `lock` and `cron` keep hold of all that their commands start.
fn containment_check() -> DoctorLine {
    let (verdict, detail) = match (procfs::check(), Cgroup::make()) {
        (Err(error), _) => (Severity::Bad, format!("cannot run a command here: {error}")),
        (Ok(()), Ok(cgroup)) => {
            let place = cgroup.path().parent().unwrap_or(Path::new("/")).display();
            (
                Severity::Good,
                format!("each command runs in its own control group below {place}, which the kernel kills as a whole"),
            )
        }
        (Ok(()), Err(error)) => {
            let why =
                "so the processes of a command are found by their ancestors in /proc, repeatedly until none is left";
            (Severity::Good, format!("cannot create control groups here ({error}), {why}"))
        }
    };
    check("containment", verdict, detail)
}

async fn store_checks(client: &Client) -> Vec<DoctorLine> {
    let capabilities = client.store().capabilities();
    let mut checks =
        vec![check("promise", Severity::Good, format!("{}: {}", capabilities.name, capabilities.statement))];
    let messages =
        client.store().mailbox().map_or("the store keeps none; `send` is refused", |promises| promises.statement);
    checks.push(check("messages", Severity::Good, messages.to_owned()));
    let broadcasts =
        client.store().pubsub().map_or("the store has none; `broadcast` is refused", |promises| promises.statement);
    checks.push(check("broadcasts", Severity::Good, broadcasts.to_owned()));
    match client.store().examine().await {
        Ok(findings) => {
            checks.extend(findings.into_iter().map(|finding| check(finding.check, finding.severity, finding.detail)));
        }
        Err(error) => checks.push(check("store", Severity::Bad, error.to_string())),
    }
    match record_checks(client).await {
        Ok(found) => checks.extend(found),
        // What keeps all of them from being read may have been told above.
        Err(error) if checks.iter().all(|check| check.verdict != word(Severity::Bad)) => {
            checks.push(check("records", Severity::Bad, error.to_string()));
        }
        Err(_) => {}
    }
    checks
}

/// Whether all that is kept of the elections of this namespace can be read.
async fn record_checks(client: &Client) -> Result<Vec<DoctorLine>, tenure::Error> {
    let mut used_up = Vec::new();
    let mut damaged: BTreeMap<String, String> = BTreeMap::new();
    let mut note = |error: Option<&StoreError>| {
        if let Some((error, key)) = error.and_then(|error| Some((error, error.damaged_record()?))) {
            damaged.entry(key.name.to_string()).or_insert_with(|| error.to_string());
        }
    };
    let observed = client.observe_all().await?;
    let keeps_messages = keeps_messages(client);
    if keeps_messages {
        client.store().message_counts(None).await?.iter().for_each(|count| note(count.as_ref().err()));
    }
    for (name, seen) in observed.iter().take(MAX_RECORDS_READ) {
        let name = name.as_str();
        note(seen.as_ref().err());
        if let Ok(seen) = seen
            && seen.last_term.is_some_and(|term| term.get() >= Term::MAX - 1)
        {
            used_up.push(format!("election {name}: {TERMS_USED_UP}"));
        }
        let election = client.election(name)?;
        let mut looks = vec![election.history(1).await.err(), election.jobs(1).await.err()];
        if keeps_messages {
            looks.push(election.messages(MessageState::Pending, 1).await.err());
        }
        for look in looks.iter().flatten() {
            note(if let tenure::Error::Store(error) = look { Some(error) } else { None });
        }
    }
    if damaged.is_empty() && used_up.is_empty() {
        let detail = format!("records of {} election(s) can be read", observed.len().min(MAX_RECORDS_READ));
        return Ok(vec![check("records", Severity::Good, detail)]);
    }
    Ok(damaged.into_values().chain(used_up).map(|damage| check("records", Severity::Bad, damage)).collect())
}

fn check(name: &str, verdict: Severity, detail: String) -> DoctorLine {
    DoctorLine { check: name.to_owned(), verdict: word(verdict), detail }
}

fn word(verdict: Severity) -> &'static str {
    match verdict {
        Severity::Good => "ok",
        Severity::Warning => "warning",
        // One that is newer than this is better told too loudly.
        Severity::Bad | _ => "bad",
    }
}
