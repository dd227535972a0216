//! Metrics to alert on, through the [`metrics`](https://docs.rs/metrics) facade and the exporter that the application
//! installs. Needs the feature `metrics`.
//!
//! [`ALL`] lists every metric with its meaning; `docs/metrics.md` has the same list with alert rules. Call [`describe`]
//! once, after the exporter is installed, and [`refresh`] each time before it renders:
//!
//! ```
//! use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
//! use tenure::blocking::Client;
//! use tenure::metrics;
//!
//! let mut exporter = PrometheusBuilder::new();
//! for metric in metrics::ALL.iter().filter(|metric| !metric.buckets.is_empty()) {
//!     exporter = exporter.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), metric.buckets)?;
//! }
//! let exporter = exporter.install_recorder()?;
//! metrics::describe();
//!
//! let client = Client::open("memory:")?;
//! let candidacy = client.election("nightly-report")?.candidate().start()?;
//! candidacy.elected()?;
//!
//! metrics::refresh(); // before every rendering: the clock decides what is true
//! assert!(exporter.render().contains(r#"tenure_is_leader{key_class="nightly-report",key_kind="election"} 1"#));
//! candidacy.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Classes
//! All metrics have the label `key_class`, and never the name of an election: an application with an election per
//! customer would drown its monitoring. The class is the part of the name before the first colon, so that `mail:7` and
//! `mail:8` are both `mail`, or what [`ClientBuilder::key_class`](crate::ClientBuilder::key_class) makes of the name. A process
//! has at most [`MAX_CLASSES`] classes; elections that come later are all counted as [`OTHER`]. Several elections of one class
//! add up.
//!
//! All whose name begins with `tenure_` have the label `key_kind` as well: `election`, or `lock` for what
//! [`Client::lock`](crate::Client::lock) acquires. Nobody leads a lock most of the time, and that is no reason to wake anybody.
//!
//! # What is true when
//! Counters and histograms are written when something happens. Gauges depend on the clock as well: a process that was
//! paused may have lost its leadership without having noticed. So [`refresh`] computes them from the clock, as
//! [`Candidacy::is_leader`](crate::Candidacy::is_leader) does, and an exporter that calls it before it renders never shows a
//! leader that is none. They are also written when an election begins, ends or is renewed, for exporters that cannot call
//! anything.

#[cfg(feature = "metrics")]
mod class;
#[cfg(all(feature = "cron", feature = "metrics"))]
mod jobs;
#[cfg(feature = "metrics")]
mod list;
#[cfg(not(feature = "metrics"))]
mod off;
#[cfg(feature = "metrics")]
mod per_process;
#[cfg(feature = "metrics")]
mod recorder;
#[cfg(feature = "metrics")]
mod registry;

#[cfg(feature = "metrics")]
pub use self::class::{MAX_CLASSES, OTHER};
#[cfg(all(feature = "cron", feature = "metrics"))]
pub use self::jobs::MAX_JOBS_SHOWN;
#[cfg(feature = "metrics")]
pub use self::list::{ALL, Label, Metric, MetricKind};

#[cfg(feature = "metrics")]
pub(crate) use self::{
    class::{Class, Classifier},
    recorder::Recorder,
    registry::settle,
};

#[cfg(all(feature = "cron", feature = "metrics"))]
pub(crate) use self::jobs::has_jobs;
#[cfg(all(feature = "cron", not(feature = "metrics")))]
pub(crate) use self::off::has_jobs;
#[cfg(not(feature = "metrics"))]
pub(crate) use self::off::{NoClass as Class, NoClassifier as Classifier, NoRecorder as Recorder, settle};

/// The purpose of a candidacy: the value of the label `key_kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum CandidacyPurpose {
    /// An election, whose leader leads for as long as it can.
    #[default]
    Election,
    /// A lock, whose leader leads until its work is done; most of the time nobody does.
    Lock,
}

#[cfg(feature = "metrics")]
impl CandidacyPurpose {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Election => "election",
            Self::Lock => "lock",
        }
    }
}

/// Registers the meaning and the unit of each metric with the exporter. Call it once, after the exporter is installed.
#[cfg(feature = "metrics")]
pub fn describe() {
    ALL.iter().for_each(Metric::describe);
}

/// Updates all gauges by the clock. Call it each time before metrics are rendered.
///
/// It also publishes counters and histograms that have counted nothing yet, so that their first count is seen as a change. It
/// does not contact the store and never waits; its cost grows with the number of elections.
#[cfg(feature = "metrics")]
pub fn refresh() {
    class::known().iter().for_each(list::begin);
    registry::publish();
}
