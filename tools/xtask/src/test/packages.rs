//! Installs the system packages that the other parts need, so that no test has to skip for want of one.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::job::RunningPart;

/// Probes for each requirement, installs what is missing, and probes again.
pub(crate) fn run(job: &mut RunningPart<'_>) -> Result<(), String> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|requirement| requirement.package).collect();
    let prefix = InstallRights::probe().prefix(&packages)?;
    for requirement in &missing {
        job.announce(&format!("installing {}: {}", requirement.package, requirement.why));
    }
    install(job, prefix, &packages)?;
    match self::missing().first() {
        None => Ok(()),
        Some(requirement) => Err(format!(
            "installed {}, but it is still not usable; it is needed because {}",
            requirement.package, requirement.why
        )),
    }
}

/// A row of the table: how to see that it is there, what to install, and what it is for.
struct Requirement {
    probe: Probe,
    package: &'static str,
    why: &'static str,
}

/// Looks for the thing itself and not for the package, because other systems bring it in other ways.
enum Probe {
    /// A program on the search path.
    Command(&'static str),
    /// A program that Debian keeps where only servers look for it.
    Server(&'static str),
    /// A header that the C compiler finds.
    Header(&'static str),
}

const REQUIREMENTS: &[Requirement] = &[
    Requirement {
        probe: Probe::Command("cc"),
        package: "gcc",
        why: "the embedded SQLite, and a clock for tests, are compiled from C",
    },
    Requirement {
        probe: Probe::Header("stdlib.h"),
        package: "libc6-dev",
        why: "the embedded SQLite needs the C library's headers",
    },
    Requirement {
        probe: Probe::Command("git"),
        package: "git",
        why: "the repository test reads the list of tracked files",
    },
    Requirement { probe: Probe::Command("curl"), package: "curl", why: "the pages read metrics with it" },
    Requirement { probe: Probe::Command("flock"), package: "util-linux", why: "the pages lock files with it" },
    Requirement { probe: Probe::Command("ip"), package: "iproute2", why: "tests cut the links of network namespaces" },
    Requirement { probe: Probe::Command("jq"), package: "jq", why: "the pages read events with it" },
    Requirement { probe: Probe::Command("openssl"), package: "openssl", why: "tests make certificates" },
    Requirement {
        probe: Probe::Server("pgbouncer"),
        package: "pgbouncer",
        why: "tests share connections to PostgreSQL",
    },
    Requirement { probe: Probe::Server("initdb"), package: "postgresql", why: "tests start PostgreSQL servers" },
    Requirement { probe: Probe::Command("psql"), package: "postgresql-client", why: "the pages run SQL with it" },
    Requirement { probe: Probe::Command("python3"), package: "python3", why: "the pages read a clock with it" },
    Requirement {
        probe: Probe::Command("promtool"),
        package: "prometheus",
        why: "tests let Prometheus read metrics and run alert rules",
    },
    Requirement { probe: Probe::Command("redis-cli"), package: "redis-tools", why: "the pages run scripts with it" },
    Requirement { probe: Probe::Command("redis-server"), package: "redis-server", why: "tests start Redis servers" },
    Requirement { probe: Probe::Command("sqlite3"), package: "sqlite3", why: "the pages copy and fence files with it" },
    Requirement {
        probe: Probe::Command("systemd-analyze"),
        package: "systemd",
        why: "tests verify the unit of a page",
    },
    Requirement { probe: Probe::Command("valkey-server"), package: "valkey-server", why: "tests start Valkey servers" },
];

fn missing() -> Vec<&'static Requirement> {
    REQUIREMENTS.iter().filter(|requirement| !requirement.probe.is_present()).collect()
}

impl Probe {
    fn is_present(&self) -> bool {
        match self {
            Self::Command(name) => is_on_path(name),
            Self::Server(name) => is_on_path(name) || is_among_servers(name),
            Self::Header(name) => compiler_finds(name),
        }
    }
}

fn is_on_path(name: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}

fn is_among_servers(name: &str) -> bool {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = versions.map(|version| version.path().join("bin"));
    folders.chain([PathBuf::from("/usr/sbin")]).any(|folder| folder.join(name).is_file())
}

fn compiler_finds(header: &str) -> bool {
    let mut compiler = Command::new("cc");
    compiler.args(["-E", "-x", "c", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = compiler.spawn() else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        // When this fails the compiler has given up already, and its exit code says so.
        let _ = writeln!(stdin, "#include <{header}>");
    }
    child.wait().is_ok_and(|status| status.success())
}

/// What this machine and user allow.
struct InstallRights {
    has_apt: bool,
    is_root: bool,
    has_sudo: bool,
}

impl InstallRights {
    fn probe() -> Self {
        let user = Command::new("id").arg("-u").output();
        let sudo = Command::new("sudo").args(["-n", "true"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        Self {
            has_apt: is_on_path("apt-get"),
            is_root: user.is_ok_and(|output| output.stdout.trim_ascii() == b"0"),
            has_sudo: sudo.is_ok_and(|status| status.success()),
        }
    }

    /// What to put before a command for root, or the sentence that asks for an installation by hand.
    fn prefix(&self, packages: &[&str]) -> Result<&'static [&'static str], String> {
        let by_hand = |reason| Err(format!("{reason}; install these packages by hand: {}", packages.join(" ")));
        match self {
            Self { has_apt: false, .. } => by_hand("there is no apt-get here"),
            Self { is_root: true, .. } => Ok(&[]),
            Self { has_sudo: true, .. } => Ok(&["sudo", "-n"]),
            Self { .. } => by_hand("only root, or a user whose sudo asks for no password, can install packages"),
        }
    }
}

fn install(job: &mut RunningPart<'_>, prefix: &[&str], packages: &[&str]) -> Result<(), String> {
    let words = [prefix, &["sh", SCRIPT], packages].concat();
    job.command(Command::new(words[0]).args(&words[1..])).map(drop)
}

/// Below the workspace's root.
const SCRIPT: &str = "tools/xtask/src/test/install.sh";

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: InstallRights = InstallRights { has_apt: true, is_root: false, has_sudo: false };

    #[test]
    fn root_needs_no_sudo_and_others_use_it() {
        assert!(InstallRights { is_root: true, ..NOBODY }.prefix(&["gcc"]).unwrap().is_empty());
        assert_eq!(InstallRights { has_sudo: true, ..NOBODY }.prefix(&["gcc"]).unwrap(), ["sudo", "-n"]);
    }

    #[test]
    fn without_the_means_one_sentence_names_the_packages() {
        assert!(NOBODY.prefix(&["gcc", "git"]).unwrap_err().ends_with("by hand: gcc git"));
        let elsewhere = InstallRights { has_apt: false, is_root: true, has_sudo: true };
        assert!(elsewhere.prefix(&["gcc"]).unwrap_err().contains("no apt-get"));
    }

    #[test]
    fn probes_tell_present_from_absent() {
        assert!(Probe::Command("sh").is_present());
        assert!(!Probe::Command("no-such-command").is_present());
        assert!(!Probe::Server("no-such-server").is_present());
        assert!(Probe::Header("stdlib.h").is_present());
        assert!(!Probe::Header("no_such_header.h").is_present());
    }
}
