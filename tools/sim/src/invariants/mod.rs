//! What must be true, one file each. They see what happens from outside, in true time.

mod absent_shown;
mod after_healing;
mod alternation;
mod at_least_once;
mod attempts_once;
mod claims_by_holder;
mod counts_fired;
mod failover;
mod fencing;
mod fires_once;
mod fires_while_leading;
mod follows_policy;
mod given_back_runs;
mod handled_once;
mod in_line;
mod jobs_live;
mod mail_by_holder;
mod mail_quiet;
mod marks_grow;
mod messages_in_order;
mod messages_kept;
mod messages_live;
mod never_early;
mod nothing_lost;
mod one_delivery;
mod one_leader;
mod order;
mod own_work;
mod progress;
mod queued_runs;
mod quiet;
mod resigned_terms;
mod runs_alone;
mod steadiness;
mod stops;
mod succession;
mod terms;
mod work;

use std::fmt;

use tenure_core::messages::NewMessage;
use tenure_core::{LossReason, Request, Term};

use crate::assumption::{Assumption, Broken};
use crate::clock::SimTime;
use crate::world::{DeliveryEnd, ServedJobRequest, ServedMail, SimDelivery, SimJobRun, View};

/// Something that can be checked while the world goes on.
pub(crate) trait Invariant {
    /// Its name in reports.
    fn name(&self) -> &'static str;

    /// What it does not hold without.
    fn rests_on(&self) -> &'static [Assumption];

    /// Takes in what happened; an error says what is wrong.
    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String>;
}

/// One thing that happened, at the present true time. Candidates are known by their index.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Occurrence<'a> {
    /// A process began to stand.
    Started { node: usize },
    /// A process died.
    Crashed { node: usize },
    /// Leadership began.
    Elected { node: usize, term: Term },
    /// Leadership was extended.
    Trusted { node: usize, term: Term },
    /// Leadership ended.
    Lost { node: usize, term: Term, reason: LossReason },
    /// A request was sent.
    Sent { node: usize, request: &'a Request },
    /// What outlived a process sent a release of a lease that it had held.
    ReleasedInPlaceOf { node: usize, life: u32, term: Term },
    /// The application asked whether it leads, was told yes, and acted.
    Acted { node: usize, term: Term },
    /// Work runs: it has begun, or its process was away and it has had the time to be ended.
    Works { node: usize, term: Term },
    /// A write reached a resource.
    Written { node: usize, life: u32, term: Term },
    /// A candidate was told to leave.
    ToldToStop { node: usize },
    /// A candidate has left.
    Stopped { node: usize },
    /// The store granted a new term.
    Granted { node: usize },
    /// A lease was released, or whoever it was kept for has left.
    Released,
    /// The store can see that whoever holds the lease is dead.
    HolderDied,
    /// The faults have been over long enough for somebody to lead.
    LongHealed,
    /// The leader was killed while all was well.
    LeaderKilled,
    /// Enough time has passed since for somebody else to lead.
    LongWithoutLeader,
    /// A process takes in another edition of its jobs.
    Reloaded { node: usize },
    /// A run of a job began.
    RunBegan(&'a SimJobRun),
    /// The store has served a request about jobs.
    Served(&'a ServedJobRequest<'a>),
    /// A sender begins to send a message.
    Sending(&'a NewMessage),
    /// The store has served a request about messages.
    Mailed(&'a ServedMail<'a>),
    /// A process asks the mailbox for something.
    MailAsked { node: usize },
    /// A message was handed out.
    HandedOut(&'a SimDelivery),
    /// Handling a message has ended.
    Handled { delivery: &'a SimDelivery, end: DeliveryEnd },
    /// Time passes.
    Passing,
    /// The end of the run.
    End,
}

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvariantViolation {
    /// Which.
    pub invariant: &'static str,
    /// How.
    pub message: String,
    /// When, in true nanoseconds since the beginning.
    pub at: SimTime,
}

/// All of them.
pub(crate) struct Invariants {
    all: Vec<Box<dyn Invariant>>,
    /// Those that were broken when nobody had promised them; told once each.
    excused: Vec<&'static str>,
}

impl Invariants {
    pub(crate) fn new() -> Self {
        Self {
            all: vec![
                Box::new(one_leader::OneLeader),
                Box::new(work::WorkIsAlone),
                Box::new(own_work::OwnWork),
                Box::<terms::TermsGrow>::default(),
                Box::<alternation::Alternation>::default(),
                Box::<resigned_terms::ResignedTerms>::default(),
                Box::<fencing::Fencing>::default(),
                Box::<progress::Progress>::default(),
                Box::<quiet::Quiet>::default(),
                Box::<steadiness::Steadiness>::default(),
                Box::<stops::Stops>::default(),
                Box::new(after_healing::AfterHealing),
                Box::<failover::Failover>::default(),
                Box::<succession::Succession>::default(),
                Box::<order::SuccessionOrder>::default(),
                Box::<in_line::InLine>::default(),
                Box::<claims_by_holder::ClaimsByHolder>::default(),
                Box::<fires_once::FiresOnce>::default(),
                Box::new(fires_while_leading::FiresWhileLeading),
                Box::new(runs_alone::RunsAlone),
                Box::new(follows_policy::FollowsPolicy),
                Box::<marks_grow::MarksGrow>::default(),
                Box::new(never_early::NeverEarly),
                Box::<jobs_live::JobsLive>::default(),
                Box::<counts_fired::CountsFired>::default(),
                Box::<nothing_lost::NothingLost>::default(),
                Box::<given_back_runs::GivenBackRuns>::default(),
                Box::<absent_shown::AbsentShown>::default(),
                Box::<queued_runs::QueuedRuns>::default(),
                Box::<mail_by_holder::MailByHolder>::default(),
                Box::<at_least_once::AtLeastOnce>::default(),
                Box::<messages_kept::MessagesKept>::default(),
                Box::<messages_in_order::MessagesInOrder>::default(),
                Box::new(one_delivery::OneDelivery),
                Box::<handled_once::HandledOnce>::default(),
                Box::<attempts_once::AttemptsOnce>::default(),
                Box::<messages_live::MessagesLive>::default(),
                Box::<mail_quiet::MailQuiet>::default(),
            ],
            excused: Vec::new(),
        }
    }

    /// Their names.
    pub(crate) fn names() -> Vec<&'static str> {
        Self::new().all.iter().map(|invariant| invariant.name()).collect()
    }

    /// Shows it to all. The first promise that was broken is an error; what was not promised is given back.
    pub(crate) fn see(
        &mut self,
        world: &View<'_>,
        broken: Broken,
        seen: &Occurrence<'_>,
    ) -> Result<Option<InvariantViolation>, InvariantViolation> {
        let mut unclaimed = None;
        for invariant in &mut self.all {
            let Err(message) = invariant.see(world, seen) else { continue };
            let violation = InvariantViolation { invariant: invariant.name(), message, at: world.now };
            if !broken.has_any_of(invariant.rests_on()) {
                return Err(violation);
            }
            if !self.excused.contains(&violation.invariant) {
                self.excused.push(violation.invariant);
                unclaimed = Some(violation);
            }
        }
        Ok(unclaimed)
    }
}

impl fmt::Display for InvariantViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.at as f64 / 1e9;
        write!(f, "{} is broken after {seconds:.3} s: {}", self.invariant, self.message)
    }
}
