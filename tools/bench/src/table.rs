//! Figures beside their targets, as a table that can be pasted into a page.

use std::fmt;

/// Rows in the order in which they were measured.
#[derive(Default)]
pub(crate) struct FigureTable(Vec<Row>);

struct Row {
    figure: String,
    measured: String,
    beside: String,
    ratio: Option<f64>,
    target: Option<FigureTarget>,
}

struct FigureTarget {
    text: String,
    is_met: bool,
}

impl FigureTable {
    /// A figure that nothing is demanded of.
    pub(crate) fn fact(&mut self, figure: impl Into<String>, measured: impl Into<String>, beside: impl Into<String>) {
        self.add(figure.into(), measured.into(), beside.into(), None, None);
    }

    /// A figure that must not be more than so many times what it stands beside.
    pub(crate) fn ratio(
        &mut self,
        figure: impl Into<String>,
        measured: impl Into<String>,
        beside: impl Into<String>,
        ratio: f64,
        at_most: f64,
    ) {
        let target = FigureTarget { text: format!("at most {at_most} times"), is_met: ratio <= at_most };
        self.add(figure.into(), measured.into(), beside.into(), Some(ratio), Some(target));
    }

    /// A figure that something else is demanded of.
    pub(crate) fn demand(
        &mut self,
        figure: impl Into<String>,
        measured: impl Into<String>,
        beside: impl Into<String>,
        target: impl Into<String>,
        is_met: bool,
    ) {
        self.add(
            figure.into(),
            measured.into(),
            beside.into(),
            None,
            Some(FigureTarget { text: target.into(), is_met }),
        );
    }

    /// Rows are told at once, too, as the whole takes minutes.
    fn add(
        &mut self,
        figure: String,
        measured: String,
        beside: String,
        ratio: Option<f64>,
        target: Option<FigureTarget>,
    ) {
        let row = Row { figure, measured, beside, ratio, target };
        eprintln!("{row}");
        self.0.push(row);
    }
}

impl fmt::Display for FigureTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| figure | measured | beside | ratio | target | met |\n|---|---|---|---|---|---|")?;
        self.0.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { figure, measured, beside, ratio, target } = self;
        let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        let (target, is_met) = match target {
            Some(FigureTarget { text, is_met }) => (text.as_str(), if *is_met { "yes" } else { "**no**" }),
            None => ("", ""),
        };
        write!(f, "| {figure} | {measured} | {beside} | {ratio} | {target} | {is_met} |")
    }
}
