//! One election as a drawing.

use std::collections::BTreeMap;

use super::axis::Axis;
use super::markup::{escape, shorten};
use crate::checks::Check;
use crate::leadership::{Ending, ObservedLeadership};
use crate::show::span;
use crate::verdict::ElectionVerdict;

/// A piece of SVG and the room it takes.
pub(super) struct Drawing {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) body: String,
}

/// A whole SVG document around a piece.
pub(super) fn document(width: usize, height: usize, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

const LANE: usize = 26;
const BAR: usize = 18;
const HEAD: usize = 34;
const FOOT: usize = 34;
const MARGIN: usize = 16;
/// A drawing of few terms fills a screen; one of many grows, so that each keeps a few pixels.
const MIN_PLOT: usize = 1_000;
const MAX_PLOT: usize = 12_000;
const TERM_WIDTH: usize = 12;
/// What is shorter than this is shown as long as this, so that it can be seen.
const SEEN: f64 = 1.5;
const NAME_CHARS: usize = 26;
/// About how wide a character is.
const CHAR: usize = 7;
const NOBODY: &str = "nobody leads";
const WRONG: &str = "#c81e1e";
const COLOURS: [&str; 8] = ["#2f6f9f", "#4f7f3f", "#8a5a9e", "#b0782a", "#2e8b83", "#6b6fb5", "#7a6a4f", "#55708a"];

impl Drawing {
    pub(super) fn of(verdict: &ElectionVerdict) -> Self {
        let mut canvas = Canvas::new(verdict);
        canvas.head(verdict);
        canvas.lanes();
        canvas.vacancies(verdict);
        verdict.leaderships.iter().for_each(|leadership| canvas.bar(leadership));
        canvas.overlaps(verdict);
        canvas.time();
        canvas.drawing
    }
}

struct Canvas<'a> {
    drawing: Drawing,
    axis: Axis,
    plot: usize,
    /// Which lane is whose. The first lane is nobody's.
    lanes: BTreeMap<&'a str, usize>,
}

impl<'a> Canvas<'a> {
    fn new(verdict: &'a ElectionVerdict) -> Self {
        let leaderships = &verdict.leaderships;
        let mut lanes = BTreeMap::new();
        for leadership in leaderships {
            let next = lanes.len() + 1;
            lanes.entry(leadership.candidate.as_str()).or_insert(next);
        }
        let longest = lanes.keys().map(|name| name.chars().count()).max().unwrap_or_default();
        let label = longest.clamp(NOBODY.len(), NAME_CHARS) * CHAR + 12;
        let plot = (leaderships.len() * TERM_WIDTH).clamp(MIN_PLOT, MAX_PLOT);
        let start_ns = leaderships.iter().map(|leadership| leadership.start_boot_ns).min().unwrap_or_default();
        let end_ns = leaderships.iter().map(|leadership| leadership.end.boot_ns).max().unwrap_or_default();
        let axis =
            Axis { start_ns, span_ns: (end_ns - start_ns).max(1), left: (MARGIN + label) as f64, width: plot as f64 };
        let drawing = Drawing {
            width: MARGIN * 3 + label + plot,
            height: HEAD + (lanes.len() + 1) * LANE + FOOT,
            body: String::new(),
        };
        Self { drawing, axis, plot, lanes }
    }

    fn head(&mut self, verdict: &ElectionVerdict) {
        let (name, summary) = (shorten(verdict.election.as_str(), 60), escape(&verdict.summary()));
        self.put(&format!(
            "<text x=\"{MARGIN}\" y=\"22\" font-size=\"14\" font-weight=\"600\" fill=\"#1c2733\">{name}\
             <tspan dx=\"12\" font-size=\"12\" font-weight=\"400\" fill=\"#5b6773\">{summary}</tspan></text>"
        ));
    }

    fn lanes(&mut self) {
        let lanes: Vec<(&str, usize)> = self.lanes.iter().map(|(name, lane)| (*name, *lane)).collect();
        for (name, lane) in [(NOBODY, 0)].into_iter().chain(lanes) {
            let fill = if lane % 2 == 0 { "#f4f6f8" } else { "#fbfcfd" };
            self.rect(self.axis.left, lane, LANE, self.axis.width, &format!("fill=\"{fill}\""), "");
            let colour = if lane == 0 { "#8a949e" } else { "#1c2733" };
            let (x, y) = (MARGIN, middle(lane));
            self.put(&format!(
                "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\"><title>{}</title>{}</text>",
                escape(name),
                shorten(name, NAME_CHARS)
            ));
            self.repeat(name, lane);
        }
    }

