//! Leader election that never lies.

mod blocking;
mod callback;
mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
mod driver;
mod election;
mod error;
mod event;
mod identity;
mod leadership;
mod shared;
pub mod store;
mod tenure;
#[cfg(feature = "testing")]
pub mod testing;

pub use tenure_core::{
    CandidateId, DEFAULTS, Defaults, Drift, ElectionName, Failure, Instant, Leader, LossReason, Metadata, NameError,
    Namespace, Prediction, Preset, Priority, Problem, Term, Timing, TimingBuilder, TimingError, Trust, UnknownPreset,
};

pub use callback::CallbackResult;
pub use clock::Clock;
pub use election::{Election, ElectionBuilder};
pub use error::{Error, ErrorKind};
pub use event::{Event, EventKind, Events, Trouble};
pub use leadership::{Leadership, Work};
pub use store::{MemoryStore, Store, StoreError, StoreUrl};
pub use tenure::Tenure;
