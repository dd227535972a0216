//! Jobs that fire once across all candidates, as pure functions.
//!
//! A job has a [`Calendar`] that says when it is due. The leader asks a [`Planner`] what to do next, and before doing it,
//! it claims the tick in a [`Ledger`](crate::store_rules::ledger::Ledger) that the store keeps. The ledger remembers up to
//! which tick everything is decided, its *mark*, and the mark only grows. So no tick fires twice, whatever clocks and leaders
//! do, and the next leader sees from the mark what was missed. A leader that has claimed a tick and can no longer
//! begin it gives it back, and a later leader may run it. All of that is one machine, the [`JobEngine`]: feed it [`JobInput`]s with
//! the time, and carry out its [`JobOutput`]s.
//!
//! ```diagram
//!          mark                          now
//!  --o--o---o------o------o------o--------|---o--->
//!  decided         missed ticks, which follow the job's policy
//! ```

mod absence;
mod calendar;
mod correction;
mod engine;
mod event;
mod mutant;
mod outcome;
mod planner;
mod policy;
mod request;
mod tick;

pub use self::absence::{absent_schedule, present_schedule};
pub use self::calendar::{Calendar, Every};
pub use self::engine::{
    CallId, EndedAttempt, JobAlarm, JobAttempt, JobEngine, JobInput, JobMoment, JobOutput, JobSpec, LedgerCall,
    LedgerReply, MAX_LEDGER_REST, RunId,
};
pub use self::event::{JobAnomaly, JobEvent};
#[cfg(mutants)]
pub use self::mutant::JobMutant;
pub use self::outcome::RunOutcome;
pub use self::planner::{Planner, PlannerStep};
pub use self::policy::{Interrupted, JobPolicy, MAX_RETRY_AFTER, Missed, Overlap, Passed, UnknownPolicy};
pub use self::request::{
    Act, Claim, Claimed, Finish, JobOrder, JobReport, MAX_EARLY, MAX_JOBS, OpenJob, OpenJobs, Opened, OpenedJob,
    RunEnd, RunReport,
};
pub use self::tick::Tick;
