//! One trial of one property, and whether its outcome counts.
//!
//! On a real server leases and reservations run on while a property looks at them. Each property is written for a machine
//! on which its steps take less time than the [slack](super::Fixture::slack); on one that is busy, something may have run
//! out before the property gets to look at it. Then what it saw says nothing of the store, and it is tried again, with more
//! time for everything whose length is not given.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a property has begun that runs for a time.
#[derive(Debug)]
pub(super) struct PropertyTrial {
    /// 1 for the first one.
    number: u32,
    course: Mutex<Course>,
}

#[derive(Debug, Default)]
struct Course {
    /// How long the property meant to let go by so far.
    passed: Duration,
    spans: Vec<TrialSpan>,
}

#[derive(Debug)]
struct TrialSpan {
    length: Duration,
    /// Not after the store has begun to count.
    began: Instant,
    passed_before: Duration,
}

tokio::task_local! {
    pub(super) static TRIAL: std::sync::Arc<PropertyTrial>;
}

/// Something begins that runs for this long: before the request is sent that begins it.
pub(super) fn begins(length: Duration) {
    with(|course| {
        let passed_before = course.passed;
        course.spans.push(TrialSpan { length, began: Instant::now(), passed_before });
    });
}

/// The property lets so much time go by on purpose.
pub(super) fn passes(time: Duration) {
    with(|course| course.passed += time);
}

/// How many times as long as usual everything takes whose length a property chooses.
pub(super) fn leisure() -> u32 {
    TRIAL.try_with(|trial| trial.number).unwrap_or(1)
}

impl PropertyTrial {
    pub(super) fn new(number: u32) -> Self {
        Self { number, course: Mutex::default() }
    }

    /// Whether something has run out already that the property meant to find running.
    pub(super) fn is_void(&self) -> bool {
        let course = self.course.lock().unwrap_or_else(PoisonError::into_inner);
        let has_run_out = |span: &TrialSpan| span.began.elapsed() >= span.length;
        let is_meant_to_run = |span: &TrialSpan| course.passed - span.passed_before < span.length;
        course.spans.iter().any(|span| is_meant_to_run(span) && has_run_out(span))
    }
}

/// Whoever calls a property by itself has no trial, and judges by itself.
fn with(change: impl FnOnce(&mut Course)) {
    let _ = TRIAL.try_with(|trial| change(&mut trial.course.lock().unwrap_or_else(PoisonError::into_inner)));
}
