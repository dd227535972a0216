//! `docs/metrics.md`: metrics of a command, read as Prometheus reads them.

use crate::stage::{Stage, lines};

pub(crate) fn commands([both]: [String; 1]) {
    let stage = Stage::new();
    stage.program("nightly-report.sh", "exec sleep 600");
    let [run, read] = lines(&stage.here(&both));
    let [mut first, mut second] = [stage.terminal(), stage.terminal()];
    first.enter(&format!("{run}\n"));
    first.tells("leading nightly, term 1");
    let page = second.does(&read);
    assert!(page.contains("\ntenure_campaign_failures_total{"), "{page}");
}
