//! The list of all metrics, the only place of their names, labels, units and meanings.

use std::fmt;
use std::time::Duration;

use metrics::{Label as KeyLabel, Unit};
use tenure_core::{Anomaly, LossReason};

use super::class::Class;
use crate::contain::contain;
use crate::store::StoreErrorKind;

/// A metric: its name, kind, labels and meaning.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Metric {
    /// Name of the metric.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: MetricKind,
    /// A label of its own, in addition to those common to all metrics.
    pub label: Option<Label>,
    /// Whether it has a series for each job, by the label `job`.
    pub is_per_job: bool,
    /// Upper bounds of the buckets of a histogram, in seconds; empty for other kinds.
    pub buckets: &'static [f64],
    /// Meaning, in one sentence.
    pub help: &'static str,
}

/// A label and all the values it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Name of the label.
    pub name: &'static str,
    /// All its values.
    pub values: &'static [&'static str],
}

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A value that only grows.
    Counter,
    /// A current value.
    Gauge,
    /// Values sorted into buckets by size.
    Histogram,
}

impl fmt::Display for MetricKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        })
    }
}

/// All metrics of this crate.
pub const ALL: &[Metric] = &[
    ACQUIRED,
    LOST,
    RENEWALS,
    RENEWAL_FAILURES,
    IS_LEADER,
    TERM,
    EXPIRY,
    RENEWAL_SECONDS,
    FAILOVER_SECONDS,
    TRANSITIONS,
    CAMPAIGN_FAILURES,
    STORE_ERRORS,
    PROBLEMS,
    MESSAGES_WAITING,
    CRON_TICKS,
    JOB_RUNS,
    JOB_SECONDS,
    JOB_LAST_SUCCESS,
];

pub(super) const ACQUIRED: Metric = counter("leader_acquired_total", "Number of times this process was elected.");
pub(super) const LOST: Metric = counter("leader_lost_total", "Number of times a leadership of this process ended.");
pub(super) const RENEWALS: Metric = counter("leader_renewals_total", "Renewals that extended a leadership.");
pub(super) const RENEWAL_FAILURES: Metric = counter(
    "leader_renewal_failures_total",
    "Renewals that failed: the store refused, timed out, or named another holder.",
);
pub(super) const IS_LEADER: Metric = gauge("tenure_is_leader", "Number of elections that this process leads now.");
pub(super) const TERM: Metric =
    gauge("tenure_term", "Highest term that this process leads under now; 0 when it leads no election.");
pub(super) const EXPIRY: Metric = gauge(
    "tenure_expiry_seconds",
    "Time until the first leadership of this process ends unless renewed; 0 when it leads no election.",
);
pub(super) const RENEWAL_SECONDS: Metric = histogram(
    "tenure_renewal_seconds",
    &[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0],
    "Time from sending a renewal to the answer that extended the leadership.",
);
pub(super) const FAILOVER_SECONDS: Metric = histogram(
    "tenure_failover_seconds",
    &[0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0],
    "Time from the end of the last lease seen, or from seeing the election free, until this process was elected.",
);
pub(super) const TRANSITIONS: Metric = Metric {
    label: Some(Label {
        name: "reason",
        values: &[
            ELECTED,
            LossReason::Expired.as_str(),
            LossReason::Superseded.as_str(),
            LossReason::Revoked.as_str(),
            LossReason::Unhealthy.as_str(),
            LossReason::Requested.as_str(),
            LossReason::Resigned.as_str(),
            LossReason::Stopped.as_str(),
            LossReason::Regressed.as_str(),
            LossReason::Unheard.as_str(),
            LossReason::Withdrawn.as_str(),
            LossReason::Crashed.as_str(),
        ],
    }),
    ..counter("tenure_transitions_total", "Starts and ends of leaderships of this process, by reason.")
};
pub(super) const CAMPAIGN_FAILURES: Metric = counter(
    "tenure_campaign_failures_total",
    "Campaigns that failed: the store refused or timed out. Losing to another leader is not a failure.",
);
pub(super) const STORE_ERRORS: Metric = Metric {
    label: Some(Label {
        name: "kind",
        values: &[
            "unavailable",
            "read_only",
            "full",
            "too_large",
            "unsupported",
            "schema",
            "corrupt",
            "denied",
            "replaced",
            "configuration",
            "timed_out",
            "other",
        ],
    }),
    ..counter("tenure_store_errors_total", "Failed store requests for elections and their messages, by kind of error.")
};
pub(super) const PROBLEMS: Metric = Metric {
    label: Some(Label {
        name: "problem",
        values: &["regressed", "replaced", "duplicate_id", "stuck_work", PANICKED, "other"],
    }),
    ..counter("tenure_problems_total", "Problems in an election that need attention, by problem.")
};
pub(super) const MESSAGES_WAITING: Metric = gauge(
    "tenure_messages_waiting",
    "Messages fetched by this leader and not yet handled; more may wait in the store.",
);
pub(super) const CRON_TICKS: Metric = Metric {
    label: Some(Label { name: "result", values: &["fired", "missed", "late", "skipped"] }),
    ..counter("tenure_cron_ticks_total", "Ticks of jobs, by result.")
};

