//! A user of Redis with the rights that `docs/operations.md` lists, and what it can do.

use tenure_testkit::eventually;

use crate::stage::{REDIS, Stage};

/// Elections, jobs, messages and broadcasts: with all of them allowed, nothing is denied.
pub(crate) fn create(block: &str) {
    let stage = Stage::new();
    assert_eq!(stage.does(&stage.here(block)), "OK");
    let store = REDIS.url_as("NAME", "PASSWORD");
    let [mut candidate, mut job, mut other] = [(); 3].map(|()| stage.terminal());
    for terminal in [&mut candidate, &mut job, &mut other] {
        terminal.does(&format!("export TENURE_STORE={store}"));
    }
    candidate.enter("tenure elect users-elect --channel work --broadcasts news\n");
    job.enter("tenure cron '* * * * *' --name users-job -- true\n");
    for event in ["\"elected\"", "\"listening\""] {
        eventually(event, || candidate.has_shown(event));
    }
    assert_eq!(other.does("tenure lock users-lock -- echo led"), "led\n");
    other.does("tenure send users-elect work 1");
    candidate.shows("\"message\"");
    other.does("tenure broadcast users-elect news 2");
    candidate.shows("\"broadcast\"");
    eventually("the job of a leader", || other.does("tenure cron status").contains("users-job"));
    let history = other.does("tenure history users-elect");
    assert!(history.contains("granted"), "{history}");
    let findings = other.does("tenure doctor");
    assert!(findings.ends_with("all checks passed\n"), "{findings}");
}
