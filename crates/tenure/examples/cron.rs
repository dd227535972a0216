//! A job that is due every second, and runs once across all processes.
//!
//! Run two of them, then end one with Ctrl-C, or kill it, and watch the other go on where it left off:
//!
//! ```sh
//! cargo run --example cron -- sqlite:demo.db
//! cargo run --example cron -- sqlite:demo.db
//! ```
//!
//! A second argument makes it end by itself after that many runs.

use std::env;
use std::sync::mpsc;
use std::time::Duration;

use tenure::Preset;
use tenure::blocking::Client;
use tenure::cron::{Job, JobRun, Missed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let count: usize = env::args().nth(2).map_or(Ok(usize::MAX), |text| text.parse())?;

    let (ended, runs) = mpsc::channel();
    let job = Job::new("sweep", "* * * * * *")?
        .time_zone("Europe/Berlin")?
        .missed(Missed::All)
        .window(Duration::from_secs(60))
        .timeout(Duration::from_secs(10));
    let client = Client::open(&url)?;
    let candidacy = client
        .election("housekeeping")?
        .candidate()
        .preset(Preset::Fast)
        .job(job, move |run| {
            sweep(&run);
            ended.send(())
        })
        .on_error(|error| eprintln!("{error}"))
        .start()?;
    println!("{} stands by", candidacy.candidate());

    // Ends early if the candidacy does.
    let swept = runs.iter().take(count).count();
    candidacy.stop();
    println!("done after {swept} runs");
    Ok(())
}

fn sweep(run: &JobRun) {
    // Whatever the job writes should carry the term, so that its target can refuse a leader of the past; job and tick tell
    // whether it was done before.
    let late = run.late_by().map_or_else(String::new, |by| format!(", {by:?} late"));
    println!("{} for tick {} under term {}{late}", run.job(), run.tick(), run.term());
}
