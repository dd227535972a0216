//! The history checker: from files to a verdict and an exit code.

mod args;

use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;
use tenure_history::{History, HistoryVerdict, Limits, timeline};

use args::CheckerArgs;

fn main() -> ExitCode {
    let args = CheckerArgs::parse();
    let judged = judge(&args).and_then(|verdict| show(&args, &verdict).map(|()| code(&verdict)));
    ExitCode::from(judged.unwrap_or_else(|problem| {
        eprintln!("tenure-history: {problem}");
        UNUSABLE
    }))
}

const VIOLATIONS: u8 = 1;
const UNUSABLE: u8 = 2;

fn judge(args: &CheckerArgs) -> Result<HistoryVerdict, String> {
    let mut history = History::default();
    let standard_input = [Path::new("-").to_owned()];
    let files = if args.files.is_empty() { &standard_input[..] } else { &args.files };
    for file in files {
        let name = file.display().to_string();
        let read = if name == "-" {
            history.read("standard input", io::stdin().lock())
        } else {
            File::open(file).and_then(|opened| history.read(&name, BufReader::new(opened)))
        };
        read.map_err(|error| format!("cannot read {name}: {error}"))?;
    }
    Ok(history.verdict(&Limits { max_failover: args.failover_max }))
}

fn show(args: &CheckerArgs, verdict: &HistoryVerdict) -> Result<(), String> {
    let write = |file: &Path, text: String| {
        fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
    };
    args.html.iter().try_for_each(|file| write(file, timeline::html(verdict)))?;
    args.svg.iter().try_for_each(|file| write(file, timeline::svg(verdict)))?;
    let text = if args.json { json(verdict)? } else { verdict.to_string() };
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot print the verdict: {error}")),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[derive(Serialize)]
struct CheckReport<'a> {
    good: bool,
    #[serde(flatten)]
    verdict: &'a HistoryVerdict,
}

fn json(verdict: &HistoryVerdict) -> Result<String, String> {
    let text = serde_json::to_string(&CheckReport { good: verdict.is_good(), verdict });
    text.map(|text| text + "\n").map_err(|error| error.to_string())
}

fn code(verdict: &HistoryVerdict) -> u8 {
    match verdict.violations().next() {
        Some(_) => VIOLATIONS,
        None if verdict.is_good() => 0,
        None => UNUSABLE,
    }
}