pub(super) const JOB_RUNS: Metric = Metric {
    label: Some(Label { name: "outcome", values: &["succeeded", "failed", "timed_out", "cancelled", "not_begun"] }),
    is_per_job: true,
    ..counter("tenure_job_runs_total", "Runs of jobs that have ended, by outcome.")
};
pub(super) const JOB_SECONDS: Metric = Metric {
    is_per_job: true,
    ..histogram(
        "tenure_job_seconds",
        &[0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0],
        "Duration of runs of jobs, whatever their outcome.",
    )
};
pub(super) const JOB_LAST_SUCCESS: Metric = Metric {
    is_per_job: true,
    ..gauge(
        "tenure_job_last_success_timestamp_seconds",
        "Time of the job's last success in this process, in seconds since the Unix epoch.",
    )
};

/// The problem that is no elector's: a part of this library panicked.
pub(super) const PANICKED: &str = "panicked";
/// The reason of a transition that is no loss.
pub(super) const ELECTED: &str = "elected";

const fn counter(name: &'static str, help: &'static str) -> Metric {
    Metric { name, kind: MetricKind::Counter, label: None, is_per_job: false, buckets: &[], help }
}

const fn gauge(name: &'static str, help: &'static str) -> Metric {
    Metric { name, kind: MetricKind::Gauge, label: None, is_per_job: false, buckets: &[], help }
}

const fn histogram(name: &'static str, buckets: &'static [f64], help: &'static str) -> Metric {
    Metric { name, kind: MetricKind::Histogram, label: None, is_per_job: false, buckets, help }
}

/// Publishes all counters of a class at zero: one that first appears with a count looks as if it had not changed.
pub(super) fn begin(class: &Class) {
    for metric in ALL.iter().filter(|metric| !metric.is_per_job) {
        match (metric.kind, metric.label) {
            (MetricKind::Counter, None) => metric.add(class, None, 0),
            (MetricKind::Counter, Some(label)) => {
                label.values.iter().for_each(|value| metric.add(class, Some(value), 0));
            }
            (MetricKind::Histogram, _) => publish(|| drop(metrics::histogram!(metric.name, metric.labels_of(class)))),
            (MetricKind::Gauge, _) => {}
        }
    }
}

impl Metric {
    pub(super) fn describe(&self) {
        let unit = if self.name.ends_with("_seconds") { Unit::Seconds } else { Unit::Count };
        match self.kind {
            MetricKind::Counter => metrics::describe_counter!(self.name, unit, self.help),
            MetricKind::Gauge => metrics::describe_gauge!(self.name, unit, self.help),
            MetricKind::Histogram => metrics::describe_histogram!(self.name, unit, self.help),
        }
    }

