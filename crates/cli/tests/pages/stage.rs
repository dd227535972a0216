//! A directory in which the lines of a page find what they name: `tenure`, the reader's own programs, and servers.

use std::cell::OnceCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use tenure_testkit::ports::free_port;
use tenure_testkit::postgres::{APP, APP_PASSWORD, PostgresDatabase, PostgresOptions, PostgresServer};
use tenure_testkit::redis::RedisServer;
use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::Scenario;
use tenure_testkit::stores::Sqlite;

use crate::terminal::Terminal;

static POSTGRES: LazyLock<PostgresServer> =
    LazyLock::new(|| PostgresServer::start_with(PostgresOptions::default().role(APP, APP_PASSWORD)));

/// Shared: the pages use different keys.
pub(crate) static REDIS: LazyLock<RedisServer> = LazyLock::new(RedisServer::start);

/// What stands for an address in the directory of a test.
type LocalAddress = fn(&Stage) -> String;

/// How the pages write an address, and where it leads here. This is the only place that knows.
const ADDRESSES: &[(&str, LocalAddress)] = &[
    ("redis://127.0.0.1:6379", |_| REDIS.url()),
    ("redis-cli ", |_| format!("redis-cli -p {} ", REDIS.port())),
    ("postgres://admin@db.example/shop", |stage| stage.database().url()),
    ("postgres://127.0.0.1/shop", |stage| stage.database().url()),
    ("postgres+advisory://db.example/shop", |stage| {
        stage.database().url().replacen("postgres", "postgres+advisory", 1)
    }),
    (" 9095 ", |stage| format!(" {} ", stage.port)),
    ("http://127.0.0.1:9095/", |stage| format!("http://127.0.0.1:{}/", stage.port)),
    ("cargo run -- ", |_| "tenure ".to_owned()),
];

/// The lines of a block, each to be typed by itself.
pub(crate) fn lines<const N: usize>(block: &str) -> [String; N] {
    let lines: Vec<String> = block.lines().map(str::to_owned).collect();
    lines.try_into().unwrap_or_else(|lines: Vec<String>| panic!("{N} lines are not these: {lines:#?}"))
}

/// A directory of a test, with a database of its own on a server that all share.
pub(crate) struct Stage {
    scenario: Scenario,
    database: OnceCell<PostgresDatabase<'static>>,
    port: u16,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_tenure"));
        Self { scenario: Scenario::new(&Sqlite, program), database: OnceCell::new(), port: free_port() }
    }

    /// A file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scenario.path(name)
    }

    /// Where the addresses of PostgreSQL lead.
    pub(crate) fn database(&self) -> &PostgresDatabase<'static> {
        self.database.get_or_init(|| POSTGRES.new_database())
    }

    /// Puts a program of the reader's there, which a page names as `./name`.
    pub(crate) fn program(&self, name: &str, script: &str) {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A block of a page with the addresses of this test.
    pub(crate) fn here(&self, block: &str) -> String {
        let mut text = block.to_owned();
        for (written, ours) in ADDRESSES {
            if text.contains(written) {
                text = text.replace(written, &ours(self));
            }
        }
        assert!(!text.contains(".example"), "{text} leads to somebody else");
        text
    }

    /// A shell in it that reads what is typed.
    pub(crate) fn terminal(&self) -> Terminal {
        Terminal::open(self.bash())
    }

    /// What this script does when it is given this term.
    pub(crate) fn run_under(&self, term: u32, script: &str) -> FinishedProcess {
        RunningProcess::start(self.bash().env("TENURE_TERM", term.to_string()).args(["-c", script])).finish()
    }

    /// What this script does.
    pub(crate) fn run(&self, script: &str) -> FinishedProcess {
        RunningProcess::start(self.bash().args(["-c", script])).finish()
    }

    /// What this script, which has to succeed, prints.
    pub(crate) fn does(&self, script: &str) -> String {
        let finished = self.run(script);
        assert_eq!(finished.code, Some(0), "{script}: {finished:?}");
        finished.stdout
    }

    pub(crate) fn bash(&self) -> Command {
        let directory = Path::new(env!("CARGO_BIN_EXE_tenure")).parent().unwrap();
        let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("bash");
        for (name, value) in self.scenario.bare::<&str>([]).get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.env("PATH", path).current_dir(self.path("")).stdin(Stdio::null());
        shell
    }
}
