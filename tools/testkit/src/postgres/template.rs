//! The data of a server that has never run. Making it takes most of a second, and copying it does not.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::process::geteuid;
use tempfile::TempDir;

use super::account::UnprivilegedUser;
use super::programs::program;
use super::{PASSWORD, ROLE};
use crate::scratch::Scratch;

/// Gives a new server its data, in a directory that is not there yet.
pub(super) fn copy_to(data: &Path) {
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    UnprivilegedUser::of_servers().copy(TEMPLATE.get_or_init(find_or_make), data);
}

/// Makes it once for all test programs of a build. What another user has made cannot be read, and what another version of
/// the server or of this file has made is not used.
fn find_or_make() -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (version(), include_str!("template.rs"), ROLE, PASSWORD, geteuid().as_raw()).hash(&mut hasher);
    let kept = Path::new(env!("OUT_DIR")).join(format!("postgres-{:016x}", hasher.finish()));
    if !kept.exists() {
        let made = make();
        let copied = TempDir::new_in(env!("OUT_DIR")).unwrap();
        UnprivilegedUser::Oneself.copy(&made.path().join(DATA), &copied.path().join(DATA));
        // As a whole or not at all. Another test program may have been faster, with the same result.
        if let Err(error) = fs::rename(copied.path().join(DATA), &kept) {
            assert!(kept.exists(), "{} cannot be made: {error}", kept.display());
        }
    }
    kept
}

fn version() -> String {
    let output = Command::new(program("postgres")).arg("--version").output();
    let output = output.unwrap_or_else(|error| panic!("no PostgreSQL ({error}); `cargo xtask test` installs it"));
    let words = String::from_utf8(output.stdout).unwrap();
    words.split_whitespace().nth(2).unwrap_or_else(|| panic!("no version in {words:?}")).to_owned()
}

fn make() -> Scratch {
    let (account, scratch) = (UnprivilegedUser::of_servers(), Scratch::new());
    account.own(scratch.path());
    account.let_pass(scratch.path());
    let data = scratch.path().join(DATA);
    let mut initdb = account.command(&program("initdb"));
    initdb.args(["--no-sync", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"]);
    run(initdb.arg("--wal-segsize=1").arg("--pgdata").arg(&data), "");
    let mut alone = account.command(&program("postgres"));
    alone.args(["--single", "-c", "fsync=off", "-D"]).arg(&data).arg("postgres");
    // One statement in a line. A database that nobody needs would be a third of all files that are copied.
    let statements = [
        &format!("CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}';"),
        &format!("ALTER DATABASE postgres OWNER TO {ROLE};"),
        "ALTER DATABASE template0 IS_TEMPLATE false;",
        "DROP DATABASE template0;",
    ];
    run(&mut alone, &(statements.join("\n") + "\n"));
    scratch
}

fn run(command: &mut Command, input: &str) {
    command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // One that runs alone goes on after an error.
    assert!(output.status.success() && !said.contains("ERROR"), "{command:?}: {said}");
}

const DATA: &str = "data";
