//! Jobs by the calendar, whose ticks each fire at most once across all candidates of an election.
//!
//! # What is not guaranteed
//! - **A tick fires at most once, not exactly once.** It is recorded before its run begins. If the leader dies in between,
//!   or in the middle of the run, the run shows as interrupted and is not repeated, unless the job asks for that:
//!   [`Interrupted::Again`] makes it *at least* once.
//! - **Nothing fires while nobody leads.** Missed ticks follow the job's policy: [`Missed`].
//! - **Blocking handlers are not ended by force.** They are told to stop.
//!
//! # Example
//! ```
//! use tenure::blocking::Client;
//! use tenure::cron::Job;
//! # let (sender, receiver) = std::sync::mpsc::channel();
//!
//! let client = Client::open("memory:")?; // sqlite:PATH lets the processes of one machine share the jobs
//! let candidacy = client
//!     .election("housekeeping")?
//!     .candidate()
//!     .job(Job::new("sweep", "* * * * * *")?, move |run| {
//!         println!("{} is due, under term {}", run.job(), run.term());
//! #       sender.send(()).ok();
//!     })
//!     .start()?;
//! # receiver.recv().ok();
//! # candidacy.stop();
//! # Ok::<(), tenure::Error>(())
//! ```

mod admin;
mod error;
mod event;
mod expression;
mod job;
mod job_set;
mod local;
mod run;
mod schedule;
mod scheduler;
mod written;
mod zone;

pub use tenure_core::jobs::{
    Calendar, Interrupted, JobEvent, JobPolicy, JobReport, Missed, Overlap, Passed, RunEnd, RunOutcome, RunReport,
    Tick, UnknownPolicy,
};

pub use self::error::ScheduleError;
pub use self::event::JobError;
pub use self::job::Job;
pub(crate) use self::job_set::JobSet;
pub use self::job_set::Jobs;
pub use self::run::JobRun;
pub use self::schedule::Schedule;
pub(crate) use self::scheduler::JobCompanion;
pub use self::written::WrittenSchedule;
