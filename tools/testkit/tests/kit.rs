//! That the kit notices what it is there to notice.

#![allow(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

use std::process::Command;

use tenure_testkit::running::RunningProcess;
use tenure_testkit::worker::{self, JOURNAL, WorkerJournal, WorkerStart};

tenure_testkit::roles! { "worker" => worker::work }

#[test]
fn a_worker_notices_another_one() {
    let directory = tempfile::tempdir().unwrap();
    let journal = directory.path().join("journal");
    let start = |term: &str| {
        let words = worker::command();
        let mut worker = Command::new(&words[0]);
        worker.args(&words[1..]).env(JOURNAL, &journal).env("TENURE_CANDIDATE", "a").env("TENURE_TERM", term);
        let running = RunningProcess::start(&mut worker);
        let start = running.stdout().find("the start of a worker", WorkerStart::parse);
        (running, start)
    };
    let (_first, alone) = start("1");
    let (_second, beside) = start("2");
    assert!(alone.alone && !beside.alone, "{alone:?} {beside:?}");
    let journal = WorkerJournal::read(&journal);
    assert!(std::panic::catch_unwind(move || journal.assert_disjoint()).is_err());
}
