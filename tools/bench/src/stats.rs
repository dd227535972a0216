//! Medians and the like.

use std::time::Duration;

/// Samples of one quantity.
#[derive(Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn push_micros(&mut self, duration: Duration) {
        self.push(duration.as_secs_f64() * 1e6);
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The value below which this share of the samples lies.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index, from 0 to len - 1")]
        let index = ((sorted.len().saturating_sub(1)) as f64 * share).round() as usize;
        sorted.get(index).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn max(&self) -> f64 {
        self.quantile(1.0)
    }

    /// What there is to say of samples in microseconds.
    pub(crate) fn in_micros(&self) -> String {
        format!("p50 {:.0} µs, p99 {:.0} µs, worst {:.0} µs", self.median(), self.quantile(0.99), self.max())
    }

    /// What there is to say of a few samples in milliseconds.
    pub(crate) fn in_millis(&self) -> String {
        format!("p50 {:.1} ms, worst {:.1} ms", self.median(), self.max())
    }
}
