//! The minimum Rust version is decided once, in the workspace; every other place that states it must agree.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::job::RunningPart;
use crate::manifest;

/// Compares the workspace's version with the README, the clippy configurations and the running compiler.
pub(crate) fn run(job: &mut RunningPart<'_>) -> Result<(), String> {
    let root = job.root();
    let workspace = read(&root.join("Cargo.toml"))?;
    let stated = manifest::value(&workspace, "workspace.package", "rust-version")
        .ok_or("Cargo.toml states no rust-version in [workspace.package]")?;
    check_readme(&read(&root.join("README.md"))?, stated)?;
    // Clippy takes the version from Cargo.toml unless its own configuration overrides it.
    for path in ["clippy.toml", "crates/core/clippy.toml"] {
        check_clippy(path, &read(&root.join(path))?, stated)?;
    }
    let compiler = job.command(Command::new("rustc").arg("--version"))?;
    check_compiler(&compiler, stated)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn check_readme(readme: &str, stated: &str) -> Result<(), String> {
    let sentence = format!("Rust {stated}");
    // The text after it must not go on with the number: 1.9 is not 1.95.
    let is_whole = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_digit());
    if readme.split(&sentence).skip(1).any(is_whole) {
        return Ok(());
    }
    Err(format!("README.md must say `{sentence}`, the rust-version of Cargo.toml"))
}

fn check_clippy(path: &str, toml: &str, stated: &str) -> Result<(), String> {
    match manifest::value(toml, "", "msrv") {
        Some(other) if other != stated => {
            Err(format!("{path} says msrv {other}, but the rust-version of Cargo.toml is {stated}"))
        }
        _ => Ok(()),
    }
}

fn check_compiler(compiler: &str, stated: &str) -> Result<(), String> {
    let running = compiler.split_whitespace().nth(1).unwrap_or_default();
    match (numbers(running), numbers(stated)) {
        (Some(running), Some(stated)) if running >= stated => Ok(()),
        _ => Err(format!("the running compiler is `{}`, older than rust-version {stated}", compiler.trim())),
    }
}

/// Major, minor and patch; a suffix such as `-nightly` is dropped, an absent patch is zero.
fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut parts = version.split('-').next()?.split('.').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_must_state_the_whole_version() {
        assert!(check_readme("Needs Rust 1.95 or newer.", "1.95").is_ok());
        assert!(check_readme("Needs Rust 1.94.", "1.95").is_err());
        assert!(check_readme("Needs Rust 1.95.", "1.9").is_err());
    }

    #[test]
    fn clippy_may_be_silent_but_not_disagree() {
        assert!(check_clippy("clippy.toml", "allow-unwrap-in-tests = true\n", "1.95").is_ok());
        assert!(check_clippy("clippy.toml", "msrv = \"1.95\"\n", "1.95").is_ok());
        assert!(check_clippy("clippy.toml", "msrv = \"1.80\"\n", "1.95").unwrap_err().contains("1.80"));
    }

    #[test]
    fn an_older_compiler_is_refused() {
        assert!(check_compiler("rustc 1.95.0 (59807616e 2026-04-14)\n", "1.95").is_ok());
        assert!(check_compiler("rustc 1.100.0-nightly (x)\n", "1.95").is_ok());
        assert!(check_compiler("rustc 1.94.1 (x)\n", "1.95").is_err());
        assert!(check_compiler("nonsense", "1.95").is_err());
    }
}
