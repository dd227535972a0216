//! The verdict as a page: what was judged, the drawings, and what is wrong.

use super::drawing::{Drawing, document};
use super::markup::escape;
use crate::checks::{HistoryViolation, Spread};
use crate::show::span;
use crate::verdict::{ElectionVerdict, HistoryVerdict};

/// A page that stands alone: no scripts, nothing loaded from anywhere, all text escaped.
#[must_use]
pub fn html(verdict: &HistoryVerdict) -> String {
    let elections: String = verdict.elections.iter().map(election).collect();
    let registers: String = verdict
        .registers
        .iter()
        .map(|register| format!("<pre>{}</pre>\n", escape_lines(&register.to_string())))
        .collect();
    let malformed: String = verdict
        .malformed
        .iter()
        .map(|line| format!("<li>{}: cannot be read: {}</li>\n", escape(&line.line.to_string()), escape(&line.problem)))
        .collect();
    let unread = if malformed.is_empty() { String::new() } else { format!("<ul class=\"bad\">\n{malformed}</ul>\n") };
    format!("{HEAD}<body>\n<h1>Leadership {}</h1>\n{elections}{registers}{unread}</body>\n</html>\n", badge(verdict))
}

const HEAD: &str = include_str!("head.html");

fn badge(verdict: &HistoryVerdict) -> String {
    match verdict.violations().count() {
        0 if verdict.is_good() => "<span class=\"badge good\">good</span>".to_owned(),
        0 => "<span class=\"badge bad\">not all could be read</span>".to_owned(),
        1 => "<span class=\"badge bad\">1 violation</span>".to_owned(),
        count => format!("<span class=\"badge bad\">{count} violations</span>"),
    }
}

fn election(verdict: &ElectionVerdict) -> String {
    let drawing = Drawing::of(verdict);
    let picture = document(drawing.width, drawing.height, &drawing.body);
    format!(
        "<section>\n<div class=\"timeline\">\n{picture}</div>\n{}{}</section>\n",
        violations(&verdict.violations),
        takeovers(verdict)
    )
}

fn violations(violations: &[HistoryViolation]) -> String {
    if violations.is_empty() {
        return "<p>No two leaders overlapped, and terms only grew.</p>\n".to_owned();
    }
    let items: String =
        violations.iter().map(|violation| format!("<li>{}</li>\n", escape(&violation.to_string()))).collect();
    format!("<ul class=\"bad\">\n{items}</ul>\n")
}

fn takeovers(verdict: &ElectionVerdict) -> String {
    let Some(all) = &verdict.takeover_times else { return String::new() };
    let by_reason = verdict.takeover_times_by_reason.iter().map(|(reason, times)| row(reason, times));
    let rows: String = by_reason.chain([row("all", all)]).collect();
    format!(
        "<table>\n<tr><th>takeover after</th><th>count</th><th>min</th><th>median</th><th>p99</th><th>max</th></tr>\n\
         {rows}</table>\n"
    )
}

fn row(reason: &str, times: &Spread) -> String {
    let cells: String = [times.min_ns, times.median_ns, times.p99_ns, times.max_ns]
        .map(|nanos| format!("<td>{}</td>", span(nanos)))
        .concat();
    format!("<tr><td>{}</td><td>{}</td>{cells}</tr>\n", escape(reason), times.count)
}

/// Escapes a text of several lines and keeps them.
fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}
