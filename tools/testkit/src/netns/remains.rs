//! What a namespace leaves on the machine, how it is told from that of others, and how it goes.

use std::fmt;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::ip::{ip, output_of_ip};

/// What is on the machine under a name, and must go.
#[derive(Debug)]
pub(super) struct Remains(String);

impl Remains {
    pub(super) fn of(name: &str) -> Self {
        Self(name.to_owned())
    }

    pub(super) fn name(&self) -> &str {
        &self.0
    }
}

impl Drop for Remains {
    /// Goes on after errors: two processes may clear up at the same time, and some parts may never have been made.
    fn drop(&mut self) {
        kill_all_inside(&self.0);
        // The link goes first: a namespace lives on without its name while anything runs in it.
        let _ = ip(&["link", "delete", &self.0]);
        let _ = ip(&["netns", "delete", &self.0]);
    }
}

/// Deletes what processes that were killed could not.
pub(super) fn sweep() {
    let namespaces = output_of_ip(&["netns", "list"]).unwrap_or_default();
    let links = output_of_ip(&["-brief", "link"]).unwrap_or_default();
    let names = namespaces.lines().chain(links.lines()).filter_map(|line| line.split([' ', '@']).next());
    let left_over = names.filter_map(Name::parse).filter(Name::is_left_over);
    left_over.for_each(|name| drop(Remains(name.to_string())));
}

/// The name of a namespace and of the outer end of its link, which says whose it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name {
    pid: u32,
    number: u32,
}

impl Name {
    pub(super) fn of_this_process(number: u32) -> Self {
        Self { pid: std::process::id(), number }
    }

    fn parse(text: &str) -> Option<Self> {
        let (pid, number) = text.strip_prefix(PREFIX)?.split_once('-')?;
        let name = Self { pid: u32::from_str_radix(pid, 16).ok()?, number: u32::from_str_radix(number, 16).ok()? };
        // What we would not have written ourselves is somebody else's.
        (name.to_string() == text).then_some(name)
    }

    /// True for a process that has ended, and for this one, which has made none when it asks.
    fn is_left_over(&self) -> bool {
        self.pid == std::process::id() || !Path::new(&format!("/proc/{}", self.pid)).exists()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{:x}-{:x}", self.pid, self.number)
    }
}

fn kill_all_inside(name: &str) {
    let pids = || -> Vec<Pid> {
        let listing = output_of_ip(&["netns", "pids", name]).unwrap_or_default();
        listing.lines().filter_map(|line| line.parse().ok().and_then(Pid::from_raw)).collect()
    };
    let handles: Vec<_> =
        pids().into_iter().filter_map(|pid| Some((pid, pidfd_open(pid, PidfdFlags::empty()).ok()?))).collect();
    // Whoever is still listed after it was opened is no stranger that got the id of one that ended.
    let still_inside = pids();
    for (_, handle) in handles.iter().filter(|(pid, _)| still_inside.contains(pid)) {
        // It may have ended by itself.
        let _ = pidfd_send_signal(handle, Signal::KILL);
    }
}

/// Names of interfaces have at most 15 characters, so this has to be short.
const PREFIX: &str = "tnr-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_can_be_read_back() {
        let longest = Name { pid: 4_194_304, number: 0xffff };
        assert!(longest.to_string().len() <= 15);
        assert_eq!(Name::parse(&longest.to_string()), Some(longest));
    }

    #[test]
    fn names_of_others_are_not_ours() {
        for other in ["eth0", "tnr-", "tnr-1", "tnr-01-2", "tnr-1-2-3", "tnr-A-1", "tnr-+1-1", "veth-1-2"] {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_name_is_left_over_only_if_its_process_is_gone() {
        assert!(!Name { pid: 1, number: 0 }.is_left_over());
        assert!(Name { pid: u32::MAX, number: 0 }.is_left_over());
    }
}
