//! Every known mistake, wherever it is made: in the elector, in a store, or in what surrounds an elector.
//!
//! Those of the elector exist only in builds with `--cfg mutants`. The others need no such care: they are made by
//! parts of the simulation, which nobody ships.

use std::fmt;
use std::str::FromStr;

#[cfg(mutants)]
use tenure_core::Mutant;

/// A known mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mistake {
    /// Made by electors.
    #[cfg(mutants)]
    Elector(Mutant),
    /// Made by the store.
    Store(StoreMistake),
    /// Made by the process around an elector.
    Process(ProcessMistake),
}

/// A mistake that a store can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreMistake {
    /// A renewal writes the lease without looking whose it is.
    BlindRenew,
    /// A release removes the lease without looking whose it is.
    BlindRelease,
    /// The term is kept in the lease and goes with it.
    ExpiringTerm,
    /// Whoever has the holder's label is taken for the holder.
    LabelOwnsLease,
    /// A lease is judged by the challenger's ttl.
    ChallengersTtl,
    /// A holder that asks again is granted the lease, but not a new ttl.
    RegrantKeepsExpiry,
    /// The expiry is set in a second step, which a crash can prevent.
    ExpiryForgotten,
}

/// A mistake that the process around an elector can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessMistake {
    /// Its clock does not count while the machine is suspended.
    ClockStopsInSuspend,
    /// `is_leader()` repeats what was last heard instead of looking at the clock.
    CachedAnswer,
    /// Work that has to be killed is asked again instead.
    NoKill,
}

/// No mistake has this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMistake(String);

impl Mistake {
    /// All of them, in the order of the table in the documents.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(mutants)]
        all.extend(Mutant::ALL.map(Self::Elector));
        all.extend(StoreMistake::ALL.map(Self::Store));
        all.extend(ProcessMistake::ALL.map(Self::Process));
        all
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> String {
        let name = match self {
            #[cfg(mutants)]
            Self::Elector(mutant) => format!("{mutant:?}"),
            Self::Store(mistake) => format!("{mistake:?}"),
            Self::Process(mistake) => format!("{mistake:?}"),
        };
        kebab(&name)
    }

    /// Whether the process makes this mistake.
    pub(crate) fn is_process(this: Option<Self>, mistake: ProcessMistake) -> bool {
        this == Some(Self::Process(mistake))
    }
}

impl StoreMistake {
    const ALL: [Self; 7] = [
        Self::BlindRenew,
        Self::BlindRelease,
        Self::ExpiringTerm,
        Self::LabelOwnsLease,
        Self::ChallengersTtl,
        Self::RegrantKeepsExpiry,
        Self::ExpiryForgotten,
    ];
}

impl ProcessMistake {
    const ALL: [Self; 3] = [Self::ClockStopsInSuspend, Self::CachedAnswer, Self::NoKill];
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl FromStr for Mistake {
    type Err = UnknownMistake;

    fn from_str(name: &str) -> Result<Self, UnknownMistake> {
        Self::all().into_iter().find(|mistake| mistake.name() == name).ok_or_else(|| UnknownMistake(name.to_owned()))
    }
}

impl fmt::Display for UnknownMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = Mistake::all().into_iter().map(Mistake::name).collect();
        write!(f, "no mutant is called {:?}; there are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownMistake {}

pub(crate) fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(letter.to_lowercase());
    }
    kebab
}
