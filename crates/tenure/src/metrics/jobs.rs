//! Metrics of the ticks and runs of jobs.

use std::collections::BTreeSet;
use std::sync::Arc;

use metrics::Label as KeyLabel;
use tenure_core::JobName;
use tenure_core::jobs::{Passed, RunOutcome};

use super::class::{Class, OTHER};
use super::list::{self, CRON_TICKS, JOB_LAST_SUCCESS, JOB_RUNS, JOB_SECONDS};
use super::per_process::PerProcess;
use crate::cron::JobEvent;

/// Maximum number of jobs in a process with series of their own; later ones share [`OTHER`].
pub const MAX_JOBS_SHOWN: usize = 128;

/// Jobs are never given up: counters that were once shown must not vanish, or become others.
static SHOWN: PerProcess<BTreeSet<(Class, Arc<str>)>> = PerProcess::new();

/// A candidacy has jobs that may run.
pub(crate) fn has_jobs(class: &Class, jobs: &[JobName]) {
    jobs.iter().for_each(|job| begin(class, job));
}

/// Publishes all counters of a job at zero: one that first appears with a count looks as if it had not changed.
fn begin(class: &Class, job: &JobName) {
    let job = shown(class, job);
    for outcome in JOB_RUNS.label.iter().flat_map(|label| label.values) {
        JOB_RUNS.count_with(class, KeyLabel::new("job", Arc::clone(&job)), outcome, 0);
    }
}

/// Counts the ticks and the runs that something is told of.
pub(super) fn count(class: &Class, unix_ms: u64, job: &JobName, job_event: &JobEvent) {
    match job_event {
        JobEvent::Fired { late, missed, .. } => {
            CRON_TICKS.count(class, if late.is_some() { "late" } else { "fired" }, 1);
            CRON_TICKS.count(class, "missed", *missed);
        }
        JobEvent::Passed { count, why: Passed::Missed } => CRON_TICKS.count(class, "missed", *count),
        JobEvent::Passed { count, .. } => CRON_TICKS.count(class, "skipped", *count),
        // It goes on: what counts is how it ends.
        JobEvent::Retrying { .. } => {}
        JobEvent::Ended { took, outcome } => {
            let job = KeyLabel::new("job", shown(class, job));
            JOB_RUNS.count_with(class, job.clone(), outcome.label(), 1);
            if *outcome != RunOutcome::NotBegun {
                JOB_SECONDS.record_with(class, job.clone(), *took);
            }
            if *outcome == RunOutcome::Succeeded {
                JOB_LAST_SUCCESS.set_with(class, job, list::seconds(unix_ms));
            }
        }
        // What is counted has a name here.
        _ => {}
    }
}

/// The label of a job: its name, while there is room.
fn shown(class: &Class, job: &JobName) -> Arc<str> {
    admit(&mut SHOWN.lock(), class, job)
}

fn admit(shown: &mut BTreeSet<(Class, Arc<str>)>, class: &Class, job: &JobName) -> Arc<str> {
    let wanted = (class.clone(), Arc::from(job.as_str()));
    if !shown.contains(&wanted) && shown.len() >= MAX_JOBS_SHOWN {
        return Arc::from(OTHER);
    }
    let label = Arc::clone(&wanted.1);
    shown.insert(wanted);
    label
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use metrics_exporter_prometheus::PrometheusBuilder;
    use tenure_core::ElectionName;
    use tenure_core::jobs::RunOutcome;

    use super::super::CandidacyPurpose;
    use super::super::class::Classifier;
    use super::*;

    fn class(name: &str) -> Class {
        Classifier::by_name().class_of(&ElectionName::new(name).unwrap(), CandidacyPurpose::Election)
    }

    fn job(name: &str) -> JobName {
        JobName::new(name).unwrap()
    }

    #[test]
    fn ticks_of_jobs_are_counted_by_result() {
        let exporter = PrometheusBuilder::new().build_recorder();
        ::metrics::with_local_recorder(&exporter, || {
            let class = class("jobs:nightly");
            let fired = |late, missed| JobEvent::Fired { late, missed, again: false };
            for job_event in [
                fired(None, 0),
                fired(None, 0),
                fired(Some(Duration::from_secs(3)), 4),
                JobEvent::Passed { count: 5, why: Passed::Missed },
                JobEvent::Passed { count: 1, why: Passed::Overlap },
                JobEvent::Passed { count: 2, why: Passed::Disabled },
                JobEvent::Passed { count: 3, why: Passed::Replaced },
                JobEvent::Ended { took: Duration::ZERO, outcome: RunOutcome::Succeeded },
            ] {
                count(&class, 0, &job("sweep"), &job_event);
            }
        });
        let page = exporter.handle().render();
        for (result, count) in [("fired", 2), ("late", 1), ("missed", 9), ("skipped", 6)] {
            let line = format!(
                "tenure_cron_ticks_total{{key_class=\"jobs\",key_kind=\"election\",result=\"{result}\"}} {count}"
            );
            assert!(page.contains(&line), "no {line} in\n{page}");
        }
    }

    #[test]
    fn runs_of_jobs_are_counted_by_outcome_and_job() {
        let exporter = PrometheusBuilder::new().build_recorder();
        ::metrics::with_local_recorder(&exporter, || {
            let class = class("runs");
            begin(&class, &job("sweep"));
            for outcome in [RunOutcome::Succeeded, RunOutcome::TimedOut, RunOutcome::Failed { why: "no".to_owned() }] {
                let job_event = JobEvent::Ended { took: Duration::from_secs(2), outcome };
                count(&class, 1_700_000_000_500, &job("sweep"), &job_event);
            }
        });
        let page = exporter.handle().render();
        let labels = "key_class=\"runs\",key_kind=\"election\",job=\"sweep\"";
        for (outcome, count) in [("succeeded", 1), ("failed", 1), ("timed_out", 1), ("cancelled", 0)] {
            let line = format!("tenure_job_runs_total{{{labels},outcome=\"{outcome}\"}} {count}");
            assert!(page.contains(&line), "no {line} in\n{page}");
        }
        assert!(
            page.contains(&format!("tenure_job_last_success_timestamp_seconds{{{labels}}} 1700000000.5")),
            "{page}"
        );
        assert!(page.contains(&format!("tenure_job_seconds_sum{{{labels}}} 6")), "{page}");
    }

    #[test]
    fn only_so_many_jobs_have_series_of_their_own() {
        let (class, mut shown) = (class("many"), BTreeSet::new());
        let mut label = |name: &str| admit(&mut shown, &class, &job(name));
        let labels: BTreeSet<Arc<str>> = (0..2 * MAX_JOBS_SHOWN).map(|number| label(&format!("j{number}"))).collect();
        assert_eq!(labels.len(), MAX_JOBS_SHOWN + 1);
        assert_eq!(&*label("j200"), OTHER);
        assert_eq!(&*label("j5"), "j5", "a job that is shown keeps its place");
    }
}
