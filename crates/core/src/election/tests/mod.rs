//! One file per input, then properties over all of them. Every test runs on [`ElectorBench`]: an elector and its clock.

mod begin_anew;
mod fuzz_elector;
mod health;
mod hint;
mod line;
mod opportunity;
mod properties;
mod reply_to_campaign;
mod reply_to_renew;
mod reply_to_resign;
mod resign;
mod start;
mod stop;
mod timeout;
mod work_ended;
mod world;

use std::time::Duration;

use crate::election::state::State;
use crate::*;

/// An elector on a bench: it is fed inputs at chosen instants, and every feeding gives back what it asked for.
#[derive(Debug, Clone)]
struct ElectorBench {
    elector: Elector,
    now: Instant,
    /// The instant of the last `Output::Timeout`.
    timeout: Option<Instant>,
    /// The nonce of the last draw; every call draws another.
    drawn: u128,
    /// The chance of every call.
    spread: u32,
}

impl ElectorBench {
    /// A candidate that has not been started. It begins at second 100, so that no arithmetic saturates at zero.
    fn idle(change: impl FnOnce(&mut Candidate)) -> Self {
        let mut candidate = Candidate { id: id("me"), timing: timing(), priority: Priority::MAX, health_within: None };
        change(&mut candidate);
        Self { elector: Elector::new(candidate), now: Instant::ZERO + s(100), timeout: None, drawn: 0, spread: 0 }
    }

    /// Started, with a campaign under way that was sent just now.
    fn campaigning() -> (Self, Request) {
        Self::campaigning_as(|_| ())
    }

    fn campaigning_as(change: impl FnOnce(&mut Candidate)) -> (Self, Request) {
        let mut bench = Self::idle(change);
        let request = only_request(&bench.feed(Input::Start));
        (bench, request)
    }

    /// Knows that `rival` leads under term 4 for another ten seconds.
    fn following() -> Self {
        Self::following_as(|_| ())
    }

    fn following_as(change: impl FnOnce(&mut Candidate)) -> Self {
        let (mut bench, request) = Self::campaigning_as(change);
        bench.reply(request.id, held(4, s(10)));
        bench
    }

    /// Leads under term 5, granted in no time.
    fn leading() -> Self {
        Self::leading_as(|_| ())
    }

    fn leading_as(change: impl FnOnce(&mut Candidate)) -> Self {
        let (mut bench, request) = Self::campaigning_as(change);
        bench.reply(request.id, granted(5));
        assert!(bench.elector.leads_under().is_some());
        bench
    }

    /// Resigned from term 5 just now; the work still runs.
    fn draining() -> Self {
        let mut bench = Self::leading();
        bench.feed(Input::Resign { term: None, successor: None });
        bench
    }

    /// Its work has ended; the release of term 5 is under way.
    fn resigning() -> (Self, Request) {
        let mut bench = Self::draining();
        let request = only_request(&bench.feed(Input::WorkEnded { term: term(5) }));
        (bench, request)
    }

    fn feed(&mut self, input: Input) -> Vec<Output> {
        self.drawn += 1;
        let draw = Draw { nonce: Nonce::from_bits(self.drawn), spread: self.spread };
        self.elector.handle(self.now, input, draw);
        let mut outputs = Vec::new();
        loop {
            let output = self.elector.poll_output();
            if let Output::Timeout(at) = output {
                self.timeout = at;
                assert!(at.is_none_or(|at| at >= self.now), "{at:?} has passed at {:?}", self.now);
                return outputs;
            }
            outputs.push(output);
            assert!(outputs.len() < 20, "it does not stop talking: {outputs:?}");
        }
    }

    fn reply(&mut self, request: RequestId, reply: Reply) -> Vec<Output> {
        self.feed(Input::Reply { request, reply })
    }

    /// Time passes without anybody looking.
    fn pass(&mut self, duration: Duration) -> &mut Self {
        self.now = self.now + duration;
        self
    }

    /// Goes to the instant the elector asked for, which must exist.
    fn wake(&mut self) -> Vec<Output> {
        self.now = self.timeout.expect("it waits for something");
        self.feed(Input::Timeout)
    }

    /// Goes from one asked-for instant to the next, up to `until`, and collects everything.
    fn run_until(&mut self, until: Instant) -> Vec<Output> {
        let mut outputs = Vec::new();
        for _ in 0..1_000 {
            match self.timeout {
                Some(at) if at <= until => outputs.extend(self.wake()),
                Some(_) | None => {
                    self.now = until;
                    return outputs;
                }
            }
        }
        panic!("it does not come to rest before {until:?}")
    }

    /// How long the elector asked to sleep.
    fn sleeps(&self) -> Option<Duration> {
        self.timeout.map(|at| at.saturating_since(self.now))
    }

    fn trust(&self) -> Trust {
        self.elector.leads_under().expect("it leads").1
    }

    fn is_following(&self) -> bool {
        matches!(self.elector.state(), State::Following(_))
    }

    fn is_draining(&self) -> bool {
        matches!(self.elector.state(), State::Draining(_))
    }
}

/// ttl 15 s, renewed every 2 s, one attempt 1 s, grace 3 s, reaction 200 ms.
fn timing() -> Timing {
    Timing::builder(s(15)).renew_every(s(2)).attempt_timeout(s(1)).grace(s(3)).reaction(ms(200)).build().unwrap()
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn id(name: &str) -> CandidateId {
    CandidateId::new(name).unwrap()
}

fn term(number: u64) -> Term {
    Term::new(number).unwrap()
}

fn leader(name: &str, number: u64) -> Leader {
    Leader { candidate: id(name), term: term(number), since_unix_ms: None, metadata: Metadata::default() }
}

fn granted(number: u64) -> Reply {
    Reply::Campaign(Ok(CampaignReply::Granted { term: term(number) }))
}

/// Held by `rival`, for the first in line.
fn held(number: u64, remaining: Duration) -> Reply {
    held_by(Some(leader("rival", number)), remaining, 0)
}

/// Reserved for a successor: nobody leads.
fn reserved(remaining: Duration) -> Reply {
    held_by(None, remaining, 0)
}

fn held_by(leader: Option<Leader>, remaining: Duration, rank: u32) -> Reply {
    Reply::Campaign(Ok(CampaignReply::Held(Held { leader, remaining, rank })))
}

fn renewed() -> Reply {
    Reply::Renew(Ok(RenewReply::Renewed { handover: None }))
}

fn not_holder(current: Option<u64>) -> Reply {
    Reply::Renew(Ok(RenewReply::NotHolder { current: current.map(term) }))
}

fn requests(outputs: &[Output]) -> Vec<Request> {
    let sent =
        outputs.iter().filter_map(|output| if let Output::Send(request) = output { Some(request) } else { None });
    sent.cloned().collect()
}

fn only_request(outputs: &[Output]) -> Request {
    let [request] = requests(outputs).try_into().unwrap_or_else(|sent| panic!("not one request but {sent:?}"));
    request
}

/// The nonce of a campaign.
fn campaign_nonce(request: &Request) -> Nonce {
    let Verb::Campaign { nonce } = request.verb else { panic!("not a campaign: {request:?}") };
    nonce
}

fn is_renew(request: &Request) -> bool {
    matches!(request.verb, Verb::Renew { .. })
}

fn is_resign(request: &Request) -> bool {
    matches!(request.verb, Verb::Resign { .. })
}

fn kill(number: u64) -> Output {
    Output::KillWork { term: term(number) }
}

fn lost(number: u64, reason: LossReason, kill_at: Instant) -> Output {
    Output::Lost { term: term(number), reason, kill_at }
}
