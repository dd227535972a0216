//! The classes of faults, each of which can be left out.

use std::fmt;
use std::str::FromStr;

use crate::kind::StoreKind;

/// A class of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultClass {
    /// A process stands still; its machine does not.
    Pause,
    /// A machine is suspended; its clock counts on.
    Suspend,
    /// A virtual machine is paused; its clock stands still.
    VmPause,
    /// A process dies, and comes back later.
    Crash,
    /// Requests of one candidate do not arrive.
    CutRequests,
    /// Answers to one candidate do not arrive.
    CutAnswers,
    /// Neither do.
    CutBoth,
    /// Messages are lost at random.
    Loss,
    /// Messages arrive twice.
    Duplication,
    /// Messages take far longer than they should, and overtake each other.
    Delay,
    /// All answers to every other candidate are almost too late.
    SlowAnswers,
    /// Hints are lost.
    LostHints,
    /// Hints come although nothing happened.
    FalseHints,
    /// Nobody reaches the store.
    StoreDown,
    /// The store takes its time.
    StoreSlow,
    /// The store refuses, or says that it does not know what became of a request.
    StoreErrors,
    /// Clocks change their rate.
    ClockRate,
    /// An application says that it is not well.
    Illness,
    /// An application resigns.
    Resign,
    /// An operator asks the leader to hand over.
    Handover,
    /// A candidate leaves the election, and comes back later.
    Leave,
    /// Work takes longer to stop than it is given.
    SlowWork,
    /// Work does not stop at all, not even when it is killed.
    StubbornWork,
    /// Somebody sets the clock of the store.
    ClockStep,
    /// The store fails over, forgets what its copy had not got yet, and some still talk to the old one.
    Failover,
    /// The quorum gets a new leader: it is silent for a while, and all leases begin anew.
    QuorumChange,
    /// The store is replaced by an empty one.
    Replacement,
    /// Somebody sets a wall clock by which jobs are due, of a candidate or of the store.
    WallStep,
    /// The store grants what it cannot vouch for, and says so: too few copies have it.
    UnsureGrants,
    /// Those first in line stand still, die or leave, and soon after the leader leaves or dies.
    HeadOfLine,
    /// Somebody changes the jobs of some candidates while they run.
    Reload,
    /// What watches a process outlives it, and releases its lease, sooner or later.
    GuardRelease,
}

/// No class of faults has this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownFaultClass(String);

impl FaultClass {
    /// All of them.
    pub const ALL: [Self; 32] = [
        Self::Pause,
        Self::Suspend,
        Self::VmPause,
        Self::Crash,
        Self::CutRequests,
        Self::CutAnswers,
        Self::CutBoth,
        Self::Loss,
        Self::Duplication,
        Self::Delay,
        Self::SlowAnswers,
        Self::LostHints,
        Self::FalseHints,
        Self::StoreDown,
        Self::StoreSlow,
        Self::StoreErrors,
        Self::ClockRate,
        Self::Illness,
        Self::Resign,
        Self::Handover,
        Self::Leave,
        Self::SlowWork,
        Self::StubbornWork,
        Self::ClockStep,
        Self::Failover,
        Self::QuorumChange,
        Self::Replacement,
        Self::WallStep,
        Self::UnsureGrants,
        Self::HeadOfLine,
        Self::Reload,
        Self::GuardRelease,
    ];

    /// Whether it can befall a store of this kind, or its candidates.
    pub(crate) fn befalls(self, kind: StoreKind) -> bool {
        match self {
            Self::CutRequests | Self::CutAnswers | Self::CutBoth | Self::Loss | Self::Duplication => kind.is_remote(),
            Self::VmPause => kind.is_remote(),
            Self::ClockStep | Self::UnsureGrants => matches!(kind, StoreKind::WallClock | StoreKind::Replicated),
            Self::Failover => kind == StoreKind::Replicated,
            Self::QuorumChange => kind == StoreKind::Quorum,
            Self::WallStep | Self::Reload => kind != StoreKind::Quorum,
            _ => true,
        }
    }

    /// In how many of a hundred runs it is present. What breaks an assumption is rare, so that most runs claim all.
    pub(crate) fn percent(self) -> u32 {
        match self {
            Self::VmPause | Self::StubbornWork | Self::Replacement => 6,
            Self::ClockStep => 15,
            Self::WallStep => 30,
            Self::Failover => 60,
            Self::QuorumChange => 80,
            Self::SlowAnswers => 40,
            Self::Loss | Self::StoreErrors | Self::Delay => 45,
            _ => 60,
        }
    }

    /// Whether it is drawn apart from the others, so that what follows from a seed stays as it was before it was thought of.
    pub(crate) fn is_apart(self) -> bool {
        matches!(self, Self::HeadOfLine | Self::Reload | Self::GuardRelease)
    }

    /// Whether nobody but jobs notices it.
    pub(crate) fn concerns_jobs(self) -> bool {
        self == Self::WallStep
    }

    /// Whether it happens at moments of its own, and not to messages or to work.
    pub(crate) fn is_event(self) -> bool {
        !matches!(
            self,
            Self::Loss
                | Self::Duplication
                | Self::Delay
                | Self::SlowAnswers
                | Self::LostHints
                | Self::StoreErrors
                | Self::UnsureGrants
                | Self::SlowWork
                | Self::StubbornWork
                | Self::GuardRelease
        )
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> String {
        crate::mistake::kebab(&format!("{self:?}"))
    }
}

impl fmt::Display for FaultClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl FromStr for FaultClass {
    type Err = UnknownFaultClass;

    fn from_str(name: &str) -> Result<Self, UnknownFaultClass> {
        Self::ALL.into_iter().find(|fault| fault.name() == name).ok_or_else(|| UnknownFaultClass(name.to_owned()))
    }
}

impl fmt::Display for UnknownFaultClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = FaultClass::ALL.into_iter().map(FaultClass::name).collect();
        write!(f, "no fault is called {:?}; there are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownFaultClass {}
