//! How the ledger shows that the leader does not have a job.

use std::sync::Arc;

/// Suffix of the schedule of a job that the leader does not have.
const ABSENT: &str = " (absent)";

/// Returns the stored schedule of a job that the leader does not have.
#[must_use]
pub fn absent_schedule(written: &str) -> Arc<str> {
    format!("{written}{ABSENT}").into()
}

/// Returns the stored schedule of a job before it was absent; `None` if it is not.
#[must_use]
pub fn present_schedule(written: &str) -> Option<&str> {
    written.strip_suffix(ABSENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_as_it_was_before_its_job_was_absent() {
        let absent = absent_schedule("0 4 * * * UTC");
        assert_eq!(&*absent, "0 4 * * * UTC (absent)", "it is stored so, and other versions read it");
        assert_eq!(present_schedule(&absent), Some("0 4 * * * UTC"));
        assert_eq!(present_schedule("0 4 * * * UTC"), None);
    }
}
