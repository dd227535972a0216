//! What metrics show of jobs, in a process of their own: only so many jobs of a process have series of their own.

#![cfg(feature = "cron")]

use std::sync::atomic::{AtomicU32, Ordering};

use metrics_exporter_prometheus::PrometheusBuilder;
use tenure::blocking::Client;
use tenure::cron::{Job, JobRun};
use tenure::metrics;
use tenure_testkit::eventually;

#[test]
fn runs_of_jobs_are_counted_by_how_they_ended() {
    let exporter = PrometheusBuilder::new().install_recorder().unwrap();
    let value = |metric: &str, labels: &str| -> Option<f64> {
        metrics::refresh();
        let start = format!("{metric}{{key_class=\"jobs\",key_kind=\"election\",job=\"often\"{labels}}} ");
        exporter.render().lines().find_map(|line| line.strip_prefix(&start)?.parse().ok())
    };
    let runs = |outcome: &str| value("tenure_job_runs_total", &format!(",outcome=\"{outcome}\""));
    let client = Client::open("memory:").unwrap();
    let begun = AtomicU32::new(0);
    // Every other run fails.
    let run = move |_: JobRun| {
        let number = begun.fetch_add(1, Ordering::Relaxed);
        if number.is_multiple_of(2) { Ok(()) } else { Err("an odd one") }
    };
    let job = Job::new("often", "* * * * * *").unwrap();
    let candidacy = client.election("jobs").unwrap().candidate().job(job, run).start().unwrap();
    eventually("counters", || runs("timed_out") == Some(0.0) && runs("cancelled") == Some(0.0));
    eventually("a run of both kinds", || runs("succeeded") >= Some(1.0) && runs("failed") >= Some(1.0));
    let last = value("tenure_job_last_success_timestamp_seconds", "").unwrap();
    assert!(last > 1_700_000_000.0, "{last}: by the wall clock");
    assert!(value("tenure_job_seconds_count", "") >= Some(2.0));
    candidacy.stop();
}
