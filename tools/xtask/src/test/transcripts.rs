//! The transcripts of a page, held to what their commands print.

use std::fs;
use std::path::Path;

/// The page that shows what proofs print.
const PAGE: &str = "docs/how-we-know.md";

/// A command of `cargo xtask`, and what the page shows of its output. An ellipsis stands for what is left out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Transcript {
    pub(crate) command: String,
    shown: String,
}

impl Transcript {
    /// All of the page.
    pub(crate) fn all(root: &Path) -> Result<Vec<Self>, String> {
        let page = fs::read_to_string(root.join(PAGE)).map_err(|error| format!("cannot read {PAGE}: {error}"))?;
        Ok(Self::of(&page))
    }

    fn of(page: &str) -> Vec<Self> {
        let blocks = page.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
        let runs = blocks.flat_map(|block| block.split("$ cargo xtask ").skip(1));
        let parts = runs.filter_map(|run| run.split_once('\n'));
        parts.map(|(command, shown)| Self { command: command.to_owned(), shown: shown.to_owned() }).collect()
    }

    /// Fails if a line that is shown is not printed after those before it.
    pub(crate) fn compare(&self, printed: &str) -> Result<(), String> {
        let mut left = printed.lines();
        let mut shown = self.shown.lines().filter(|line| line.trim() != ELLIPSIS);
        match shown.find(|line| !left.any(|printed| is_shown_as(printed, line))) {
            None => Ok(()),
            Some(line) => Err(format!(
                "{PAGE} shows `{line}` under `cargo xtask {}`, which does not print it there",
                self.command
            )),
        }
    }
}

const ELLIPSIS: &str = "…";

fn is_shown_as(printed: &str, shown: &str) -> bool {
    match shown.strip_suffix(ELLIPSIS) {
        Some(beginning) => printed.starts_with(beginning),
        None => without_time(printed) == without_time(shown),
    }
}

/// Without the time that the run took, at its end, which is another one each time.
fn without_time(line: &str) -> &str {
    match line.rsplit_once(", ") {
        Some((rest, last)) if last.strip_suffix(" s").is_some_and(|time| time.parse::<f64>().is_ok()) => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str =
        "a\n```console\n$ cargo xtask model\nmodel: 5 states, 1.5 s\n$ cargo xtask sim --seed 1\nx\n  …\nlong…\n```\n";

    #[test]
    fn a_page_has_a_transcript_for_each_command() {
        let found = Transcript::of(SHOWN);
        let commands: Vec<&str> = found.iter().map(|transcript| transcript.command.as_str()).collect();
        assert_eq!(commands, ["model", "sim --seed 1"]);
    }

    #[test]
    fn what_is_left_out_and_times_may_differ() {
        let [model, sim] = <[Transcript; 2]>::try_from(Transcript::of(SHOWN)).unwrap();
        assert_eq!(model.compare("model: 5 states, 77.0 s\n"), Ok(()));
        assert_eq!(sim.compare("x\ny\nlong line\n"), Ok(()));
    }

    #[test]
    fn other_figures_missing_lines_and_another_order_are_told() {
        let [model, sim] = <[Transcript; 2]>::try_from(Transcript::of(SHOWN)).unwrap();
        assert!(model.compare("model: 6 states, 1.5 s\n").unwrap_err().contains("`model: 5 states, 1.5 s`"));
        assert!(sim.compare("x\n").unwrap_err().contains("`long…`"));
        assert!(sim.compare("long line\nx\n").unwrap_err().contains("`long…`"));
    }
}