    /// Returns the names of all its labels.
    #[must_use]
    pub fn labels(&self) -> Vec<&'static str> {
        let own = self.label.map(|label| label.name);
        let kind = self.tells_kind().then_some("key_kind");
        let job = self.is_per_job.then_some("job");
        ["key_class"].into_iter().chain(kind).chain(job).chain(own).collect()
    }

    /// Those of an older system have the one label they had there.
    fn tells_kind(&self) -> bool {
        self.name.starts_with("tenure_")
    }

    fn labels_of(&self, class: &Class) -> Vec<KeyLabel> {
        let kind = self.tells_kind().then(|| KeyLabel::from_static_parts("key_kind", class.kind()));
        [KeyLabel::new("key_class", class.label())].into_iter().chain(kind).collect()
    }

    /// One more.
    pub(super) fn increment(&self, class: &Class) {
        self.add(class, None, 1);
    }

    /// So many more with this value of the metric's own label.
    pub(super) fn count(&self, class: &Class, value: &'static str, by: u64) {
        self.add(class, Some(value), by);
    }

    pub(super) fn set(&self, class: &Class, value: f64) {
        publish(|| metrics::gauge!(self.name, self.labels_of(class)).set(value));
    }

    pub(super) fn record(&self, class: &Class, value: Duration) {
        publish(|| metrics::histogram!(self.name, self.labels_of(class)).record(value.as_secs_f64()));
    }

    /// The same of one job.
    #[cfg(feature = "cron")]
    pub(super) fn count_with(&self, class: &Class, job: KeyLabel, value: &'static str, by: u64) {
        let own = self.label.map(|label| KeyLabel::from_static_parts(label.name, value));
        let labels: Vec<KeyLabel> = self.labels_of(class).into_iter().chain([job]).chain(own).collect();
        publish(|| metrics::counter!(self.name, labels).increment(by));
    }

    #[cfg(feature = "cron")]
    pub(super) fn set_with(&self, class: &Class, job: KeyLabel, value: f64) {
        let labels: Vec<KeyLabel> = self.labels_of(class).into_iter().chain([job]).collect();
        publish(|| metrics::gauge!(self.name, labels).set(value));
    }

    #[cfg(feature = "cron")]
    pub(super) fn record_with(&self, class: &Class, job: KeyLabel, value: Duration) {
        let labels: Vec<KeyLabel> = self.labels_of(class).into_iter().chain([job]).collect();
        publish(|| metrics::histogram!(self.name, labels).record(value.as_secs_f64()));
    }

    fn add(&self, class: &Class, value: Option<&'static str>, by: u64) {
        let mut labels = self.labels_of(class);
        labels.extend(self.label.zip(value).map(|(label, value)| KeyLabel::from_static_parts(label.name, value)));
        publish(|| metrics::counter!(self.name, labels).increment(by));
    }
}

/// Calls the exporter, and contains its panics: it is code of the application, and must end no election.
fn publish(tell: impl FnOnce()) {
    let _ = contain(tell);
}

/// A moment, as Prometheus writes it.
#[cfg(feature = "cron")]
pub(super) fn seconds(unix_ms: u64) -> f64 {
    Duration::from_millis(unix_ms).as_secs_f64()
}

/// The word for a kind of error.
pub(super) fn kind_word(kind: StoreErrorKind) -> &'static str {
    match kind {
        StoreErrorKind::Unavailable => "unavailable",
        StoreErrorKind::ReadOnly => "read_only",
        StoreErrorKind::Full => "full",
        StoreErrorKind::TooLarge => "too_large",
        StoreErrorKind::Unsupported => "unsupported",
        StoreErrorKind::Schema => "schema",
        StoreErrorKind::Corrupt => "corrupt",
        StoreErrorKind::Denied => "denied",
        StoreErrorKind::Replaced => "replaced",
        StoreErrorKind::Configuration => "configuration",
        StoreErrorKind::Missing => "missing",
        StoreErrorKind::TimedOut => "timed_out",
        // A kind that a newer contract adds has no series yet.
        _ => "other",
    }
}

/// The word for a problem.
pub(super) fn problem_word(anomaly: &Anomaly) -> &'static str {
    match anomaly {
        Anomaly::Regressed { .. } => "regressed",
        Anomaly::Replaced { .. } => "replaced",
        Anomaly::DuplicateId { .. } => "duplicate_id",
        Anomaly::StuckWork { .. } => "stuck_work",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_say_what_they_are() {
        let names: BTreeSet<&str> = ALL.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), ALL.len());
        for metric in ALL {
            assert_eq!(metric.kind == MetricKind::Counter, metric.name.ends_with("_total"), "{}", metric.name);
            assert_eq!(metric.kind == MetricKind::Histogram, !metric.buckets.is_empty(), "{}", metric.name);
            assert!(metric.buckets.is_sorted() && metric.help.ends_with('.'), "{}", metric.name);
        }
    }
}
