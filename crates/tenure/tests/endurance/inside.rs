//! Candidates that share a store in the memory of this process, each with a driver of its own.

use std::sync::Arc;

use tenure::blocking::Client;
use tenure::store::{StoreError, StoreErrorKind};
use tenure::testing::{Fault, FaultyStore};
use tenure::{Clock, MemoryStore};

use crate::candidacy::{self, EnduringCandidate, Files};
use crate::contender::{Contender, Contenders, PLACES};
use crate::strike::StrikeKind;

pub(crate) fn contenders(files: &Files) -> Contenders {
    let memory = Arc::new(MemoryStore::new());
    let watcher = Client::builder().clock(Clock::boottime()).with_store(Arc::clone(&memory) as _).unwrap();
    let contender = |place: &&'static str| -> Box<dyn Contender> {
        let store = FaultyStore::new(Arc::clone(&memory) as _);
        let mut insider = Insider { place, generation: 0, store, files: files.clone(), candidacy: None };
        insider.mend();
        Box::new(insider)
    };
    Contenders {
        watcher: Arc::new(watcher),
        contenders: PLACES.iter().map(contender).collect(),
        kinds: StrikeKind::OF_THREADS,
    }
}

struct Insider {
    place: &'static str,
    generation: u32,
    store: Arc<FaultyStore>,
    files: Files,
    /// None while the place is empty.
    candidacy: Option<EnduringCandidate>,
}

impl Contender for Insider {
    fn label(&self) -> String {
        format!("{}-{}", self.place, self.generation)
    }

    fn strike(&mut self, kind: StrikeKind) {
        match kind {
            StrikeKind::BlackHole => self.store.inject_everywhere(&Fault::BlackHole),
            StrikeKind::Deaf => self.store.inject_everywhere(&Fault::SwallowReply),
            StrikeKind::Refused => {
                let refused = StoreError::not_sent(StoreErrorKind::Unavailable, "refused on purpose");
                self.store.inject_everywhere(&Fault::Fail(refused));
            }
            StrikeKind::Leave => self.leave(),
            StrikeKind::Kill | StrikeKind::Pause => panic!("this would befall the test itself"),
        }
    }

    fn mend(&mut self) {
        self.store.heal();
        if self.candidacy.is_none() {
            self.generation += 1;
            let client = Client::builder().clock(Clock::boottime()).with_store(Arc::clone(&self.store) as _).unwrap();
            self.candidacy = Some(candidacy::start(&client, &self.label(), &self.files));
        }
    }

    fn leave(&mut self) {
        if let Some(candidacy) = self.candidacy.take() {
            candidacy.end();
        }
    }
}
