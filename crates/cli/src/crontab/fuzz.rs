//! Whatever a file holds.

use tenure_fuzz::Fuzz;

use super::{CrontabErrors, parse};

/// A file of any bytes gives jobs or errors, never both for one job, and whatever it says is told on lines of their own.
#[test]
fn fuzz_crontab() {
    Fuzz::target("crontab").words(WORDS).cases(3_000).cost(4).run(|input| {
        let text = String::from_utf8_lossy(input);
        let (crontab, errors) = parse(&text, "cron");
        assert!(!crontab.entries.is_empty() || !errors.is_empty(), "neither a job nor a problem");
        let lines = text.matches('\n').count() + 1;
        assert!(errors.iter().all(|error| error.line.is_none_or(|line| (1..=lines).contains(&line))));
        for entry in &crontab.entries {
            let name = Some(entry.job.name().as_str());
            assert!(errors.iter().all(|error| error.job.as_deref() != name), "a job that is wrong");
            assert!(!entry.action.command.is_empty(), "a job with nothing to run");
        }
        let count = errors.len();
        let told = CrontabErrors { file: "crontab.toml".to_owned(), errors }.to_string();
        assert_eq!(told.lines().count(), count, "{told:?}");
        assert!(told.chars().all(|c| c == '\n' || !c.is_control()), "{told:?}");
    });
}

const WORDS: &[&str] = &[
    "[jobs.a]\n",
    "[jobs.b]\n",
    "[jobs]\n",
    "[jobs.a.env]\n",
    "election = \"e\"\n",
    "preset = \"fast\"\n",
    "ttl = \"15s\"\n",
    "renew = \"1s\"\n",
    "grace = \"1s\"\n",
    "time-zone = \"Europe/Berlin\"\n",
    "schedule = \"*/5 * * * *\"\n",
    "schedule = \"30 2 29 2 *\"\n",
    "schedule = \"*/99 * * * *\"\n",
    "command = [\"true\"]\n",
    "command = \"exit 3\"\n",
    "missed = \"all\"\n",
    "window = \"1h\"\n",
    "overlap = \"queue\"\n",
    "interrupted = \"again\"\n",
    "timeout = \"0s\"\n",
    "jitter = \"30s\"\n",
    "retries = 3\n",
    "retries = 0xffffffffff\n",
    "retry-after = \"10s\"\n",
    "enabled = false\n",
    "env = { K = \"V\" }\n",
    "directory = \"/\"\n",
    "\"\"\"",
    "\\u0000",
    "\\u001b",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    "=",
    "\n",
    "#",
    "1",
    "true",
    "2030-01-01T00:00:00Z",
];
