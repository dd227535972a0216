//! Checks that `/proc` shows the processes that this one can signal.

use std::{fs, io};

use rustix::process::getpid;

/// Checks that `/proc` belongs to the pid namespace of this process.
///
/// One that belongs to another, as after `unshare --pid` without `--mount-proc`, counts processes differently: the numbers
/// of our descendants there are those of strangers here.
///
/// # Errors
/// `Unsupported`, with a sentence that says what to do.
pub fn check() -> io::Result<()> {
    let refuse = |why: String| Err(io::Error::new(io::ErrorKind::Unsupported, format!("{why}; {REMEDY}")));
    let ours = getpid().as_raw_nonzero().to_string();
    match fs::read_to_string("/proc/self/status") {
        Ok(status) if ids_in(&status) == [ours.as_str()] => Ok(()),
        Ok(status) => {
            let theirs = ids_in(&status).first().copied().unwrap_or("nobody").to_owned();
            refuse(format!(
                "/proc shows another pid namespace, where this process ({ours}) is {theirs}, so the processes of a command \
                 could not be told from others"
            ))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => refuse(
            "/proc is missing or does not show this process, so the processes of a command cannot be found".into(),
        ),
        Err(error) => refuse(format!("/proc/self/status cannot be read ({error})")),
    }
}

/// The ids of a process from the namespace that `/proc` was mounted in down to its own: one, if these are the same.
fn ids_in(status: &str) -> Vec<&str> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    // Kernels without namespaces do not tell them, and have only the one.
    field("NSpid:").or_else(|| field("Pid:")).unwrap_or_default().split_whitespace().collect()
}

const REMEDY: &str = "mount that of this namespace: mount -t proc proc /proc (or unshare with --mount-proc)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_in_all_namespaces_are_read() {
        assert_eq!(ids_in("Name:\tx\nPid:\t7\nNSpid:\t7\t1\n"), ["7", "1"]);
        assert_eq!(ids_in("Name:\tx\nPid:\t7\n"), ["7"]);
        assert!(ids_in("").is_empty());
    }
}
