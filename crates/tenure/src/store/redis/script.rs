//! The scripts that the server runs, and how one is called.

use std::sync::LazyLock;

use redis::{Cmd, cmd};

/// One verb of the store, as the server runs it.
pub(super) struct Script {
    body: &'static str,
    sha: String,
}

macro_rules! script {
    ($file:literal) => {
        LazyLock::new(|| Script::new(concat!(include_str!("lua/common.lua"), "\n", include_str!($file))))
    };
}

pub(super) static CAMPAIGN: LazyLock<Script> = script!("lua/campaign.lua");
pub(super) static RENEW: LazyLock<Script> = script!("lua/renew.lua");
pub(super) static RESIGN: LazyLock<Script> = script!("lua/resign.lua");
pub(super) static OBSERVE: LazyLock<Script> = script!("lua/observe.lua");
pub(super) static REQUEST_HANDOVER: LazyLock<Script> = script!("lua/request_handover.lua");

impl Script {
    fn new(body: &'static str) -> Self {
        let sha = redis::Script::new(body).get_hash().to_owned();
        Self { body, sha }
    }

    /// Names the script. A server that does not know it yet says so, and has done nothing.
    pub(super) fn by_name(&self, input: &Input) -> Cmd {
        input.command("EVALSHA", &self.sha)
    }

    /// Brings the whole script.
    pub(super) fn in_full(&self, input: &Input) -> Cmd {
        input.command("EVAL", self.body)
    }
}

/// The keys and arguments of one call.
#[derive(Debug, Default)]
pub(super) struct Input {
    keys: Vec<String>,
    arguments: Vec<Vec<u8>>,
}

impl Input {
    pub(super) fn key(&mut self, key: String) {
        self.keys.push(key);
    }

    pub(super) fn argument(&mut self, argument: impl Into<Vec<u8>>) {
        self.arguments.push(argument.into());
    }

    fn command(&self, verb: &str, script: &str) -> Cmd {
        let mut command = cmd(verb);
        command.arg(script).arg(self.keys.len()).arg(&self.keys).arg(&self.arguments);
        command
    }
}
