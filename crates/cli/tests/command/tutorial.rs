//! `docs/tutorial.md`, walked through to the letter: its lines are typed into shells, and its programs are compiled and run.

use std::fs;
use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};

use rustix::process::Signal;
use tenure_testkit::ports::free_port;
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::Scenario;

use crate::migrate::POSTGRES;
use crate::pages::{blocks, tree};
use crate::support::{scenario_without_store, tenure};

/// The one line that is not run: what it installs is what this program was built with.
const INSTALLATION: &str = "cargo install --locked --profile dist --path crates/cli\n";

/// The fenced blocks of the page in this language, in order.
fn page(language: &str) -> Vec<String> {
    let blocks = blocks().into_iter().filter(|block| block.page == "docs/tutorial.md" && block.language == language);
    blocks.map(|block| block.text).collect()
}

/// A shell that is typed into.
struct Terminal {
    shell: RunningProcess,
    keyboard: ChildStdin,
}

impl Terminal {
    fn open(scenario: &Scenario) -> Self {
        let path = format!("{}:{}", tenure().parent().unwrap().display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("bash");
        for (name, value) in scenario.bare::<&str>([]).get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.env("PATH", path).current_dir(scenario.path("")).stdin(Stdio::piped());
        let mut shell = RunningProcess::start(&mut shell);
        let keyboard = shell.child().stdin.take().unwrap();
        Self { shell, keyboard }
    }

    fn enter(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until a command prints this.
    fn shows(&self, words: &str) {
        self.shell.stdout().find(words, |line| line.contains(words).then_some(()));
    }

    /// Waits until `tenure` says this of itself.
    fn tells(&self, words: &str) {
        self.shell.stderr().find(words, |line| line.contains(words).then_some(()));
    }

    fn jobs(&mut self) -> Vec<ProcessHandle> {
        ProcessHandle::open(i32::try_from(self.shell.child().id()).unwrap()).children()
    }

    fn control_c(&mut self) {
        for job in self.jobs() {
            job.signal(Signal::INT);
            job.await_end("the command in the foreground");
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.jobs().iter().for_each(|job| job.signal(Signal::TERM));
    }
}

#[test]
fn its_lines_do_what_it_says() {
    let sh: [String; 13] = page("sh").try_into().unwrap();
    let [build, choose, alpha, beta, look, crash, alpha_again, resign, stop, history, redis, on_redis, on_postgres] =
        sh;
    let scenario = scenario_without_store();
    let [mut first, mut second, mut third] = [(); 3].map(|()| Terminal::open(&scenario));

    third.enter(build.strip_prefix(INSTALLATION).unwrap());
    third.shows("all checks passed");

    for terminal in [&mut first, &mut second, &mut third] {
        terminal.enter(&choose);
    }
    first.enter(&alpha);
    first.tells("leading hello, term 1");
    first.shows("leading, term 1");
    second.enter(&beta);
    second.tells("standing by for hello; alpha leads");
    third.enter(&look);
    third.shows("STANDING BY");
    third.shows("hello: alpha leads, term 1");

    first.enter(&crash);
    third.shows("alpha lost term 1: died");
    third.shows("beta leads, term 2");
    second.shows("leading, term 2");

    assert_eq!(alpha_again, alpha);
    first.enter(&alpha_again);
    first.tells("standing by for hello; beta leads");
    third.control_c();
    third.enter(&resign);
    first.shows("leading, term 3");
    first.enter(&stop);
    second.shows("leading, term 4");
    third.enter(&history);
    for reason in ["stopped", "requested", "died", "granted"] {
        third.shows(reason);
    }
    second.control_c();

    more_than_one_machine(&scenario, [&redis, &on_redis, &on_postgres]);
}

/// The same lines with servers of the test in the place of those at the usual ports, which may be somebody's.
fn more_than_one_machine(scenario: &Scenario, [redis, on_redis, on_postgres]: [&str; 3]) {
    let (port, database) = (free_port().to_string(), POSTGRES.new_database());
    let [mut server, mut redis_user, mut postgres_user] = [(); 3].map(|()| Terminal::open(scenario));
    server.enter(&replaced(redis, "6379", &port));
    server.shows("Ready to accept connections");
    redis_user.enter(&replaced(on_redis, "6379", &port));
    redis_user.shows("promise: redis");
    redis_user.shows("leading, term ");
    redis_user.control_c();
    postgres_user.enter(&replaced(on_postgres, "postgres://127.0.0.1/shop", &format!("'{}'", database.url())));
    postgres_user.shows(": created the schema, version ");
    postgres_user.shows("promise: postgres");
    server.control_c();
}

fn replaced(block: &str, usual: &str, ours: &str) -> String {
    assert_eq!(block.matches(usual).count(), 1, "{usual} in {block}");
    block.replace(usual, ours)
}

/// The programs are run with the documentation of the library, the test is one of the library's.
#[test]
fn its_programs_are_those_that_are_tested() {
    let [_program, _async_program, test]: [String; 3] = page("rust").try_into().unwrap();
    let library = fs::read_to_string(tree().join("crates/tenure/src/lib.rs")).unwrap();
    assert!(library.contains(r#"#[doc = include_str!("../../../docs/tutorial.md")]"#), "its blocks are not compiled");
    let compiled = fs::read_to_string(tree().join("crates/tenure/tests/tutorial.rs")).unwrap();
    let (_, compiled) = compiled.split_once("\n\n").unwrap();
    assert_eq!(test, compiled, "step 6 is not what crates/tenure/tests/tutorial.rs runs");
    for dependency in page("toml") {
        let (_, path) = dependency.split_once("path = \"../tenure/").unwrap();
        let (path, _) = path.split_once('"').unwrap();
        assert!(tree().join(path).join("Cargo.toml").is_file(), "{dependency}");
    }
}
