//! Every known mistake, wherever it is made: in the elector, in a store, in what surrounds an elector, around jobs, or
//! around messages.
//!
//! Those of electors and engines exist only in builds with `--cfg mutants`. The others need no such care: they are made by
//! parts of the simulation, which nobody ships.

use std::fmt;
use std::str::FromStr;

#[cfg(mutants)]
use tenure_core::{Mutant, jobs::JobMutant, messages::InboxMutant};

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
    /// Made by the ledger of jobs.
    Ledger(LedgerMistake),
    /// Made by the engines of jobs.
    #[cfg(mutants)]
    Engine(JobMutant),
    /// Made by whatever surrounds an engine.
    Job(JobMistake),
    /// Made by the mailbox.
    Mailbox(MailboxMistake),
    /// Made by the inboxes of leaders.
    #[cfg(mutants)]
    Inbox(InboxMutant),
    /// Made by senders.
    Message(MessageMistake),
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
    /// What the store cannot vouch for it gives back by itself, while its candidate asks again under the same nonce.
    GivesBackItself,
    /// A resignation wakes the successor and one more.
    WakesTwo,
    /// A successor that leaves passes nothing on, and wakes nobody.
    NothingPassedOn,
    /// Only the first two in line watch the leader, and nobody watches them.
    TwoWatch,
    /// A lease whose holder died belongs to whoever comes first.
    DeathIsAnyones,
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
    /// What outlives a process releases its lease while work still runs under it.
    ReleasesBeforeDeath,
    /// What outlives a process releases whatever lease it finds.
    ReleasesNewerTerm,
}

/// A mistake that the ledger of a store can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LedgerMistake {
    /// A tick is granted without looking who holds the lease.
    ClaimsByAnyone,
    /// The tick at the mark is granted once more.
    GrantsAtMark,
    /// The mark of a job is lost when it is opened again.
    MarkLostAtOpen,
    /// A new job begins at its leader's present, even if that is still to come.
    OpensAhead,
    /// A tick is granted although it is still to come.
    GrantsEarly,
    /// A claim that comes twice makes a run that has ended one that has not.
    ClaimRevivesRun,
    /// A run is granted again although its end was told.
    EndedRunAgain,
    /// The end of a run is not written down.
    EndsForgotten,
    /// The next leader is not told of ticks that were given back.
    GivenBackUnreported,
    /// A tick that was given back, and granted again, still counts as given back.
    GivenBackForEver,
    /// A tick that was given back is granted to a late copy of the claim that it was given back for.
    RunTakesGivenBack,
    /// A tick that was given back still counts as fired.
    GivenBackCounts,
}

/// A mistake that can be made around the engine of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobMistake {
    /// Runs go on when the work of their leadership has ended.
    RunsOutliveWork,
    /// Runs overlap although the job forbids it.
    IgnoresOverlap,
    /// Of several missed ticks only the latest fires although the job wants all.
    OnceInsteadOfAll,
    /// All missed ticks fire although the job wants one.
    AllInsteadOfOnce,
    /// A missed tick fires although the job wants none.
    OnceInsteadOfSkip,
    /// A missed tick is left out although the job wants one.
    SkipInsteadOfOnce,
    /// A run that was cut off is run again although the job does not want it.
    AgainUnasked,
    /// What the ledger says of a clock that is ahead is not heeded.
    TrustsFastClock,
}

/// A mistake that the mailbox of a store can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MailboxMistake {
    /// Messages are given to whoever asks, without looking who holds the lease.
    ReceivesByAnyone,
    /// The word of anybody counts, without looking who holds the lease.
    AcksByAnyone,
    /// A message that is sent once more is accepted once more.
    AcceptsTwice,
    /// A message leaves the line when it is received.
    ReceivingTakesOut,
    /// What became of messages is not written down.
    AcksForgotten,
    /// Of several words that come together only the first is written down.
    AcksInPart,
    /// A message that failed goes to the end of the line.
    FailedGoesLast,
    /// An attempt that is told twice counts twice.
    AttemptsAdd,
}

/// A mistake that can be made by senders of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageMistake {
    /// What may have been sent is sent again under a new id.
    NewIdAgain,
    /// The next message is sent although nobody knows what became of the one before it.
    SendsOn,
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
        all.extend(LedgerMistake::ALL.map(Self::Ledger));
        #[cfg(mutants)]
        all.extend(JobMutant::ALL.map(Self::Engine));
        all.extend(JobMistake::ALL.map(Self::Job));
        all.extend(MailboxMistake::ALL.map(Self::Mailbox));
        #[cfg(mutants)]
        all.extend(InboxMutant::ALL.map(Self::Inbox));
        all.extend(MessageMistake::ALL.map(Self::Message));
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
            Self::Ledger(mistake) => format!("{mistake:?}"),
            #[cfg(mutants)]
            Self::Engine(mutant) => format!("{mutant:?}"),
            Self::Job(mistake) => format!("{mistake:?}"),
            Self::Mailbox(mistake) => format!("{mistake:?}"),
            #[cfg(mutants)]
            Self::Inbox(mutant) => format!("{mutant:?}"),
            Self::Message(mistake) => format!("{mistake:?}"),
        };
        kebab(&name)
    }

    /// Whether the process makes this mistake.
    pub(crate) fn is_process(this: Option<Self>, mistake: ProcessMistake) -> bool {
        this == Some(Self::Process(mistake))
    }
}

impl StoreMistake {
    const ALL: [Self; 12] = [
        Self::BlindRenew,
        Self::BlindRelease,
        Self::ExpiringTerm,
        Self::LabelOwnsLease,
        Self::ChallengersTtl,
        Self::RegrantKeepsExpiry,
        Self::ExpiryForgotten,
        Self::GivesBackItself,
        Self::WakesTwo,
        Self::NothingPassedOn,
        Self::TwoWatch,
        Self::DeathIsAnyones,
    ];
}

impl ProcessMistake {
    const ALL: [Self; 5] = [
        Self::ClockStopsInSuspend,
        Self::CachedAnswer,
        Self::NoKill,
        Self::ReleasesBeforeDeath,
        Self::ReleasesNewerTerm,
    ];
}

impl LedgerMistake {
    const ALL: [Self; 12] = [
        Self::ClaimsByAnyone,
        Self::GrantsAtMark,
        Self::MarkLostAtOpen,
        Self::OpensAhead,
        Self::GrantsEarly,
        Self::ClaimRevivesRun,
        Self::EndedRunAgain,
        Self::EndsForgotten,
        Self::GivenBackUnreported,
        Self::GivenBackForEver,
        Self::RunTakesGivenBack,
        Self::GivenBackCounts,
    ];
}

impl JobMistake {
    const ALL: [Self; 8] = [
        Self::RunsOutliveWork,
        Self::IgnoresOverlap,
        Self::OnceInsteadOfAll,
        Self::AllInsteadOfOnce,
        Self::OnceInsteadOfSkip,
        Self::SkipInsteadOfOnce,
        Self::AgainUnasked,
        Self::TrustsFastClock,
    ];
}

impl MailboxMistake {
    const ALL: [Self; 8] = [
        Self::ReceivesByAnyone,
        Self::AcksByAnyone,
        Self::AcceptsTwice,
        Self::ReceivingTakesOut,
        Self::AcksForgotten,
        Self::AcksInPart,
        Self::FailedGoesLast,
        Self::AttemptsAdd,
    ];
}

impl MessageMistake {
    const ALL: [Self; 2] = [Self::NewIdAgain, Self::SendsOn];
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
