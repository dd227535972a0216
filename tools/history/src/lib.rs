//! Reads the events of real processes and says whether two of them ever led at once.
//!
//! The processes of one machine share `CLOCK_BOOTTIME`, and every line that `tenure elect` and `tenure run --json`
//! print carries it. So what happened in many processes can be put in order exactly, without any clock being right.
//!
//! What no line tells is not assumed. A leader that was killed cannot say so: without a `killed` line, or renewals that
//! show when its trust ran out, its leadership has no known end, and whoever leads next is reported. `docs/history.md`
//! says which lines there are.
//!
//! ```
//! use tenure_history::{History, Limits};
//!
//! let history = History::parse([
//!     r#"{"event":"elected","election":"demo","candidate":"a","term":1,"boot_ns":100}"#,
//!     r#"{"event":"elected","election":"demo","candidate":"b","term":2,"boot_ns":150}"#,
//!     r#"{"event":"lost","election":"demo","candidate":"a","term":1,"reason":"expired","boot_ns":200}"#,
//! ]);
//! let verdict = history.verdict(&Limits::default());
//! assert_eq!(verdict.violations().count(), 1);
//! assert!(verdict.to_string().contains("a under term 1 and b under term 2 led at once"));
//! ```

mod checks;
mod event;
mod history;
mod leadership;
mod life;
mod show;
pub mod timeline;
mod verdict;

pub use checks::{Check, HistoryViolation, Register, Spread, Takeover};
pub use event::{LineSource, MalformedLine};
pub use history::History;
pub use leadership::{Ending, LeadershipEnd, ObservedLeadership};
pub use verdict::{ElectionVerdict, HistoryVerdict, Limits};

/// The Rust blocks of the document outside of this crate are compiled and run, too.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../docs/history.md")]
    struct HistoryDocument;
}
