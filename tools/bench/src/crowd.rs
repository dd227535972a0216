//! Many followers of one leader: what they cost while nothing happens, and what happens when the leader resigns.

use std::error::Error;
use std::time::Duration;

use crate::figures::pass;
use crate::handover::{Candidates, Contestant};
use crate::scale::Scale;
use crate::stats::Samples;
use crate::table::FigureTable;
use crate::work::AskServer;

/// Who they are, and what their server counts.
pub(crate) struct FollowerCrowd<'a> {
    /// What follows in the names of the figures.
    pub(crate) what: &'a str,
    /// What calls are called there.
    pub(crate) calls: &'a str,
    /// One of them leads.
    pub(crate) candidates: Candidates,
}

impl FollowerCrowd<'_> {
    /// Watches all of them.
    pub(crate) fn watch(
        mut self,
        scale: &Scale,
        ask: AskServer<'_>,
        table: &mut FigureTable,
    ) -> Result<(), Box<dyn Error>> {
        let Scale { followers, crowd_ttl: ttl, .. } = *scale;
        let (what, calls) = (self.what, self.calls);
        // Whoever came before its pushes could be heard asks again.
        std::thread::sleep(ttl / 5);
        let before = ask()?;
        pass(&format!("{followers} followers{what}"), scale.crowd_watch);
        let idle = ask()?.since(&before);
        table.fact(
            format!("{followers} idle followers of one leader at a ttl of {} s{what}", ttl.as_secs_f64()),
            format!("{:.1} {calls} per second", idle.calls_per_second()),
            format!("{:.2} % CPU of the server", idle.cpu_percent()),
        );
        let [mut took, mut called, mut usual, mut pushed] = std::array::from_fn(|_| Samples::default());
        for _ in 0..scale.resignations {
            // Who was told to look after the last reservation has looked by then.
            std::thread::sleep(REST);
            let before = ask()?;
            took.push_micros(self.candidates.once()?);
            std::thread::sleep(AFTERMATH);
            let done = ask()?.since(&before);
            called.push(done.calls);
            done.pushes.into_iter().for_each(|pushes| pushed.push(pushes));
            usual.push(idle.calls_per_second() * done.seconds);
        }
        self.candidates.end();
        let pushed = match pushed.median() {
            pushed if pushed.is_nan() => String::new(),
            pushed => format!(", and {pushed:.0} messages published"),
        };
        table.demand(
            format!("one of {} resigns{what}: {calls} around it", followers + 1),
            format!("{:.0}, worst {:.0}{pushed}", called.median(), called.max()),
            format!("{:.1} as always, and one each to resign and to campaign", usual.median()),
            "at most 10 more than always",
            called.median() <= usual.median() + 10.0,
        );
        table.fact(
            format!("one of {} resigns{what}: time to the next leader", followers + 1),
            format!("p50 {:.0} µs, worst {:.0} µs", took.median(), took.max()),
            "",
        );
        Ok(())
    }
}

/// Longer than a lease is reserved for.
const REST: Duration = Duration::from_millis(1_500);
/// Whoever was woken has asked by then, and few others have.
const AFTERMATH: Duration = Duration::from_millis(30);
