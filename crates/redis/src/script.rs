//! The scripts that the server runs, and calls to them.

use std::sync::LazyLock;

use redis::{Arg, Cmd, cmd};

/// One verb of the store, as a script on the server.
pub(super) struct Script {
    body: &'static str,
    sha: String,
}

macro_rules! script {
    ($($file:literal)+) => {
        LazyLock::new(|| Script::new(concat!(include_str!("lua/common.lua") $(, "\n", include_str!($file))+)))
    };
}

pub(super) static CAMPAIGN: LazyLock<Script> = script!("lua/campaign.lua");
pub(super) static RENEW: LazyLock<Script> = script!("lua/renew.lua");
pub(super) static WAKE: LazyLock<Script> = script!("lua/wake.lua");
pub(super) static RESIGN: LazyLock<Script> = script!("lua/resign.lua");
pub(super) static OBSERVE: LazyLock<Script> = script!("lua/observe.lua");
pub(super) static REQUEST_HANDOVER: LazyLock<Script> = script!("lua/request_handover.lua");
pub(super) static FORGET: LazyLock<Script> = script!("lua/forget.lua");
pub(super) static RAISE_TERMS: LazyLock<Script> = script!("lua/raise_terms.lua");
pub(super) static SEND: LazyLock<Script> = script!("lua/mailbox.lua" "lua/send.lua");
pub(super) static RECEIVE: LazyLock<Script> = script!("lua/mailbox.lua" "lua/receive.lua");
pub(super) static SETTLE: LazyLock<Script> = script!("lua/mailbox.lua" "lua/settle.lua");
pub(super) static LIST_MESSAGES: LazyLock<Script> = script!("lua/mailbox.lua" "lua/list_messages.lua");
pub(super) static COUNT_MESSAGES: LazyLock<Script> = script!("lua/mailbox.lua" "lua/count_messages.lua");
pub(super) static REQUEUE: LazyLock<Script> = script!("lua/mailbox.lua" "lua/requeue.lua");
pub(super) static OPEN_JOBS: LazyLock<Script> = script!("lua/ledger.lua" "lua/open_jobs.lua");
pub(super) static CLAIM: LazyLock<Script> = script!("lua/ledger.lua" "lua/claim.lua");
pub(super) static FINISH: LazyLock<Script> = script!("lua/ledger.lua" "lua/finish.lua");
pub(super) static LIST_JOBS: LazyLock<Script> = script!("lua/ledger.lua" "lua/list_jobs.lua");
pub(super) static STEER_JOB: LazyLock<Script> = script!("lua/ledger.lua" "lua/steer_job.lua");
pub(super) static FORGET_JOB: LazyLock<Script> = script!("lua/ledger.lua" "lua/forget_job.lua");

impl Script {
    fn new(body: &'static str) -> Self {
        let sha = redis::Script::new(body).get_hash().to_owned();
        Self { body, sha }
    }

    /// Starts a call by the script's hash. A server that does not know it says so, and has done nothing.
    pub(super) fn by_name(&self, keys: usize) -> Cmd {
        let mut command = cmd("EVALSHA");
        command.arg(&self.sha).arg(keys);
        command
    }

    /// Starts the same call with the whole script.
    pub(super) fn in_full(&self, by_name: &Cmd) -> Cmd {
        let mut command = cmd("EVAL");
        command.arg(self.body);
        for word in by_name.args_iter().skip(2) {
            if let Arg::Simple(word) = word {
                command.arg(word);
            }
        }
        command
    }
}
