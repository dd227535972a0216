//! Where a server that a test starts keeps what it has, and how one is started there.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::running::RunningProcess;
use crate::scratch::Scratch;
use crate::{eventually, tied_processes};

/// The directory of a server.
pub(crate) enum ServiceDir {
    /// One that goes with the server.
    Own(Scratch),
    /// One that the test has chosen, and that stays.
    Given(PathBuf),
}

impl ServiceDir {
    /// This directory, which is made if it is missing, or a new one.
    pub(crate) fn at(directory: Option<&Path>) -> Self {
        let Some(directory) = directory else { return Self::Own(Scratch::new()) };
        fs::create_dir_all(directory).unwrap();
        Self::Given(directory.to_owned())
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Own(scratch) => scratch.path(),
            Self::Given(path) => path,
        }
    }

    /// A file or directory in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// All that its server has logged.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.join(LOG)).unwrap_or_default()).into_owned()
    }

    /// Starts a server that logs here, and waits until it is up. None if it ended because of what another process holds,
    /// as one of these words in its log tells.
    pub(crate) fn launch(&self, launch: Launch<'_>, is_up: impl Fn(&RunningProcess) -> bool) -> Option<RunningProcess> {
        let Launch { mut command, orphaned, obstacles } = launch;
        let log_file = OpenOptions::new().append(true).create(true).open(self.join(LOG)).unwrap();
        let known = self.log().len();
        command.stdin(Stdio::null()).stdout(log_file.try_clone().unwrap()).stderr(log_file);
        let program = command.get_program().to_string_lossy().into_owned();
        let running = tied_processes::start_until(command, orphaned)
            .unwrap_or_else(|error| panic!("{program} does not start ({error}); `cargo xtask test` installs it"));
        let mut is_ready = false;
        eventually("a server that is up", || {
            is_ready = is_up(&running);
            is_ready || running.process.is_dead()
        });
        if is_ready {
            return Some(running);
        }
        let said = self.log().split_off(known);
        assert!(obstacles.iter().any(|words| said.contains(words)), "{program} ended at once:\n{said}");
        None
    }
}

/// How a server is started.
pub(crate) struct Launch<'a> {
    pub(crate) command: Command,
    /// What it is sent if this process is gone before it.
    pub(crate) orphaned: rustix::process::Signal,
    /// What it logs if another process is in its way.
    pub(crate) obstacles: &'a [&'a str],
}

/// Tries free ports until a server has one of them.
pub(crate) fn on_free_port<T>(mut launch: impl FnMut(u16) -> Option<T>) -> (u16, T) {
    let mut attempts = (0..ATTEMPTS).map(|_| crate::ports::free_port());
    let started = attempts.find_map(|port| Some((port, launch(port)?)));
    started.unwrap_or_else(|| panic!("others took all of {ATTEMPTS} ports"))
}

/// What every server says whose port is taken.
pub(crate) const PORT_IS_TAKEN: &str = "Address already in use";

const ATTEMPTS: usize = 20;
const LOG: &str = "log";