    /// A lane that is wider than a screen says now and then whose it is.
    fn repeat(&mut self, name: &str, lane: usize) {
        let y = middle(lane);
        for distance in (MIN_PLOT..self.plot).step_by(MIN_PLOT) {
            let x = self.axis.left + distance as f64;
            self.put(&format!("<text x=\"{x:.0}\" y=\"{y}\" fill=\"#b3bcc5\">{}</text>", shorten(name, NAME_CHARS)));
        }
    }

    /// Where nobody led, with the time it took to change that.
    fn vacancies(&mut self, verdict: &ElectionVerdict) {
        for takeover in &verdict.takeovers {
            let (from, took) = (takeover.end_boot_ns, span(takeover.took_ns));
            let title = format!(
                "nobody led for {took}, from term {} ({}) to term {}",
                takeover.from_term, takeover.reason, takeover.to_term
            );
            let until = from + takeover.took_ns;
            self.block(&Block { from, until, lane: 0, style: "fill=\"#e79a9a\"", title, label: took, ink: "#7a1717" });
        }
    }

    fn bar(&mut self, leadership: &ObservedLeadership) {
        let ObservedLeadership { candidate, term, start_boot_ns, end, .. } = leadership;
        let lane = self.lanes.get(candidate.as_str()).copied().unwrap_or_default();
        let guess = if matches!(end.how, Ending::Lapsed | Ending::Untold) { " fill-opacity=\"0.6\"" } else { "" };
        let colour = COLOURS[lane % COLOURS.len()];
        let style = format!("fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"0.5\" rx=\"2\"{guess}");
        let led = span(end.boot_ns - start_boot_ns);
        let title = format!("{candidate}, term {term}: led for {led}, {}", end.how.reason());
        let (from, until) = (*start_boot_ns, end.boot_ns);
        self.block(&Block { from, until, lane, style: &style, title, label: term.to_string(), ink: "#ffffff" });
    }

    /// Over all lanes, because it concerns more than one.
    fn overlaps(&mut self, verdict: &ElectionVerdict) {
        let height = (self.lanes.len() + 1) * LANE;
        for violation in verdict.violations.iter().filter(|violation| violation.check == Check::Overlap) {
            let Some((from, until)) = violation.between_boot_ns else { continue };
            let (x, width) = self.place(from, until);
            let style = format!("fill=\"{WRONG}\" fill-opacity=\"0.45\" stroke=\"{WRONG}\"");
            self.rect(x, 0, height, width, &style, &violation.message);
        }
    }

    fn time(&mut self) {
        let (top, bottom) = (HEAD, HEAD + (self.lanes.len() + 1) * LANE);
        for (x, label) in self.axis.ticks(90.0) {
            self.put(&format!(
                "<path d=\"M{x:.1} {top}V{}\" stroke=\"#1c2733\" stroke-opacity=\"0.12\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"11\" fill=\"#5b6773\">{label}</text>",
                bottom + 4,
                bottom + 18
            ));
        }
    }

    /// A bar with a label if there is room for it, and with what it means when pointed at.
    fn block(&mut self, block: &Block<'_>) {
        let Block { from, until, lane, style, title, label, ink } = block;
        let (x, width) = self.place(*from, *until);
        self.rect(x, *lane, BAR, width, style, title);
        if (label.chars().count() * CHAR + 4) as f64 <= width {
            let (x, y) = (x + width / 2.0, middle(*lane));
            self.put(&format!(
                "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\" font-size=\"11\" fill=\"{ink}\" \
                 pointer-events=\"none\">{label}</text>"
            ));
        }
    }

    /// Where a span begins and how wide it is, wide enough to be seen and inside of the plot.
    fn place(&self, from: u64, until: u64) -> (f64, f64) {
        let (left, right) = (self.axis.x(from), self.axis.x(until));
        let width = (right - left).max(SEEN);
        (left.min(self.axis.right() - width), width)
    }

    fn rect(&mut self, x: f64, lane: usize, height: usize, width: f64, style: &str, title: &str) {
        let y = HEAD + lane * LANE + LANE.saturating_sub(height) / 2;
        let title = if title.is_empty() { String::new() } else { format!("<title>{}</title>", escape(title)) };
        self.put(&format!(
            "<rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{height}\" {style}>{title}</rect>"
        ));
    }

    fn put(&mut self, piece: &str) {
        self.drawing.body.push_str(piece);
        self.drawing.body.push('\n');
    }
}

/// A bar in a lane.
struct Block<'a> {
    from: u64,
    until: u64,
    lane: usize,
    style: &'a str,
    title: String,
    label: String,
    ink: &'a str,
}

/// The base line of text in a lane.
fn middle(lane: usize) -> usize {
    HEAD + lane * LANE + LANE / 2 + 4
}
