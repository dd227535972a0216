//! `tenure demo`: three candidates, a crash and a hand-over, to look at.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tenure::{Client, Clock, StoreUrl};
use tokio::sync::mpsc;

use crate::args::Global;
use crate::exit::{CommandError, Exit};

/// What the demo reads of a candidate's event lines.
#[derive(Debug, Deserialize)]
struct DemoLine {
    event: String,
    candidate: String,
    term: Option<u64>,
    boot_ns: u64,
}

const CANDIDATES: [&str; 3] = ["alpha", "beta", "gamma"];
/// Long enough to look at, short enough to stay for.
const PAUSE: Duration = Duration::from_millis(1_500);
const LIMIT: Duration = Duration::from_secs(20);

pub(super) async fn execute(global: &Global) -> Result<Exit, CommandError> {
    let directory = tempfile::tempdir()?;
    let own_file = format!("sqlite:{}", directory.path().join("demo.db").display());
    let store = global.store.as_ref().unwrap_or(&own_file);
    // An election of its own, in case others look at one in the same store.
    let election = format!("demo-{}", std::process::id());
    // Opened here, so that a store that cannot be used is told of once and not by each candidate.
    let url = store.parse::<StoreUrl>().map_err(tenure::Error::from)?;
    if url.scheme() == "memory" {
        let message = "memory: works in one process only, and the demo starts three; use another store, or none";
        return Err(CommandError::new(Exit::Usage, message));
    }
    let promises = Client::open(store)?.store().capabilities();
    let mut demo = DemoCandidates::raise(store, &global.namespace, &election)?;
    demo.say(&format!("Three processes campaign in the election {election}, on {url}, with a ttl of 3 seconds."));
    let first = demo.next_elected(None).await?;
    demo.look_on().await;

    let consequence = if promises.sees_death {
        "its death is detected, so the next one leads without waiting for the lease to expire."
    } else {
        "its death goes unnoticed, so the next one leads when the lease has expired."
    };
    demo.say(&format!("kill -9 {}: {consequence}", first.candidate));
    let killed_at = Clock::boottime().now().as_nanos();
    demo.strike(&first.candidate, Signal::KILL)?;
    let second = demo.next_elected(first.term).await?;
    demo.say(&took("Failover", &second, killed_at));
    demo.look_on().await;

    demo.say(&format!("SIGTERM to {}: it resigns, and the lease is handed to the next in line.", second.candidate));
    let asked_at = Clock::boottime().now().as_nanos();
    demo.strike(&second.candidate, Signal::TERM)?;
    let third = demo.next_elected(second.term).await?;
    demo.say(&took("Hand-over", &third, asked_at));
    demo.look_on().await;
    demo.say("Every term is greater than the one before it: a resource that checks the term refuses a stale leader.");
    Ok(Exit::Success)
}

fn took(what: &str, line: &DemoLine, since_ns: u64) -> String {
    let millis = Duration::from_nanos(line.boot_ns.saturating_sub(since_ns)).as_secs_f64() * 1000.0;
    format!("{what} took {millis:.1} ms: {} leads, term {}.", line.candidate, line.term.unwrap_or_default())
}

/// The candidates and what is shown of them. Dropping it ends those that are left.
struct DemoCandidates {
    candidates: BTreeMap<String, Child>,
    lines: mpsc::UnboundedReceiver<DemoLine>,
    bars: MultiProgress,
    rows: BTreeMap<String, ProgressBar>,
}

impl DemoCandidates {
    fn raise(store: &str, namespace: &str, election: &str) -> Result<Self, CommandError> {
        let (sender, lines) = mpsc::unbounded_channel();
        let mut demo = Self { candidates: BTreeMap::new(), lines, bars: MultiProgress::new(), rows: BTreeMap::new() };
        for name in CANDIDATES {
            let mut child = Command::new("/proc/self/exe")
                .args(["elect", election, "--id", name])
                .args(["--ttl", "3s", "--renew", "500ms", "--grace", "300ms"])
                // Not as an argument, which everybody on the machine could read: it may hold a password.
                .env("TENURE_STORE", store)
                .env("TENURE_NAMESPACE", namespace)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()?;
            if let Some(output) = child.stdout.take() {
                let sender = sender.clone();
                std::thread::spawn(move || {
                    for text in BufReader::new(output).lines().map_while(Result::ok) {
                        let parsed = serde_json::from_str(&text).map(|line| sender.send(line));
                        if !matches!(parsed, Ok(Ok(()))) {
                            return;
                        }
                    }
                });
            }
            let row = demo.bars.add(ProgressBar::new_spinner().with_style(row_style()).with_prefix(name));
            row.enable_steady_tick(Duration::from_millis(120));
            row.set_message("starting");
            demo.rows.insert(name.to_owned(), row);
            demo.candidates.insert(name.to_owned(), child);
        }
        Ok(demo)
    }

    /// Waits for somebody to be elected under a later term.
    async fn next_elected(&mut self, after: Option<u64>) -> Result<DemoLine, CommandError> {
        let limit = tokio::time::Instant::now() + LIMIT;
        loop {
            let line = match tokio::time::timeout_at(limit, self.lines.recv()).await {
                Ok(Some(line)) => line,
                Ok(None) => {
                    return Err(CommandError::new(Exit::Internal, "the candidates of the demo ended unexpectedly"));
                }
                Err(_) => {
                    return Err(CommandError::new(
                        Exit::Internal,
                        format!("no candidate was elected within {LIMIT:?}"),
                    ));
                }
            };
            self.show(&line);
            if line.event == "elected" && line.term > after {
                return Ok(line);
            }
        }
    }

    /// Time to look at it. Nothing changes meanwhile but that those who are late say that they stand by.
    async fn look_on(&mut self) {
        let end = tokio::time::Instant::now() + PAUSE;
        while let Ok(Some(line)) = tokio::time::timeout_at(end, self.lines.recv()).await {
            self.show(&line);
        }
    }

    fn strike(&mut self, name: &str, signal: Signal) -> Result<(), CommandError> {
        let Some(child) = self.candidates.get(name) else { return Ok(()) };
        kill_process(Pid::from_child(child), signal).map_err(std::io::Error::from)?;
        if signal == Signal::KILL {
            self.describe(name, "killed".to_owned());
        }
        Ok(())
    }

    fn show(&self, line: &DemoLine) {
        let term = line.term.unwrap_or_default();
        match line.event.as_str() {
            "elected" => self.describe(&line.candidate, format!("LEADS, term {term}")),
            "observed" => self.describe(&line.candidate, "stands by".to_owned()),
            "lost" => self.describe(&line.candidate, format!("resigned term {term}")),
            "stopped" => self.describe(&line.candidate, "left".to_owned()),
            _ => {}
        }
    }

    fn describe(&self, name: &str, what: String) {
        if !std::io::stderr().is_terminal() {
            print_line(&format!("  {name}: {what}"));
        } else if let Some(row) = self.rows.get(name) {
            row.set_message(what);
        }
    }

    fn say(&self, sentence: &str) {
        if !std::io::stderr().is_terminal() || self.bars.println(sentence).is_err() {
            print_line(sentence);
        }
    }
}

impl Drop for DemoCandidates {
    fn drop(&mut self) {
        for row in self.rows.values() {
            row.finish();
        }
        for child in self.candidates.values_mut() {
            // One that has ended already cannot be killed, and is reaped all the same.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn print_line(line: &str) {
    // A demo that nobody watches any more still has to clear the screen.
    let _ = writeln!(io::stdout(), "{line}");
}

fn row_style() -> ProgressStyle {
    ProgressStyle::with_template("  {spinner} {prefix:8} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}
