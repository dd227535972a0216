//! Whole processes on SQLite: start to leadership, takeover after kill -9, hand-over after SIGTERM, memory.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tenure::{Clock, Instant};

use crate::stats::Samples;

const RUNS: usize = 20;
const CANDIDATES: usize = 3;
/// Nothing here takes longer than a few leases.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Deserialize)]
struct Line {
    event: String,
    candidate: String,
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
    let mut measured = Measured::default();
    for _ in 0..RUNS {
        one_run(&tenure, &mut measured)?;
    }
    let Measured { first_start, start, takeover, handover, resident } = measured;
    println!("## Processes on SQLite, {RUNS} runs each: p50, worst");
    println!("start to leadership, new file:  {:.1} ms, {:.1} ms", first_start.median(), first_start.max());
    println!("start to leadership:            {:.1} ms, {:.1} ms", start.median(), start.max());
    println!("takeover after kill -9:         {:.1} ms, {:.1} ms", takeover.median(), takeover.max());
    println!("hand-over after SIGTERM:        {:.1} ms, {:.1} ms", handover.median(), handover.max());
    println!("resident memory:                {:.1} MB, {:.1} MB", resident.median(), resident.max());
    Ok(())
}

#[derive(Default)]
struct Measured {
    first_start: Samples,
    start: Samples,
    takeover: Samples,
    handover: Samples,
    resident: Samples,
}

fn one_run(tenure: &Path, measured: &mut Measured) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let store = format!("sqlite:{}", directory.path().join("bench.db").display());
    for samples in [&mut measured.first_start, &mut measured.start] {
        let launched = Clock::boottime().now();
        let mut stage = Stage::raise(tenure, &store, 1)?;
        let (leader, at) = stage.wait_for("elected")?;
        samples.push(millis(launched, at));
        measured.resident.push(stage.resident_megabytes(leader)?);
        stage.signal(leader, Signal::TERM)?;
        stage.wait_for("stopped")?;
    }
    let mut stage = Stage::raise(tenure, &store, CANDIDATES)?;
    let (first, _) = stage.wait_for("elected")?;
    stage.let_stand_by()?;
    let killed = stage.signal(first, Signal::KILL)?;
    let (second, at) = stage.wait_for("elected")?;
    measured.takeover.push(millis(killed, at));
    let asked = stage.signal(second, Signal::TERM)?;
    let (_, at) = stage.wait_for("elected")?;
    measured.handover.push(millis(asked, at));
    Ok(())
}

fn millis(from: Instant, to: Instant) -> f64 {
    to.saturating_since(from).as_secs_f64() * 1e3
}

/// Some `tenure elect`; they end with this value.
struct Stage {
    candidates: Vec<Child>,
    lines: Receiver<Line>,
    /// Who has seen somebody else lead.
    standing_by: BTreeSet<String>,
}

impl Stage {
    fn raise(tenure: &Path, store: &str, candidates: usize) -> Result<Self, Box<dyn Error>> {
        let (sender, lines) = channel();
        let mut stage = Self { candidates: Vec::new(), lines, standing_by: BTreeSet::new() };
        for index in 0..candidates {
            let mut child = Command::new(tenure)
                .args(["--store", store, "elect", "bench", "--id", &index.to_string()])
                .args(["--ttl", "3s", "--renew", "500ms", "--grace", "300ms"])
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()?;
            forward(&mut child, sender.clone())?;
            stage.candidates.push(child);
        }
        Ok(stage)
    }

    /// To whom the next such event happened, and when, by its own account.
    fn wait_for(&mut self, event: &str) -> Result<(usize, Instant), Box<dyn Error>> {
        loop {
            let line = self.next_line(event)?;
            if line.event == event {
                return Ok((line.candidate.parse()?, Instant::from_nanos(line.boot_ns)));
            }
        }
    }

    /// Waits until all but the leader have seen it.
    fn let_stand_by(&mut self) -> Result<(), Box<dyn Error>> {
        while self.standing_by.len() + 1 < self.candidates.len() {
            self.next_line("observed")?;
        }
        Ok(())
    }

    fn next_line(&mut self, event: &str) -> Result<Line, Box<dyn Error>> {
        let line = self.lines.recv_timeout(PATIENCE).map_err(|_| format!("nobody was {event} in time"))?;
        if line.event == "observed" {
            self.standing_by.insert(line.candidate.clone());
        }
        Ok(line)
    }

    fn signal(&self, candidate: usize, signal: Signal) -> Result<Instant, Box<dyn Error>> {
        let now = Clock::boottime().now();
        kill_process(Pid::from_child(&self.candidates[candidate]), signal)?;
        Ok(now)
    }

    fn resident_megabytes(&self, candidate: usize) -> Result<f64, Box<dyn Error>> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.candidates[candidate].id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
        let kilobytes: f64 = line.split_whitespace().nth(1).ok_or("VmRSS is empty")?.parse()?;
        Ok(kilobytes / 1024.0)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in &mut self.candidates {
            // One that has ended already cannot be killed, and is reaped all the same.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn forward(child: &mut Child, to: Sender<Line>) -> Result<(), Box<dyn Error>> {
    let output = BufReader::new(child.stdout.take().ok_or("no standard output")?);
    std::thread::spawn(move || {
        let lines = output.lines().map_while(Result::ok);
        for line in lines.map_while(|text| serde_json::from_str(&text).ok()) {
            if to.send(line).is_err() {
                return;
            }
        }
    });
    Ok(())
}
