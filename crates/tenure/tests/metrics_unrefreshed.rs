//! Gauges follow events even if nobody refreshes them, so in this process nobody does.

use metrics_exporter_prometheus::PrometheusBuilder;
use tenure::blocking::Client;
use tenure_testkit::eventually;

#[test]
fn gauges_follow_events() {
    let exporter = PrometheusBuilder::new().install_recorder().unwrap();
    let shows = |leaders: u32| {
        let line = format!("tenure_is_leader{{key_class=\"x\",key_kind=\"election\"}} {leaders}");
        eventually(&line, || exporter.render().lines().any(|shown| shown == line));
    };
    let client = Client::open("memory:").unwrap();
    let first = client.election("x:1").unwrap().candidate().start().unwrap();
    shows(1);
    let second = client.election("x:2").unwrap().candidate().start().unwrap();
    shows(2);
    first.stop();
    shows(1);
    second.stop();
    shows(0);
}
