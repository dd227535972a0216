//! `docs/operations.md`: the first look, a user of Redis, and backups.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::redis_users;
use crate::stage::{Stage, lines};

pub(crate) fn commands([look, user, copy]: [String; 3]) {
    first_look(&look);
    redis_users::create(&user);
    backup([copy]);
}

fn first_look(look: &str) {
    let stage = Stage::new();
    stage.does("tenure lock nightly-report -- true");
    let [status, history, doctor] = lines(look);
    assert!(stage.does(&status).contains("\nnightly-report "));
    let changes = stage.does(&history);
    assert!(changes.contains("granted") && changes.contains("stopped"), "{changes}");
    assert!(stage.does(&doctor).ends_with("all checks passed"));
}

/// Of a store that is in use, by both ways that the block knows.
pub(crate) fn backup([copy]: [String; 1]) {
    let copy = copy.replace("PATH", "tenure.db");
    let (first, second) = copy.split_once("    # or: ").unwrap();
    let (umask, _) = first.split_once('\n').unwrap();
    for script in [first, &format!("{umask}\n{second}")] {
        let stage = Stage::new();
        let mut candidate = stage.terminal();
        candidate.enter("tenure --store sqlite:tenure.db run nightly-report -- sleep 600\n");
        candidate.tells("leading nightly-report, term 1");
        stage.does(script);
        let listed = stage.does("tenure --store sqlite:copy.db status --json");
        assert!(listed.contains("\"election\":\"nightly-report\"") && listed.contains("\"term\":1,"), "{listed}");
        let mode = fs::metadata(stage.path("copy.db")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{script}");
    }
}
