//! Candidates that are processes, each with a way of its own to the store.

use std::env;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::process::Signal;
use tenure::blocking::Client;
use tenure_testkit::process::Paused;
use tenure_testkit::proxy::{Direction, ProxyFault};
use tenure_testkit::running::RunningProcess;
use tenure_testkit::running_store::RunningStore;
use tenure_testkit::stores::Detour;
use tenure_testkit::{role, tied_processes};

use crate::candidacy::{self, Files};
use crate::contender::{Contender, Contenders, PLACES};
use crate::events;
use crate::journal::RunJournal;
use crate::strike::StrikeKind;

const STORE: &str = "ENDURANCE_STORE";
const LABEL: &str = "ENDURANCE_LABEL";
const JOURNAL: &str = "ENDURANCE_JOURNAL";
const EVENTS: &str = "ENDURANCE_EVENTS";

/// What a candidate's process does, until its standard input is closed.
pub(crate) fn stand() {
    let path = |name| env::var_os(name).unwrap().into();
    let files = Files { journal: RunJournal::at(path(JOURNAL)), events: path(EVENTS) };
    let client = Client::open(&env::var(STORE).unwrap()).unwrap();
    let candidacy = candidacy::start(&client, &env::var(LABEL).unwrap(), &files);
    io::stdin().read_to_end(&mut Vec::new()).unwrap();
    candidacy.end();
}

/// Processes that all go the same way to the store.
pub(crate) fn contenders(store: &RunningStore, files: &Files) -> Contenders {
    contenders_with(store, files, StrikeKind::OF_PROCESSES, || None)
}

/// Processes that can be cut off, each for itself.
pub(crate) fn contenders_over_a_network(store: &RunningStore, files: &Files) -> Contenders {
    contenders_with(store, files, StrikeKind::OVER_A_NETWORK, || Some(store.endpoint().detour()))
}

fn contenders_with(
    store: &RunningStore,
    files: &Files,
    kinds: &'static [StrikeKind],
    detour: impl Fn() -> Option<Detour>,
) -> Contenders {
    let contender = |name: &&'static str| -> Box<dyn Contender> {
        let detour = detour();
        let url = detour.as_ref().map_or_else(|| store.url(), |detour| detour.url.clone());
        let mut outsider =
            Outsider { place: name, generation: 0, url, detour, files: files.clone(), process: None, paused: None };
        outsider.mend();
        Box::new(outsider)
    };
    let watcher = Arc::new(Client::open(&store.url()).unwrap());
    Contenders { watcher, contenders: PLACES.iter().map(contender).collect(), kinds }
}

struct Outsider {
    place: &'static str,
    generation: u32,
    url: String,
    detour: Option<Detour>,
    files: Files,
    /// None while the place is empty.
    process: Option<RunningProcess>,
    paused: Option<Paused>,
}

impl Outsider {
    fn begin(&mut self) {
        self.generation += 1;
        let words = role::command("candidate");
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env(STORE, &self.url).env(LABEL, self.label());
        command.env(JOURNAL, self.files.journal.path()).env(EVENTS, &self.files.events);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        self.process = Some(tied_processes::start(command).unwrap());
    }

    fn kill(&mut self) {
        if let Some(mut running) = self.process.take() {
            events::note_kill(&self.files.events, &self.label(), running.process.pid.as_raw_nonzero().get());
            running.signal(Signal::KILL);
            running.exit();
        }
    }

    fn detour(&self) -> &Detour {
        self.detour.as_ref().expect("a network to cut")
    }
}

impl Contender for Outsider {
    fn label(&self) -> String {
        format!("{}-{}", self.place, self.generation)
    }

    fn strike(&mut self, kind: StrikeKind) {
        match kind {
            StrikeKind::Kill => self.kill(),
            StrikeKind::Pause => self.paused = self.process.as_ref().map(|running| running.process.pause()),
            StrikeKind::BlackHole => self.detour().proxy.black_hole(),
            StrikeKind::Refused => {
                self.detour().proxy.refuse();
                self.detour().proxy.reset();
            }
            StrikeKind::Deaf => self.detour().proxy.inject(Direction::Replies, ProxyFault::Swallow),
            StrikeKind::Leave => self.leave(),
        }
    }

    fn mend(&mut self) {
        self.paused = None;
        if let Some(detour) = &self.detour {
            detour.proxy.heal();
        }
        if self.process.is_none() {
            self.begin();
        }
    }

    fn leave(&mut self) {
        if let Some(mut running) = self.process.take() {
            drop(running.child().stdin.take());
            assert_eq!(running.code(), 0, "{} did not leave as it should", self.label());
        }
    }
}
