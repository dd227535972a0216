//! The command `ip`, and what it takes to use it.

use std::io;
use std::process::{Command, Stdio};

use rustix::thread::{CapabilitySet, capabilities};

/// Why there is no namespace, or why its link cannot be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetnsError {
    /// The command that does it is not there.
    #[error("cannot run `ip`, which the package iproute2 brings: {0}")]
    NoCommand(#[source] io::Error),
    /// The user may not do it.
    #[error("network namespaces need {missing}; run the test as root")]
    NotAllowed {
        /// The capabilities that the calling thread lacks.
        missing: String,
    },
    /// The kernel refused.
    #[error("`ip {arguments}` failed: {message}")]
    Refused {
        /// What was asked.
        arguments: String,
        /// What `ip` said.
        message: String,
    },
    /// All addresses belong to other namespaces.
    #[error("every pair of addresses that was tried is in use")]
    NoAddress,
}

/// The error names what the calling thread lacks.
pub(super) fn check_capabilities() -> Result<(), NetnsError> {
    let has = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    let needed = [("CAP_NET_ADMIN", CapabilitySet::NET_ADMIN), ("CAP_SYS_ADMIN", CapabilitySet::SYS_ADMIN)];
    let missing: Vec<&str> = needed.iter().filter(|(_, one)| !has.contains(*one)).map(|(name, _)| *name).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(NetnsError::NotAllowed { missing: missing.join(" and ") }),
    }
}

/// Changes something.
pub(super) fn ip(arguments: &[&str]) -> Result<(), NetnsError> {
    output_of_ip(arguments).map(drop)
}

/// Changes or asks something, and gives what was printed.
pub(super) fn output_of_ip(arguments: &[&str]) -> Result<String, NetnsError> {
    // Messages are compared, so they must not be translated.
    let output = Command::new("ip").args(arguments).env("LC_ALL", "C").stdin(Stdio::null()).output();
    let output = output.map_err(NetnsError::NoCommand)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NetnsError::Refused { arguments: arguments.join(" "), message })
}
