//! Whatever happens to an elector, at whatever time. The checks themselves are in `world/monitor.rs`.

use tenure_fuzz::{Fuzz, InputTape};

use super::world::{Monitor, failed};
use super::*;

/// An input is a tape: a candidate first, then what happens to it.
#[test]
fn fuzz_elector() {
    Fuzz::target("elector").cases(5_000).run(|input| {
        let mut tape = InputTape::new(input);
        let mut stage = FuzzedElector::new(candidate(&mut tape));
        for _ in 0..MAX_STEPS {
            if tape.is_at_end() {
                break;
            }
            stage.step(&mut tape);
        }
        stage.leave();
    });
}

/// One elector on a clock that does what it likes.
struct FuzzedElector {
    elector: Elector,
    monitor: Monitor,
    now: Instant,
    /// The clock of the elector, which never goes back.
    latest: Instant,
    timeout: Option<Instant>,
    sent: Vec<Request>,
    /// How many nonces were drawn.
    drawn: u128,
}

impl FuzzedElector {
    fn new(candidate: Candidate) -> Self {
        let (elector, monitor) = (Elector::new(candidate), Monitor::default());
        Self { elector, monitor, now: Instant::ZERO, latest: Instant::ZERO, timeout: None, sent: Vec::new(), drawn: 0 }
    }

    fn step(&mut self, tape: &mut InputTape<'_>) {
        match tape.byte() % 8 {
            0 => self.now = self.now + ms(u64::from(tape.short())),
            1 => self.now = Instant::from_nanos(tape.number()),
            2 => self.now = self.timeout.unwrap_or(self.now),
            _ => {}
        }
        self.now = self.now.min(CLOCK_END);
        let input = self.input(tape);
        // Whatever else chance brings, it does not bring a nonce twice.
        self.drawn += 1;
        let nonce = Nonce::from_bits(self.drawn << 8 | u128::from(tape.byte()));
        self.feed(input, Draw { nonce, spread: tape.word() });
    }

    fn input(&mut self, tape: &mut InputTape<'_>) -> Input {
        match tape.byte() % 16 {
            0 | 1 => Input::Start,
            2 | 3 => Input::Timeout,
            4 => Input::Hint,
            5 => Input::Opportunity,
            6 => {
                Input::Resign { term: tape.flag().then(|| a_term(tape)), successor: tape.flag().then(|| a_name(tape)) }
            }
            7 => Input::WorkEnded { term: a_term(tape) },
            8 => Input::WorkEnded { term: self.monitor.running().unwrap_or(term(1)) },
            9 => Input::Health { healthy: tape.flag() },
            10 if tape.once_in(4) => Input::Stop,
            11 => Input::Reply { request: self.any_request(tape), reply: any_reply(tape) },
            // Mostly an answer to what was asked last.
            _ => match self.sent.last().cloned() {
                Some(request) => Input::Reply { request: request.id, reply: reply_to(&request.verb, tape) },
                None => Input::Start,
            },
        }
    }

    /// Often one that was asked only just now, or will be asked next.
    fn any_request(&self, tape: &mut InputTape<'_>) -> RequestId {
        let last = self.sent.last().map_or(0, |request| request.id.0);
        RequestId(if tape.flag() { tape.number() } else { last.saturating_add(u64::from(tape.byte() % 3)) })
    }

    fn feed(&mut self, input: Input, draw: Draw) {
        self.latest = self.latest.max(self.now);
        self.monitor.before(self.latest, &input);
        self.elector.handle(self.now, input, draw);
        let mut outputs = Vec::new();
        self.timeout = loop {
            let output = self.elector.poll_output();
            if let Output::Timeout(at) = output {
                break at;
            }
            outputs.push(output);
            assert!(outputs.len() < 20, "it does not stop talking: {outputs:?}");
        };
        self.monitor.after(self.latest, &self.elector, &outputs, self.timeout);
        self.sent.extend(requests(&outputs));
    }

