//! Processes that play a part in a test: the test program itself, started once more.
//!
//! Nothing else can be relied on to be installed and to read `CLOCK_BOOTTIME`.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// Names the part that a test program plays, if it plays any.
const ROLE: &str = "TENURE_TEST_ROLE";

/// The command that plays this part. Test programs must have named it with [`roles!`](crate::roles).
#[must_use]
pub fn command(role: &str) -> Vec<OsString> {
    played_by(&env::current_exe().unwrap(), role)
}

/// The same with a copy of the test program, for users who may not see where it was built.
#[must_use]
pub fn played_by(program: &Path, role: &str) -> Vec<OsString> {
    let program = program.as_os_str().to_owned();
    vec!["env".into(), format!("{ROLE}={role}").into(), program, "role".into(), "--exact".into(), "--nocapture".into()]
}

/// Plays the part that this program was started for. As an ordinary test it checks that a part nobody wrote is refused,
/// since a process that silently did nothing would let tests pass.
pub fn enter(roles: &[(&str, fn())]) {
    let Ok(role) = env::var(ROLE) else { return refuses_what_it_does_not_know() };
    let (_, play) = roles.iter().find(|(name, _)| *name == role).unwrap_or_else(|| panic!("no such role: {role}"));
    play();
}

fn refuses_what_it_does_not_know() {
    let words = command("nobody");
    let status = Command::new(&words[0]).args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(!status.unwrap().success(), "a role that nobody wrote was played");
}

/// Names the parts that a test program can play, in its `main.rs`: `roles! { "worker" => work }`.
#[macro_export]
macro_rules! roles {
    ($($name:literal => $play:expr),+ $(,)?) => {
        #[test]
        fn role() {
            $crate::role::enter(&[$(($name, $play)),+]);
        }
    };
}
