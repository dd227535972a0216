//! Reports events on standard error, in the requested form.

use tenure::cron::JobError;
use tenure::{CandidateId, ElectionError, Event, EventKind, LossReason, Term};

use super::beginning::{Beginning, NotedStart};
use crate::args::ReportArgs;
use crate::output::{CommandEnd, EventLines, json_line};
use crate::stderr_writer::{StderrWriter, say};

/// Tells of the events of one candidacy.
pub(super) struct EventPrinter {
    election: String,
    report: ReportArgs,
    lines: EventLines,
    pub(super) beginning: Beginning,
}

impl EventPrinter {
    pub(super) fn new(election: &str, candidate: &CandidateId, report: ReportArgs, beginning: Beginning) -> Self {
        let lines = EventLines::new(election, candidate, report.renewals);
        Self { election: election.to_owned(), report, lines, beginning }
    }

    pub(super) fn is_json(&self) -> bool {
        self.report.json
    }

    pub(super) fn tell(&mut self, event: &Event) {
        let noted = self.beginning.note(event);
        let ReportArgs { json, quiet, .. } = self.report;
        if is_told_as_an_end(event) && !quiet {
            return;
        }
        if json {
            for line in self.lines.lines(event) {
                // It never fails, and never waits for a reader.
                let _ = json_line(&mut StderrWriter, &line);
            }
            return;
        }
        let (over, mut sentence) = self.lines.sentences(event);
        if let NotedStart::Unusable(why) = noted {
            sentence = Some(format!("{}: {why}", self.election));
        }
        let is_error = matches!(event.kind, EventKind::Error { .. });
        let expected = matches!(event.kind, EventKind::Lost { reason: LossReason::Stopped, .. });
        // Whoever was told of an error is told that it is over.
        for sentence in over.into_iter().chain(sentence.filter(|_| is_error || !quiet && !expected)) {
            say(&sentence);
        }
    }

    /// Tells how a command ended by itself. If it is not to be started again, the exit code tells people enough.
    pub(super) fn exited(&self, term: Term, end: &CommandEnd) {
        if self.report.json {
            // It never fails, and never waits for a reader.
            let _ = json_line(&mut StderrWriter, &self.lines.exited(term, end));
        } else if end.restart_in.is_some() && !self.report.quiet {
            say(&end.sentence());
        }
    }

    /// Tells a person why it ends like this, unless it is a program that listens, or nobody.
    pub(super) fn explain(&self, why: &str) {
        if !self.report.json && !self.report.quiet {
            say(why);
        }
    }
}

/// The end of a run says the same and more.
fn is_told_as_an_end(event: &Event) -> bool {
    let EventKind::Error { error: ElectionError::Job(error) } = &event.kind else { return false };
    matches!(error, JobError::Failed { .. } | JobError::TimedOut { .. })
}