    /// Whatever has happened, leaving takes only so many steps.
    fn leave(&mut self) {
        let draw = Draw { nonce: Nonce::from_bits(0), spread: 0 };
        self.feed(Input::Stop, draw);
        for _ in 0..MAX_LEAVING_STEPS {
            match (self.elector.phase(), self.timeout) {
                (ElectorPhase::Stopped, _) => return,
                (_, Some(at)) => self.now = at,
                (_, None) => {}
            }
            let ended = self.monitor.running().map(|term| Input::WorkEnded { term });
            self.feed(ended.unwrap_or(Input::Timeout), draw);
        }
        panic!("it does not leave: {:?}", self.elector);
    }
}

fn candidate(tape: &mut InputTape<'_>) -> Candidate {
    let mut duration = || Duration::from_nanos(tape.number());
    let wild =
        Timing::builder(duration()).renew_every(duration()).attempt_timeout(duration()).grace(duration()).build();
    Candidate {
        id: id("me"),
        timing: wild.unwrap_or(timing()),
        priority: Priority::new(tape.byte() % 11).unwrap_or(Priority::MAX),
        health_within: tape.flag().then(|| Duration::from_nanos(tape.number())),
    }
}

fn any_reply(tape: &mut InputTape<'_>) -> Reply {
    let verbs =
        [Verb::Campaign { nonce: Nonce::from_bits(0) }, Verb::Renew { nonce: Nonce::from_bits(0), term: term(1) }];
    match tape.byte() % 5 {
        0 => Reply::Resign(Ok(())),
        1 => Reply::Resign(Err(a_failure(tape))),
        other => reply_to(&verbs[usize::from(other % 2)], tape),
    }
}

fn reply_to(verb: &Verb, tape: &mut InputTape<'_>) -> Reply {
    if tape.once_in(8) {
        return failed(verb, a_failure(tape));
    }
    match verb {
        Verb::Campaign { .. } if tape.flag() => Reply::Campaign(Ok(CampaignReply::Granted { term: a_term(tape) })),
        Verb::Campaign { .. } => {
            let leader = tape.flag().then(|| Leader {
                candidate: a_name(tape),
                term: a_term(tape),
                since_unix_ms: Some(tape.number()),
                metadata: Metadata::default(),
            });
            let remaining = if tape.byte() == 0 { Duration::MAX } else { Duration::from_nanos(tape.number()) };
            held_by(leader, remaining, tape.word())
        }
        Verb::Renew { .. } if tape.once_in(4) => {
            let current = tape.flag().then(|| a_term(tape));
            Reply::Renew(Ok(RenewReply::NotHolder { current }))
        }
        Verb::Renew { .. } => {
            let handover = tape.once_in(8).then(|| Handover { successor: tape.flag().then(|| a_name(tape)) });
            Reply::Renew(Ok(RenewReply::Renewed { handover }))
        }
        Verb::Resign { .. } => Reply::Resign(Ok(())),
    }
}

fn a_failure(tape: &mut InputTape<'_>) -> WriteOutcome {
    tape.pick(&[
        WriteOutcome::Refused,
        WriteOutcome::NotSent,
        WriteOutcome::Unknown,
        WriteOutcome::Replaced,
        WriteOutcome::Unusable,
    ])
}

/// Often a small one, so that terms meet again.
fn a_term(tape: &mut InputTape<'_>) -> Term {
    let number = if tape.flag() { u64::from(tape.byte()) } else { tape.number() };
    Term::new(number).unwrap_or(term(1))
}

fn a_name(tape: &mut InputTape<'_>) -> CandidateId {
    id(tape.pick(&["me", "rival", "other"]))
}

const MAX_STEPS: usize = 100;
/// Two centuries and a half: no clock shows more, and beyond it deadlines would meet the end of time.
const CLOCK_END: Instant = Instant::from_nanos(1 << 63);
/// Two attempts to resign, each with its timeout, after the work was told to stop and was killed.
const MAX_LEAVING_STEPS: usize = 12;
