//! Documents, alert rules and the dashboard tell of the metrics there are, and of no others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tenure::metrics::{ALL, Label, Metric, MetricKind};
use tenure_testkit::promtool::promtool;

const RULES: &str = "deploy/prometheus/tenure-alerts.yml";
const RULES_TEST: &str = "deploy/prometheus/tenure-alerts-test.yml";
const DASHBOARD: &str = "deploy/grafana/tenure-dashboard.json";
const DOCUMENT: &str = "docs/metrics.md";

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

fn read(file: &str) -> String {
    std::fs::read_to_string(path(file)).unwrap()
}

/// The words of a text that look like names of ours.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("tenure_") || word.starts_with("leader_")).collect()
}

/// A histogram is shown as three series.
fn is_shown_as(metric: &Metric, name: &str) -> bool {
    let part = name.strip_prefix(metric.name);
    match metric.kind {
        MetricKind::Histogram => part.is_some_and(|part| ["_bucket", "_sum", "_count"].contains(&part)),
        MetricKind::Counter | MetricKind::Gauge => part == Some(""),
    }
}

fn expressions(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// The expressions of the rules: each is on one line.
fn rule_expressions() -> Vec<String> {
    read(RULES).lines().filter_map(|line| Some(line.trim().strip_prefix("expr: ")?.to_owned())).collect()
}

#[test]
fn the_table_is_the_list() {
    let row = |metric: &Metric| {
        let kind = metric.kind;
        let labels: Vec<String> = metric.labels().iter().map(|label| format!("`{label}`")).collect();
        format!("| `{}` | {kind} | {} | {} |", metric.name, labels.join(", "), metric.help)
    };
    let expected: Vec<String> = ALL.iter().map(row).collect();
    let document = read(DOCUMENT);
    let is_row = |line: &&str| line.starts_with("| `tenure_") || line.starts_with("| `leader_");
    let written: Vec<&str> = document.lines().filter(is_row).collect();
    assert_eq!(written, expected, "the table should be\n{}", expected.join("\n"));
    for label in ALL.iter().filter_map(|metric| metric.label) {
        for value in label.values {
            assert!(document.contains(&format!("`{value}`")), "nobody tells of {}={value}", label.name);
        }
    }
}

#[test]
fn rules_and_dashboard_use_only_metrics_that_exist() {
    let dashboard: Value = serde_json::from_str(&read(DASHBOARD)).unwrap();
    let (rules, panels) = (rule_expressions(), expressions(&dashboard));
    assert!(rules.len() > 5 && panels.len() > 5);
    for expression in rules.iter().chain(&panels) {
        let names = names(expression);
        assert!(!names.is_empty(), "{expression}");
        for name in names {
            assert!(ALL.iter().any(|metric| is_shown_as(metric, name)), "no {name} for {expression}");
        }
    }
    let all = panels.join(" ");
    for metric in ALL {
        let shown = names(&all).into_iter().any(|name| is_shown_as(metric, name));
        assert!(shown, "the dashboard does not show {}", metric.name);
    }
    for file in [RULES, RULES_TEST, DOCUMENT] {
        let text = read(file);
        for name in names(&text) {
            let known = ALL.iter().any(|metric| metric.name == name || is_shown_as(metric, name));
            assert!(known, "{file} tells of {name}, which does not exist");
        }
    }
}

#[test]
fn labels_in_expressions_have_the_values_they_can_have() {
    let dashboard: Value = serde_json::from_str(&read(DASHBOARD)).unwrap();
    let kind = Label { name: "key_kind", values: &["election", "lock"] };
    for label in ALL.iter().filter_map(|metric| metric.label).chain([kind]) {
        for expression in rule_expressions().iter().chain(&expressions(&dashboard)) {
            let parts = expression.split(['{', ',', '}']).map(str::trim);
            let matched = parts.filter_map(|part| part.strip_prefix(label.name)?.strip_prefix('='));
            for value in matched.filter_map(|rest| rest.trim_start_matches('~').strip_prefix('"')?.split('"').next()) {
                assert!(value.split('|').all(|value| label.values.contains(&value)), "{value} in {expression}");
            }
        }
    }
}

#[test]
fn prometheus_takes_the_rules_and_they_do_what_they_should() {
    promtool(&["check", "rules", path(RULES).to_str().unwrap()], "");
    promtool(&["test", "rules", path(RULES_TEST).to_str().unwrap()], "");
    let (rules, tested, told) = (read(RULES), read(RULES_TEST), read(DOCUMENT));
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert_eq!(alerts.len(), rule_expressions().len());
    for alert in alerts {
        let start = format!("alertname: {alert}\n");
        let mut expected = tested.split(&start).skip(1);
        assert!(expected.any(|rest| rest.trim_start().starts_with("exp_alerts:")), "{alert} is not tested");
        assert!(told.contains(&format!("| `{alert}` |")), "{alert} is not in {DOCUMENT}");
    }
}

#[test]
fn grafana_finds_what_it_needs_in_the_dashboard() {
    let dashboard: Value = serde_json::from_str(&read(DASHBOARD)).unwrap();
    assert!(dashboard["id"].is_null() && dashboard["uid"].is_string() && dashboard["title"].is_string());
    assert!(dashboard["schemaVersion"].as_u64() >= Some(36) && dashboard["time"]["from"].is_string());
    let variables: BTreeSet<&str> =
        dashboard["templating"]["list"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(variables, BTreeSet::from(["datasource", "key_class"]));
    let panels = dashboard["panels"].as_array().unwrap();
    let mut taken = BTreeSet::new();
    for panel in panels {
        assert!(["timeseries", "stat"].contains(&panel["type"].as_str().unwrap()), "{panel}");
        assert!(panel["title"].is_string() && panel["description"].is_string(), "{panel}");
        assert_eq!(panel["datasource"]["uid"], "${datasource}");
        let at = |side: &str| panel["gridPos"][side].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24, "{panel}");
        for (x, y) in (at("x")..at("x") + at("w")).flat_map(|x| (at("y")..at("y") + at("h")).map(move |y| (x, y))) {
            assert!(taken.insert((x, y)), "two panels in one place: {panel}");
        }
        let references: Vec<&Value> = panel["targets"].as_array().unwrap().iter().map(|it| &it["refId"]).collect();
        assert!(references.iter().enumerate().all(|(at, it)| !references[..at].contains(it)), "{panel}");
    }
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
}

/// Grafana puts in its variables; after that it has to be what Prometheus understands.
#[test]
fn prometheus_understands_every_panel() {
    let dashboard: Value = serde_json::from_str(&read(DASHBOARD)).unwrap();
    let mut rules = "groups:\n- name: panels\n  rules:\n".to_owned();
    for (number, expression) in expressions(&dashboard).iter().enumerate() {
        let expression = expression.replace("$__rate_interval", "1m").replace("$key_class", ".*");
        assert!(!expression.contains('$'), "{expression}");
        rules += &format!("  - record: panel_{number}\n    expr: {}\n", serde_json::to_string(&expression).unwrap());
    }
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("panels.yml");
    std::fs::write(&file, rules).unwrap();
    promtool(&["check", "rules", file.to_str().unwrap()], "");
}
