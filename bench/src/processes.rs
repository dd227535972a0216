//! Whole processes on SQLite: start to leadership, takeover after kill -9, hand-over after SIGTERM, memory.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tenure::{Clock, Instant};

use crate::stats::Samples;

const RUNS: usize = 20;

#[derive(Debug, Deserialize)]
struct Line {
    event: String,
    boot_ns: u64,
}

pub(crate) fn run(tenure: Option<PathBuf>) -> Result<(), Box<dyn Error>> {
    let tenure = match tenure {
        Some(path) => path,
        None => std::env::current_exe()?.with_file_name("tenure"),
    };
    if !tenure.exists() {
        return Err(
            format!("{} is not built; build it with cargo build --release --bin tenure", tenure.display()).into()
        );
    }
    let (mut start, mut takeover, mut handover, mut resident) =
        (Samples::new(), Samples::new(), Samples::new(), Samples::new());
    for _ in 0..RUNS {
        let directory = tempfile::tempdir()?;
        let store = format!("sqlite:{}", directory.path().join("bench.db").display());
        let launched = Clock::boottime().now();
        let mut first = Candidate::launch(&tenure, &store)?;
        start.push(millis(launched, first.wait_for("elected")?));
        resident.push(first.resident_megabytes()?);
        let mut second = Candidate::launch(&tenure, &store)?;
        second.wait_for("observed")?;
        let mut third = Candidate::launch(&tenure, &store)?;
        third.wait_for("observed")?;
        let killed = first.signal(Signal::KILL)?;
        takeover.push(millis(killed, second.wait_for("elected")?));
        let asked = second.signal(Signal::TERM)?;
        handover.push(millis(asked, third.wait_for("elected")?));
    }
    println!("## Processes on SQLite, {RUNS} runs each: p50, worst");
    println!("start to leadership:      {:.1} ms, {:.1} ms", start.median(), start.max());
    println!("takeover after kill -9:   {:.1} ms, {:.1} ms", takeover.median(), takeover.max());
    println!("hand-over after SIGTERM:  {:.1} ms, {:.1} ms", handover.median(), handover.max());
    println!("resident memory:          {:.1} MB, {:.1} MB", resident.median(), resident.max());
    Ok(())
}

fn millis(from: Instant, to: Instant) -> f64 {
    to.saturating_since(from).as_secs_f64() * 1e3
}

/// One `tenure elect`; ends with this value.
struct Candidate {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Candidate {
    fn launch(tenure: &Path, store: &str) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(tenure)
            .args(["--store", store, "elect", "bench", "--ttl", "3s", "--renew", "500ms", "--grace", "300ms"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        Ok(Self { child, lines })
    }

    /// When the event happened, by the candidate's own account.
    fn wait_for(&mut self, event: &str) -> Result<Instant, Box<dyn Error>> {
        loop {
            let mut text = String::new();
            if self.lines.read_line(&mut text)? == 0 {
                return Err(format!("the candidate ended before it was {event}").into());
            }
            let line: Line = serde_json::from_str(&text)?;
            if line.event == event {
                return Ok(Instant::from_nanos(line.boot_ns));
            }
        }
    }

    fn signal(&self, signal: Signal) -> Result<Instant, Box<dyn Error>> {
        let now = Clock::boottime().now();
        kill_process(Pid::from_child(&self.child), signal)?;
        Ok(now)
    }

    fn resident_megabytes(&self) -> Result<f64, Box<dyn Error>> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
        let kilobytes: f64 = line.split_whitespace().nth(1).ok_or("VmRSS is empty")?.parse()?;
        Ok(kilobytes / 1024.0)
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, and is reaped all the same.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
