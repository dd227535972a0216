//! `README.md`: the commands at its beginning, and the first leader.

use crate::stage::{Stage, lines};

pub(crate) fn commands([four, first]: [String; 2]) {
    let stage = Stage::new();
    stage.program("consume", "exec sleep 600");
    stage.program("backup", "echo backed up");
    stage.program("report", "echo reported");
    let mut terminal = stage.terminal();
    let [run, lock, cron, status] = lines(&stage.here(&four));
    terminal.goes_on(&run, "leading mail-queue, term 1");
    assert_eq!(terminal.does(&lock), "backed up\n");
    terminal.goes_on(&cron, "leading cron-report, term 1");
    let listed = terminal.does(&status);
    for election in ["mail-queue", "backup", "cron-report"] {
        assert!(listed.contains(election), "{listed}");
    }

    terminal.enter(&stage.here(&first));
    terminal.shows("leading, term 1");
    terminal.control_c();
}
