//! The scripts in `docs/fencing.md`: each accepts a term, refuses an older one, and says so by its exit code.

use std::fs;

use redis::from_redis_value;
use rustix::process::Signal;
use tenure_testkit::running::RunningProcess;

use crate::stage::{REDIS, Stage};

pub(crate) fn scripts([in_postgres, in_redis, in_sqlite, in_files]: [String; 4]) {
    postgres(&in_postgres);
    redis(&in_redis);
    sqlite(&in_sqlite);
    files(&in_files);
}

/// As the command of a leader, whose term the database knows.
fn postgres(script: &str) {
    let stage = Stage::new();
    let store = stage.database().url();
    stage.does(&format!("tenure --store {store} migrate"));
    stage.database().sql(
        "CREATE TABLE payouts (invoice bigint NOT NULL, amount bigint NOT NULL, term bigint NOT NULL); \
         GRANT ALL ON payouts TO tenure",
    );
    fs::write(stage.path("pay.sh"), script).unwrap();
    let lead = format!("export DATABASE={store}; tenure --store {store} run payouts -- bash pay.sh");
    stage.does(&lead);
    stage.does(&lead);
    let paid = stage.database().sql("SELECT invoice, amount, term FROM payouts ORDER BY term");
    let [first, second] = &paid[..] else { panic!("two payouts are not {paid:?}") };
    assert_eq!(first[..2], [Some("7".to_owned()), Some("100".to_owned())]);
    let [first, second] = [first, second].map(|row| row[2].as_ref().unwrap().parse::<i64>().unwrap());
    assert!(first < second, "{paid:?}");

    let stale = stage.run(&format!("export DATABASE={store} TENURE_TERM={first}\n{script}"));
    assert_eq!(stale.code, Some(3), "the code of psql for an error in a script: {stale:?}");
    assert!(stale.stderr.contains("ERROR"), "{stale:?}");
    assert_eq!(stage.database().sql("SELECT term FROM payouts").len(), 2);
}

fn redis(script: &str) {
    let stage = Stage::new();
    let script = stage.here(script);
    for term in [7, 8, 8] {
        let written = stage.run_under(term, &script);
        assert_eq!((written.code, written.stdout.as_str()), (Some(0), "OK"), "{written:?}");
    }
    let stale = stage.run_under(7, &script);
    assert_eq!(stale.code, Some(1), "{stale:?}");
    assert!(format!("{stale:?}").contains("STALE a higher term was here"), "{stale:?}");
    let kept =
        ["{report}:fence", "report"].map(|key| from_redis_value::<String>(REDIS.command(&["GET", key])).unwrap());
    assert_eq!(kept, ["8", "all is well"]);
}

fn sqlite(script: &str) {
    let stage = Stage::new();
    stage.does("sqlite3 app.db \"CREATE TABLE report (id, body, term); INSERT INTO report VALUES (1, 'old', 0)\"");
    for term in [7, 8, 8] {
        let written = stage.run_under(term, script);
        assert_eq!((written.code, written.stderr.as_str()), (Some(0), ""), "{written:?}");
    }
    let stale = stage.run_under(7, script);
    assert_eq!((stale.code, stale.stderr.as_str()), (Some(1), "term 7 is stale"), "{stale:?}");
    assert_eq!(stage.does("sqlite3 app.db 'SELECT body, term FROM report'"), "new|8");
    stage.does("sqlite3 app.db 'DROP TABLE report'");
    let broken = stage.run_under(9, script);
    assert!(broken.code != Some(0) && !broken.stderr.contains("stale"), "an error is no stale term: {broken:?}");
}

fn files(script: &str) {
    let stage = Stage::new();
    let write = |term: u32, text: &str| {
        fs::write(stage.path("report.new"), text).unwrap();
        stage.run_under(term, script)
    };
    let written = |name: &str| fs::read_to_string(stage.path(name)).unwrap();
    for (term, text) in [(7, "by 7"), (8, "by 8"), (8, "by 8 again")] {
        let done = write(term, text);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done:?}");
        assert_eq!((written("report.txt").as_str(), written("report.term")), (text, format!("{term}\n")));
    }
    let stale = write(7, "late");
    assert_eq!((stale.code, stale.stderr.as_str()), (Some(1), "term 7 is stale: 8 was here"), "{stale:?}");
    assert_eq!(written("report.txt"), "by 8 again");

    // Who waits for the lock compares with what the holder leaves behind.
    let mut hold = stage.bash();
    let mut holder =
        RunningProcess::start(hold.args(["-c", "exec 9>>report.lock; flock 9; echo held; exec sleep 600"]));
    holder.stdout().next("the lock");
    let mut wait = stage.bash();
    let waiting = RunningProcess::start(wait.env("TENURE_TERM", "9").args(["-c", script]));
    fs::write(stage.path("report.term"), "10\n").unwrap();
    holder.signal(Signal::KILL);
    holder.exit();
    let stale = waiting.finish();
    assert_eq!((stale.code, stale.stderr.as_str()), (Some(1), "term 9 is stale: 10 was here"), "{stale:?}");
    assert_eq!(written("report.txt"), "by 8 again");
}
