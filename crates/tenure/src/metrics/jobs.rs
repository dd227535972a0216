//! What becomes of ticks of jobs.

use tenure_core::cron::Passed;

use super::class::Class;
use super::list::CRON_TICKS;
use crate::cron::JobNews;

/// Counts the ticks that something is told of.
pub(super) fn count(class: &Class, news: &JobNews) {
    match news {
        JobNews::Fired { late, missed, .. } => {
            CRON_TICKS.count(class, if late.is_some() { "late" } else { "fired" }, 1);
            CRON_TICKS.count(class, "missed", *missed);
        }
        JobNews::Passed { count, why: Passed::Missed } => CRON_TICKS.count(class, "missed", *count),
        JobNews::Passed { count, why: Passed::Overlap | Passed::Disabled } => {
            CRON_TICKS.count(class, "skipped", *count);
        }
        JobNews::Retrying { .. } | JobNews::Ended { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use metrics_exporter_prometheus::PrometheusBuilder;
    use tenure_core::ElectionName;
    use tenure_core::cron::Outcome;

    use super::super::class::Classifier;
    use super::*;

    #[test]
    fn ticks_of_jobs_are_counted_by_result() {
        let exporter = PrometheusBuilder::new().build_recorder();
        ::metrics::with_local_recorder(&exporter, || {
            let class = Classifier::by_name().class_of(&ElectionName::new("jobs:nightly").unwrap());
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
                count(&class, &news);
            }
        });
        let page = exporter.handle().render();
        for (result, count) in [("fired", 2), ("late", 1), ("missed", 9), ("skipped", 3)] {
            let line = format!("tenure_cron_ticks_total{{key_class=\"jobs\",result=\"{result}\"}} {count}");
            assert!(page.contains(&line), "no {line} in\n{page}");
        }
    }
}
