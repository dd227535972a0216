//! The user whom the servers run as: they refuse to run as root.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::geteuid;

/// Somebody who is not root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnprivilegedUser {
    /// Whoever runs the tests.
    Oneself,
    /// Another one, since root runs the tests.
    Other { uid: u32, gid: u32 },
}

impl UnprivilegedUser {
    pub(super) fn of_servers() -> Self {
        if !geteuid().is_root() {
            return Self::Oneself;
        }
        let users = fs::read_to_string("/etc/passwd").unwrap();
        Self::named(NAME, &users).unwrap_or_else(|| panic!("there is no user {NAME}; `cargo xtask test` installs it"))
    }

    fn named(name: &str, users: &str) -> Option<Self> {
        let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == name)?;
        Some(Self::Other { uid: fields.get(2)?.parse().ok()?, gid: fields.get(3)?.parse().ok()? })
    }

    /// A command that this user runs.
    pub(super) fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Self::Other { uid, gid } = self {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Lets this file or directory be the user's.
    pub(super) fn own(self, path: &Path) {
        if let Self::Other { uid, gid } = self {
            chown(path, Some(uid), Some(gid)).unwrap();
        }
    }

    /// Writes a file of the user's that nobody else may read.
    pub(super) fn write(self, path: &Path, text: impl AsRef<[u8]>) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        self.own(path);
    }

    /// Copies a directory with all that is in it, and gives the copy to the user.
    pub(super) fn copy(self, from: &Path, to: &Path) {
        fs::create_dir(to).unwrap();
        fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
        self.own(to);
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let copy = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                self.copy(&entry.path(), &copy);
            } else {
                fs::copy(entry.path(), &copy).unwrap();
                self.own(&copy);
            }
        }
    }

    /// Lets the user pass through the directories above this path, as far as they are temporary ones.
    pub(super) fn let_pass(self, path: &Path) {
        if self == Self::Oneself {
            return;
        }
        let temporary = std::env::temp_dir();
        let above = path.ancestors().skip(1).take_while(|above| above.starts_with(&temporary) && **above != temporary);
        for directory in above {
            let mut permissions = fs::metadata(directory).unwrap().permissions();
            permissions.set_mode(permissions.mode() | 0o011);
            fs::set_permissions(directory, permissions).unwrap();
        }
    }
}

/// The user that comes with the server.
const NAME: &str = "postgres";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_whole_name() {
        let users = "root:x:0:0:root:/root:/bin/sh\npostgres2:x:7:8::/:/bin/sh\npostgres:x:101:104:a,,,:/:/bin/sh\n";
        assert_eq!(UnprivilegedUser::named("postgres", users), Some(UnprivilegedUser::Other { uid: 101, gid: 104 }));
        assert_eq!(UnprivilegedUser::named("post", users), None);
    }

    #[test]
    fn temporary_directories_let_others_pass_and_show_them_nothing() {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
        UnprivilegedUser::Other { uid: 1, gid: 1 }.let_pass(&directory.path().join("inside"));
        assert_eq!(fs::metadata(directory.path()).unwrap().permissions().mode() & 0o777, 0o711);
    }
}
