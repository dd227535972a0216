//! `docs/jobs.md`: jobs of a line and of a file, and looking after them.

use std::fs;

use serde_json::Value;
use tenure_pages::text_of;
use tenure_testkit::eventually;

use crate::stage::{Stage, lines};

pub(crate) fn commands([first, shell, check, care]: [String; 4]) {
    let stage = Stage::new();
    for name in ["report", "sweep"] {
        stage.program(name, "true");
    }
    fs::create_dir(stage.path("docs")).unwrap();
    fs::write(stage.path("docs/crontab.toml"), text_of("docs/crontab.toml")).unwrap();

    let mut terminal = stage.terminal();
    let [line] = lines(&first);
    terminal.goes_on(&line, "leading cron-report, term 1");
    let [export, file, one, options] = lines(&shell);
    terminal.does(&export);
    terminal.goes_on(&file, "leading housekeeping, term 1");
    terminal.goes_on(&one, "leading cron-sweep, term 1");
    terminal.goes_on(&options, "leading cron-report, term 1");

    let [of_a_file, of_a_line] = lines(&check);
    let checked = terminal.does(&of_a_file);
    assert!(checked.contains("no errors"), "{checked}");
    for job in ["backup", "invoices", "sweep"] {
        let ticks = checked.lines().filter(|line| line.starts_with(job)).count();
        assert_eq!(ticks, 5, "{checked}");
    }
    let checked = terminal.does(&of_a_line);
    assert!(checked.contains("Sun 2030-03-31 03:00:00 +02:00"), "{checked}");

    let mut leader = stage.terminal();
    leader.enter(&format!("{export}\n{file}\n"));
    leader.tells("leading housekeeping, term 2");
    looks_after(&mut terminal, &care);
}

fn looks_after(terminal: &mut crate::terminal::Terminal, care: &str) {
    let [status, runs, json, run_now, pause, resume, forget] = lines(care);
    eventually("the jobs of the leader", || terminal.does(&status).contains("invoices"));
    terminal.does(&runs);
    let listed: Value = serde_json::from_str(&terminal.does(&json)).unwrap();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["job"]), (3, &"backup".into()), "{listed}");
    for (line, words) in [
        (run_now, "backup of housekeeping will run once"),
        (pause, "backup of housekeeping is paused"),
        (resume, "backup of housekeeping is resumed"),
        (forget, "backup of housekeeping is forgotten"),
    ] {
        let said = terminal.does(&line);
        assert!(said.starts_with(words), "{line}: {said}");
    }
}
