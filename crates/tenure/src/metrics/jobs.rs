//! What becomes of ticks of jobs, and of their runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use metrics::Label as KeyLabel;
use tenure_core::JobName;
use tenure_core::cron::{Outcome, Passed};

use super::class::{Class, OTHER};
use super::list::{self, CRON_TICKS, JOB_LAST_SUCCESS, JOB_RUNS, JOB_SECONDS};
use super::per_process::PerProcess;
use crate::cron::JobNews;

/// How many jobs of a process have series of their own; those that come later are [`OTHER`] together.
pub const JOBS_SHOWN_MAX: usize = 128;

/// Jobs are never given up: counters that were once shown must not vanish, or become others.
static SHOWN: PerProcess<BTreeSet<(Class, Arc<str>)>> = PerProcess::new();

/// Makes all that counts known for a job: what appears with its first count looks as if it had not changed.
pub(super) fn begin(class: &Class, job: &JobName) {
    let job = shown(class, job);
    for outcome in JOB_RUNS.label.iter().flat_map(|label| label.values) {
        JOB_RUNS.count_with(class, KeyLabel::new("job", Arc::clone(&job)), outcome, 0);
    }
}

/// Counts the ticks and the runs that something is told of.
pub(super) fn count(class: &Class, unix_ms: u64, job: &JobName, news: &JobNews) {
    match news {
        JobNews::Fired { late, missed, .. } => {
            CRON_TICKS.count(class, if late.is_some() { "late" } else { "fired" }, 1);
            CRON_TICKS.count(class, "missed", *missed);
        }
        JobNews::Passed { count, why: Passed::Missed } => CRON_TICKS.count(class, "missed", *count),
        JobNews::Passed { count, why: Passed::Overlap | Passed::Disabled } => {
            CRON_TICKS.count(class, "skipped", *count);
        }
        // It goes on: what counts is how it ends.
        JobNews::Retrying { .. } => {}
        JobNews::Ended { took, outcome } => {
            let job = KeyLabel::new("job", shown(class, job));
            JOB_RUNS.count_with(class, job.clone(), word(outcome), 1);
            if *outcome != Outcome::NotBegun {
                JOB_SECONDS.record_with(class, job.clone(), *took);
            }
            if *outcome == Outcome::Succeeded {
                JOB_LAST_SUCCESS.set_with(class, job, list::seconds(unix_ms));
            }
        }
    }
}

/// The label of a job: its name, while there is room.
fn shown(class: &Class, job: &JobName) -> Arc<str> {
    admit(&mut SHOWN.lock(), class, job)
}

fn admit(shown: &mut BTreeSet<(Class, Arc<str>)>, class: &Class, job: &JobName) -> Arc<str> {
    let wanted = (class.clone(), Arc::from(job.as_str()));
    if !shown.contains(&wanted) && shown.len() >= JOBS_SHOWN_MAX {
        return Arc::from(OTHER);
    }
    let label = Arc::clone(&wanted.1);
    shown.insert(wanted);
    label
}

/// The word for an outcome.
fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::Failed { .. } => "failed",
        Outcome::TimedOut => "timed_out",
        Outcome::Cancelled => "cancelled",
        Outcome::NotBegun => "not_begun",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use metrics_exporter_prometheus::PrometheusBuilder;
    use tenure_core::ElectionName;
    use tenure_core::cron::Outcome;

    use super::super::Purpose;
    use super::super::class::Classifier;
    use super::*;

    fn class(name: &str) -> Class {
        Classifier::by_name().class_of(&ElectionName::new(name).unwrap(), Purpose::Election)
    }

    fn job(name: &str) -> JobName {
        JobName::new(name).unwrap()
    }

    #[test]
    fn ticks_of_jobs_are_counted_by_result() {
        let exporter = PrometheusBuilder::new().build_recorder();
        ::metrics::with_local_recorder(&exporter, || {
            let class = class("jobs:nightly");
            let fired = |late, missed| JobNews::Fired { late, missed, again: false };
            for news in [
                fired(None, 0),
                fired(None, 0),
                fired(Some(Duration::from_secs(3)), 4),
                JobNews::Passed { count: 5, why: Passed::Missed },
                JobNews::Passed { count: 1, why: Passed::Overlap },
                JobNews::Passed { count: 2, why: Passed::Disabled },
                JobNews::Ended { took: Duration::ZERO, outcome: Outcome::Succeeded },
            ] {
                count(&class, 0, &job("sweep"), &news);
            }
        });
        let page = exporter.handle().render();
        for (result, count) in [("fired", 2), ("late", 1), ("missed", 9), ("skipped", 3)] {
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
            for outcome in [Outcome::Succeeded, Outcome::TimedOut, Outcome::Failed { why: "no".to_owned() }] {
                let news = JobNews::Ended { took: Duration::from_secs(2), outcome };
                count(&class, 1_700_000_000_500, &job("sweep"), &news);
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
        let labels: BTreeSet<Arc<str>> = (0..2 * JOBS_SHOWN_MAX).map(|number| label(&format!("j{number}"))).collect();
        assert_eq!(labels.len(), JOBS_SHOWN_MAX + 1);
        assert_eq!(&*label("j200"), OTHER);
        assert_eq!(&*label("j5"), "j5", "a job that is shown keeps its place");
    }
}
