//! `docs/locks.md`: waiting, giving up, and not waiting.

use crate::stage::{Stage, lines};

pub(crate) fn commands([first, shell]: [String; 2]) {
    let stage = Stage::new();
    stage.program("migrate", "echo migrated");
    stage.program("backup.sh", "echo backed up");
    let mut terminal = stage.terminal();
    let [migrate] = lines(&first);
    assert_eq!(terminal.does(&migrate), "migrated\n");

    let [migrate, patient, at_once] = lines(&shell);
    assert_eq!(terminal.does(&migrate), "migrated\n");
    stage.program("migrate", "exit 3");
    assert_eq!(terminal.ends_with(3, &migrate), "", "it exits with the code of the command");
    assert_eq!(terminal.does(&patient), "backed up\n");
    assert_eq!(terminal.does(&at_once), "backed up\n");

    let mut holder = stage.terminal();
    holder.enter("tenure lock backup -- sleep 600\n");
    holder.tells("leading backup, term ");
    assert_eq!(terminal.does(&at_once), "", "now or not at all");
}
