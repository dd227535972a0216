//! Candidates that are processes of their own.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tenure::{Clock, Instant};
use tenure_testkit::netns::Namespace;

/// Some `tenure elect` or `tenure run`; they end with this value.
pub(crate) struct ElectProcesses {
    client: PathBuf,
    candidates: Vec<Child>,
    lines: Receiver<(ElectLine, String)>,
    sender: Sender<(ElectLine, String)>,
    /// Who has seen somebody else lead.
    standing_by: BTreeSet<String>,
    /// All that was read so far.
    told: Vec<String>,
}

/// The ttl of all candidates here.
pub(crate) const TTL: &str = "3s";

#[derive(Debug, Deserialize)]
struct ElectLine {
    event: String,
    candidate: String,
    boot_ns: u64,
}

impl ElectProcesses {
    /// Nobody yet.
    pub(crate) fn empty(client: &Path) -> Self {
        let (sender, lines) = channel();
        let (candidates, standing_by, told) = (Vec::new(), BTreeSet::new(), Vec::new());
        Self { client: client.to_owned(), candidates, lines, sender, standing_by, told }
    }

    /// So many candidates at once.
    pub(crate) fn raise(client: &Path, store: &str, candidates: usize) -> Result<Self, Box<dyn Error>> {
        let mut processes = Self::empty(client);
        for _ in 0..candidates {
            processes.enter(store, "bench", &["--renew", "500ms", "--grace", "300ms"])?;
        }
        Ok(processes)
    }

    /// One more candidate, with these options besides the ttl. Its number is its id.
    pub(crate) fn enter(&mut self, store: &str, election: &str, options: &[&str]) -> Result<(), Box<dyn Error>> {
        self.enter_as(Command::new(&self.client), store, election, options)
    }

    /// One more candidate, on another host.
    pub(crate) fn enter_from(
        &mut self,
        host: &Namespace,
        store: &str,
        election: &str,
        options: &[&str],
    ) -> Result<(), Box<dyn Error>> {
        self.enter_as(host.command(&self.client), store, election, options)
    }

    fn enter_as(
        &mut self,
        mut command: Command,
        store: &str,
        election: &str,
        options: &[&str],
    ) -> Result<(), Box<dyn Error>> {
        let mut child = command
            .args(["--store", store, "elect", election, "--id", &self.candidates.len().to_string(), "--ttl", TTL])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take();
        self.candidates.push(child);
        self.listen_to(output.ok_or("no standard output")?);
        Ok(())
    }

    /// One more candidate with a command, and so with a guard, at this ttl.
    pub(crate) fn enter_running(&mut self, store: &str, election: &str, ttl: &str) -> Result<(), Box<dyn Error>> {
        let mut child = Command::new(&self.client)
            .args(["--store", store, "run", election, "--id", &self.candidates.len().to_string(), "--ttl", ttl])
            .args(["--json", "--", "sleep", "600"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let events = child.stderr.take();
        self.candidates.push(child);
        self.listen_to(events.ok_or("no standard error")?);
        Ok(())
    }

    fn listen_to(&self, events: impl Read + Send + 'static) {
        let (events, sender) = (BufReader::new(events), self.sender.clone());
        std::thread::spawn(move || {
            let lines = events.lines().map_while(Result::ok);
            // Others are lines of the log.
            for line in lines.filter_map(|text| Some((serde_json::from_str(&text).ok()?, text))) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }

    /// To whom the next such event happened, and when, by its own account.
    pub(crate) fn wait_for(&mut self, event: &str) -> Result<(usize, Instant), Box<dyn Error>> {
        loop {
            let line = self.next_line(event)?;
            if line.event == event {
                return Ok((line.candidate.parse()?, Instant::from_nanos(line.boot_ns)));
            }
        }
    }

    /// Waits until this happens to this candidate.
    pub(crate) fn wait_for_one(&mut self, event: &str, candidate: usize) -> Result<Instant, Box<dyn Error>> {
        loop {
            let (who, at) = self.wait_for(event)?;
            if who == candidate {
                return Ok(at);
            }
        }
    }

    /// All lines that were read so far, each candidate's in order.
    pub(crate) fn told(&self) -> &[String] {
        &self.told
    }

    /// Waits until all but the leader have seen it.
    pub(crate) fn let_stand_by(&mut self) -> Result<(), Box<dyn Error>> {
        while self.standing_by.len() + 1 < self.candidates.len() {
            self.next_line("observed")?;
        }
        Ok(())
    }

    fn next_line(&mut self, event: &str) -> Result<ElectLine, Box<dyn Error>> {
        let (line, text) = self.lines.recv_timeout(PATIENCE).map_err(|_| format!("nobody was {event} in time"))?;
        self.told.push(text);
        if line.event == "observed" {
            self.standing_by.insert(line.candidate.clone());
        }
        Ok(line)
    }

    /// Sends a signal, and says when.
    pub(crate) fn signal(&self, candidate: usize, signal: Signal) -> Result<Instant, Box<dyn Error>> {
        let now = Clock::boottime().now();
        kill_process(Pid::from_child(&self.candidates[candidate]), signal)?;
        Ok(now)
    }

    /// What a candidate occupies now.
    pub(crate) fn resident_megabytes(&self, candidate: usize) -> Result<f64, Box<dyn Error>> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.candidates[candidate].id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
        let kilobytes: f64 = line.split_whitespace().nth(1).ok_or("VmRSS is empty")?.parse()?;
        Ok(kilobytes / 1024.0)
    }
}

impl Drop for ElectProcesses {
    fn drop(&mut self) {
        for child in &mut self.candidates {
            // One that has ended already cannot be killed, and is reaped all the same.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Nothing here takes longer than a few leases.
const PATIENCE: Duration = Duration::from_secs(20);
