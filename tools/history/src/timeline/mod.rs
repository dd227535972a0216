//! A history to look at: one lane per candidate, bars of leadership, and everything that is wrong in red.

mod axis;
mod drawing;
mod markup;
mod page;

use crate::verdict::HistoryVerdict;

pub use page::html;

use drawing::Drawing;

/// All elections below each other, as one SVG file. It loads nothing from anywhere, and all text in it is escaped.
#[must_use]
pub fn svg(verdict: &HistoryVerdict) -> String {
    let drawings: Vec<Drawing> = verdict.elections.iter().map(Drawing::of).collect();
    let width = drawings.iter().map(|drawing| drawing.width).max().unwrap_or_default();
    let height: usize = drawings.iter().map(|drawing| drawing.height).sum();
    let mut top = 0;
    let mut body = String::new();
    for drawing in &drawings {
        body.push_str(&format!("<g transform=\"translate(0 {top})\">\n{}</g>\n", drawing.body));
        top += drawing.height;
    }
    drawing::document(width, height, &body)
}
