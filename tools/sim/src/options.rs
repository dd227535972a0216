//! Everything about one run that follows from its seed before it begins.

use std::fmt;
use std::time::Duration;

use tenure_core::{Candidate, CandidateId, Drift, Priority, Timing};

use crate::clock::{MILLI, SECOND};
use crate::fault::FaultClass;
use crate::job::{self, SimJob, WallClockSpread};
use crate::kind::StoreKind;
use crate::mail::SimMail;
use crate::mistake::Mistake;
use crate::rng::SimRng;
use crate::words::name;

/// One run.
#[derive(Debug, Clone)]
pub struct SimOptions {
    /// From which all chance follows.
    pub seed: u64,
    /// What the store is like.
    pub kind: StoreKind,
    /// Who stands in the election.
    pub candidates: Vec<SimCandidate>,
    /// What whoever leads does at certain times.
    pub jobs: Vec<SimJob>,
    /// What whoever leads is sent, if anything.
    pub mail: Option<SimMail>,
    /// How far wall clocks are apart.
    pub walls: WallClockSpread,
    /// What goes wrong.
    pub faults: Vec<FaultClass>,
    /// How long a message usually takes at most, in nanoseconds.
    pub latency: u64,
    /// How many of a thousand messages are hit by each fault that hits messages.
    pub permille: u32,
    /// The mean time between two faults of a class, in nanoseconds.
    pub pace: u64,
    /// How long faults last, in nanoseconds.
    pub turmoil: u64,
    /// The mistake that is made on purpose.
    pub mistake: Option<Mistake>,
}

/// One candidate.
#[derive(Debug, Clone)]
pub struct SimCandidate {
    /// What the elector is told of it.
    pub candidate: Candidate,
    /// Where its work runs.
    pub style: WorkStyle,
}

/// The stream of chance for faults that are drawn apart.
const APART: u64 = 200;

/// Where work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkStyle {
    /// In the candidate's own process, and stands still with it.
    Library,
    /// In a process of its own, with a guard that ends it in time even when the candidate stands still.
    Guarded,
}

impl SimOptions {
    /// What follows from the seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut rng = SimRng::of(seed, 0);
        let kind = rng.pick(&StoreKind::ALL);
        let ttl = rng.pick(&[SECOND, 3 * SECOND, 3 * SECOND, 5 * SECOND, 15 * SECOND]);
        let count = 2 + rng.index(4);
        let mixed = rng.percent(25);
        let same_label = rng.percent(15);
        let mut candidates = Vec::with_capacity(count);
        for index in 0..count {
            let ttl = if mixed { ttl * rng.between(1, 3) } else { ttl };
            let label = if same_label && index == 1 { 0 } else { index };
            candidates.push(SimCandidate::of(&mut rng, label, ttl));
        }
        // Anybody can be answered in time, if nothing goes wrong.
        let patience = candidates.iter().map(|contender| contender.candidate.timing.attempt_timeout()).min();
        let fastest = u64::try_from(patience.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX) / 5;
        let latency = if kind.is_remote() { rng.pick(&[MILLI, 5 * MILLI, 40 * MILLI]) } else { MILLI };
        let mut job_chance = SimRng::of(seed, job::STREAM);
        let mut unsure_chance = SimRng::of(seed, job::STREAM + 2);
        let mut apart = SimRng::of(seed, APART);
        let mut is_present = |fault: &FaultClass| {
            let rng = match fault {
                // Decided apart, so that runs without it are what they were before it was thought of.
                FaultClass::UnsureGrants => &mut unsure_chance,
                fault if fault.concerns_jobs() => &mut job_chance,
                fault if fault.is_apart() => &mut apart,
                _ => &mut rng,
            };
            rng.percent(fault.percent()) && fault.befalls(kind)
        };
        let faults = FaultClass::ALL.into_iter().filter(&mut is_present).collect();
        Self {
            seed,
            kind,
            mail: SimMail::of(seed, kind, candidates.len(), ttl),
            candidates,
            jobs: SimJob::all_of(&mut job_chance, kind),
            walls: WallClockSpread::of(&mut job_chance),
            faults,
            latency: latency.min(fastest),
            permille: rng.pick(&[10, 50, 150]),
            pace: rng.pick(&[2, 4, 8, 16, 64]) * ttl,
            turmoil: rng.between(6, 30) * ttl,
            mistake: None,
        }
    }

    /// Without these faults. All others happen as they would have.
    #[must_use]
    pub fn without(mut self, faults: &[FaultClass]) -> Self {
        self.faults.retain(|fault| !faults.contains(fault));
        self
    }

    /// With this mistake made.
    #[must_use]
    pub fn making(mut self, mistake: Option<Mistake>) -> Self {
        self.mistake = mistake;
        self
    }

    pub(crate) fn has(&self, fault: FaultClass) -> bool {
        self.faults.contains(&fault)
    }

    /// The longest ttl that anybody asks for.
    pub(crate) fn max_ttl(&self) -> Duration {
        self.candidates.iter().map(|contender| contender.candidate.timing.ttl()).max().unwrap_or_default()
    }
}

impl SimCandidate {
    fn of(rng: &mut SimRng, label: usize, ttl: u64) -> Self {
        let ttl = Duration::from_nanos(ttl);
        // The derived timing, or one that has as much grace as fits.
        let timing = if rng.percent(50) {
            Timing::from_ttl(ttl)
        } else {
            Timing::builder(ttl).renew_every(ttl / 6).grace(ttl / 6).drift(Drift::ONE_NINTH).build()
        };
        let priority = if rng.percent(80) { Priority::MAX } else { Priority::new(7).unwrap_or_default() };
        let style = rng.pick(&[WorkStyle::Library, WorkStyle::Guarded]);
        let id = CandidateId::new(name(label).to_string()).expect("a letter is a valid id");
        let timing = timing.expect("the ttl is in range and the interval fits");
        Self { candidate: Candidate { id, timing, priority, health_within: None }, style }
    }
}

impl fmt::Display for SimOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  seed        {}", self.seed)?;
        writeln!(f, "  store       {}", self.kind)?;
        for SimCandidate { candidate, style } in &self.candidates {
            let timing = &candidate.timing;
            writeln!(
                f,
                "  candidate   {}: ttl {:?}, renews every {:?}, gives up after {:?}, grace {:?}, reaction {:?}, \
                 priority {}, {style:?}",
                candidate.id,
                timing.ttl(),
                timing.renew_every(),
                timing.attempt_timeout(),
                timing.grace(),
                timing.reaction(),
                candidate.priority.level(),
            )?;
        }
        for job in &self.jobs {
            writeln!(f, "  {job}")?;
        }
        if let Some(mail) = &self.mail {
            writeln!(f, "  messages    {mail}")?;
        }
        writeln!(f, "  wall clocks {:?}", self.walls)?;
        let faults: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        writeln!(f, "  faults      {}", faults.join(", "))?;
        let [latency, pace, turmoil] = [self.latency, self.pace, self.turmoil].map(Duration::from_nanos);
        writeln!(f, "  network     up to {latency:?}, {} of 1,000 messages hit", self.permille)?;
        write!(f, "  turmoil     {turmoil:?}, a fault of each class about every {pace:?}")?;
        match self.mistake {
            Some(mistake) => write!(f, "\n  mutant      {mistake}"),
            None => Ok(()),
        }
    }
}
