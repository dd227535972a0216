//! `cargo xtask deny`: licences, bans and sources of the dependencies.
//!
//! It is not a part of `cargo xtask test`, because cargo-deny is a tool of its own that takes minutes to build.

use std::path::Path;
use std::process::Stdio;

use crate::process;

/// Runs cargo-deny on `deny.toml`; advisories are left out because their database has to be fetched.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let probe = process::cargo().args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        return Err("cargo-deny is not installed; run `cargo install cargo-deny --locked`".to_owned());
    }
    let mut check = process::cargo();
    check.args(["deny", "--locked", "check", "licenses", "bans", "sources"]).current_dir(root);
    match check.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("a dependency breaks a rule of deny.toml".to_owned()),
        Err(error) => Err(format!("cannot run cargo deny: {error}")),
    }
}
