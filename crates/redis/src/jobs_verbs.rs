//! The commands for each operation on jobs, and their replies.

use redis::{Cmd, Value};
use tenure_store::ledger::{
    Act, Claim, Claimed, Finish, JobOrder, JobReport, MAX_EARLY, MAX_JOBS, MAX_RUNS, OpenJob, OpenJobs, Opened,
};
use tenure_store::{ElectionKey, JobName};

use super::error::RedisStoreError;
use super::jobs_reply as reply;
use super::keys::LEDGER_KEYS;
use super::lease_verbs::ScriptVerb;
use super::mailbox_verbs::pack_claim;
use super::script::{self, Script};

/// The server's scripts cannot tell larger numbers apart.
const MAX_COUNT: u64 = 1 << 53;

pub(super) struct OpenJobsVerb {
    pub(super) is_confirmed_by_replicas: bool,
}

impl ScriptVerb for OpenJobsVerb {
    type Request = OpenJobs;
    type Reply = Opened;
    const BESIDE: &'static [&'static str] = LEDGER_KEYS;

    fn script() -> &'static Script {
        &script::OPEN_JOBS
    }

    fn election(request: &OpenJobs) -> &ElectionKey {
        &request.key
    }

    fn pack_head(&self, command: &mut Cmd) {
        command.arg(MAX_JOBS).arg(flag(self.is_confirmed_by_replicas));
    }

    fn pack(&self, request: &OpenJobs, command: &mut Cmd) {
        pack_claim(request.nonce, request.term, command);
        for OpenJob { job, schedule, from } in &request.jobs {
            command.arg(job.as_str()).arg(&**schedule).arg(from.unix_s());
        }
    }

    fn read(answer: &Value) -> Result<Opened, RedisStoreError> {
        reply::opened(answer)
    }
}

pub(super) struct ClaimVerb {
    pub(super) is_confirmed_by_replicas: bool,
}

impl ScriptVerb for ClaimVerb {
    type Request = Claim;
    type Reply = Claimed;
    const BESIDE: &'static [&'static str] = LEDGER_KEYS;

    fn script() -> &'static Script {
        &script::CLAIM
    }

    fn election(request: &Claim) -> &ElectionKey {
        &request.key
    }

    fn pack_head(&self, command: &mut Cmd) {
        let max_early = u64::try_from(MAX_EARLY.as_millis()).unwrap_or(u64::MAX);
        command.arg(MAX_RUNS).arg(max_early).arg(flag(self.is_confirmed_by_replicas));
    }

    fn pack(&self, request: &Claim, command: &mut Cmd) {
        pack_claim(request.nonce, request.term, command);
        command.arg(request.candidate.as_str()).arg(request.job.as_str()).arg(request.tick.unix_s());
        command.arg(match request.act {
            Act::Run => "run",
            Act::RunAgain => "again",
            Act::Pass => "pass",
            Act::Skip => "skip",
        });
        command.arg(request.missed.min(MAX_COUNT));
    }

    fn read(answer: &Value) -> Result<Claimed, RedisStoreError> {
        reply::claimed(answer)
    }
}

pub(super) struct FinishVerb {
    pub(super) is_confirmed_by_replicas: bool,
}

impl ScriptVerb for FinishVerb {
    type Request = Finish;
    /// Whether it was recorded.
    type Reply = bool;
    const BESIDE: &'static [&'static str] = LEDGER_KEYS;

    fn script() -> &'static Script {
        &script::FINISH
    }

    fn election(request: &Finish) -> &ElectionKey {
        &request.key
    }

    fn pack_head(&self, command: &mut Cmd) {
        command.arg(flag(self.is_confirmed_by_replicas));
    }

    fn pack(&self, request: &Finish, command: &mut Cmd) {
        pack_claim(request.nonce, request.term, command);
        command.arg(request.job.as_str()).arg(request.tick.unix_s());
        command.arg(u64::try_from(request.took.as_nanos()).unwrap_or(u64::MAX));
        let (word, why) = request.outcome.to_words();
        command.arg(word).arg(why.unwrap_or_default()).arg(request.retries);
    }

    fn read(answer: &Value) -> Result<bool, RedisStoreError> {
        reply::yes_or_no(answer)
    }
}

pub(super) struct ListJobsVerb {
    pub(super) max_runs: usize,
}

impl ScriptVerb for ListJobsVerb {
    type Request = ElectionKey;
    type Reply = Vec<JobReport>;
    const BESIDE: &'static [&'static str] = LEDGER_KEYS;

    fn script() -> &'static Script {
        &script::LIST_JOBS
    }

    fn election(request: &ElectionKey) -> &ElectionKey {
        request
    }

    fn pack_head(&self, _command: &mut Cmd) {}

    fn pack(&self, _request: &ElectionKey, command: &mut Cmd) {
        command.arg(self.max_runs.min(MAX_RUNS));
    }

    fn read(answer: &Value) -> Result<Vec<JobReport>, RedisStoreError> {
        reply::jobs(answer)
    }
}

pub(super) struct SteerJobVerb<'a> {
    pub(super) job: &'a JobName,
    pub(super) order: JobOrder,
}

impl ScriptVerb for SteerJobVerb<'_> {
    type Request = ElectionKey;
    /// Whether the job was known.
    type Reply = bool;
    const BESIDE: &'static [&'static str] = LEDGER_KEYS;

    fn script() -> &'static Script {
        &script::STEER_JOB
    }

    fn election(request: &ElectionKey) -> &ElectionKey {
        request
    }

    fn pack_head(&self, _command: &mut Cmd) {}

    fn pack(&self, _request: &ElectionKey, command: &mut Cmd) {
        command.arg(self.job.as_str()).arg(self.order.as_str());
    }

    fn read(answer: &Value) -> Result<bool, RedisStoreError> {
        reply::yes_or_no(answer)
    }
}

pub(super) struct ForgetJobVerb<'a> {
    pub(super) job: &'a JobName,
}

impl ScriptVerb for ForgetJobVerb<'_> {
    type Request = ElectionKey;
    /// Whether the job was known.
    type Reply = bool;
    const BESIDE: &'static [&'static str] = LEDGER_KEYS;

    fn script() -> &'static Script {
        &script::FORGET_JOB
    }

    fn election(request: &ElectionKey) -> &ElectionKey {
        request
    }

    fn pack_head(&self, _command: &mut Cmd) {}

    fn pack(&self, _request: &ElectionKey, command: &mut Cmd) {
        command.arg(self.job.as_str());
    }

    fn read(answer: &Value) -> Result<bool, RedisStoreError> {
        reply::yes_or_no(answer)
    }
}

fn flag(is_set: bool) -> &'static str {
    if is_set { "1" } else { "0" }
}
