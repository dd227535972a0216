//! What the tests of the SQLite store share: short ways to say things, and other processes to say them to.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tempfile::TempDir;
use tenure::store::sqlite::SqliteStore;
use tenure::store::{Campaign, ElectionKey, Hint, Renew, Resign, Transition};
use tenure::{Store, StoreError};
use tenure_core::{
    CampaignReply, CandidateId, ElectionName, Held, LossReason, Namespace, Nonce, Priority, RenewReply, Term,
};

pub(crate) const TTL: Duration = Duration::from_secs(600);
/// Nothing here takes this long unless it is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A directory of its own and the path of a database in it.
pub(crate) fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("elections.db");
    (directory, path)
}

/// How many pipes there are beside the database.
pub(crate) fn pipes(path: &Path) -> usize {
    let entries = std::fs::read_dir(format!("{}-tenure", path.display())).unwrap();
    let names = entries.map(|entry| entry.unwrap().path());
    names.filter(|name| name.extension().is_some_and(|end| end == "life" || end == "wake")).count()
}

pub(crate) fn key(name: &str) -> ElectionKey {
    ElectionKey { namespace: Namespace::default(), name: ElectionName::new(name).unwrap() }
}

/// A candidate of one store, with a nonce of its own.
pub(crate) struct SqliteCandidate<'a> {
    pub(crate) store: &'a SqliteStore,
    pub(crate) key: ElectionKey,
    pub(crate) id: CandidateId,
    pub(crate) nonce: Nonce,
}

impl<'a> SqliteCandidate<'a> {
    pub(crate) fn new(store: &'a SqliteStore, election: &str, id: &str) -> Self {
        static USED: AtomicU64 = AtomicU64::new(1);
        let number = USED.fetch_add(1, Ordering::Relaxed);
        let nonce = Nonce::from_bits(u128::from(std::process::id()) << 64 | u128::from(number));
        Self { store, key: key(election), id: CandidateId::new(id).unwrap(), nonce }
    }

    pub(crate) fn request(&self) -> Campaign {
        Campaign {
            key: self.key.clone(),
            candidate: self.id.clone(),
            nonce: self.nonce,
            ttl: TTL,
            priority: Priority::MAX,
            metadata: Arc::default(),
            stand_by_for: TTL,
        }
    }

    pub(crate) async fn campaign(&self) -> Result<CampaignReply, StoreError> {
        self.store.campaign(&[self.request()]).await.remove(0)
    }

    pub(crate) async fn granted(&self) -> Term {
        match self.campaign().await.unwrap() {
            CampaignReply::Granted { term } => term,
            CampaignReply::Held(held) => panic!("held: {held:?}"),
        }
    }

    pub(crate) async fn held(&self) -> Held {
        match self.campaign().await.unwrap() {
            CampaignReply::Held(held) => held,
            CampaignReply::Granted { term } => panic!("granted: {term:?}"),
        }
    }

    pub(crate) async fn renew(&self, term: Term) -> Result<RenewReply, StoreError> {
        let request = Renew { key: self.key.clone(), nonce: self.nonce, term, ttl: TTL };
        self.store.renew(&[request]).await.remove(0)
    }

    pub(crate) async fn resign(&self) -> Result<(), StoreError> {
        let request = Resign {
            key: self.key.clone(),
            nonce: self.nonce,
            term: None,
            successor: None,
            reason: LossReason::Resigned,
        };
        self.store.resign(&[request]).await.remove(0)
    }
}

pub(crate) async fn history(store: &SqliteStore, election: &str) -> Vec<Transition> {
    store.history(&key(election), 100).await.unwrap()
}

pub(crate) async fn next(hints: &mut BoxStream<'static, Hint>) -> Hint {
    tokio::time::timeout(PATIENCE, hints.next()).await.expect("no hint came").unwrap()
}

/// This test program once more, in a role. It is killed when dropped.
pub(crate) struct Other {
    child: Child,
    lines: Box<dyn Iterator<Item = String>>,
}

impl Other {
    pub(crate) fn start(role: &str, path: &Path) -> Self {
        Self::start_under(&[], role, path)
    }

    /// The same, started by another command.
    pub(crate) fn start_under(wrapper: &[&str], role: &str, path: &Path) -> Self {
        let program = std::env::current_exe().unwrap();
        let mut words = wrapper.iter().map(|word| (*word).to_owned()).chain([program.to_str().unwrap().to_owned()]);
        let mut child = Command::new(words.next().unwrap())
            .args(words)
            .args(["--exact", "roles::role", "--nocapture"])
            .env("TENURE_TEST_ROLE", role)
            .env("TENURE_TEST_PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let lines = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix('@').map(str::to_owned));
        Self { child, lines: Box::new(lines) }
    }

    /// The next thing it says; `None` when it has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        self.lines.next()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    /// kill -9.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn rest(self) -> Vec<String> {
        let mut this = std::mem::ManuallyDrop::new(self);
        this.child.wait().unwrap();
        this.lines.by_ref().collect()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
