//! Classes are bounded for a whole process, so this is one.

use std::collections::BTreeSet;

use metrics_exporter_prometheus::PrometheusBuilder;
use tenure::blocking::Client;
use tenure::metrics;

#[test]
fn many_elections_have_few_classes() {
    let exporter = PrometheusBuilder::new().install_recorder().unwrap();
    let client = Client::open("memory:").unwrap();
    let start = |name: String| client.election(&name).unwrap().candidate().start().unwrap();
    let candidacies: Vec<_> = (0..300).map(|number| start(format!("kind-{}:{number}", number % 100))).collect();
    for candidacy in &candidacies {
        candidacy.elected().unwrap();
    }
    metrics::refresh();
    let page = exporter.render();
    let leading = |line: &str| {
        let (class, count) =
            line.strip_prefix("tenure_is_leader{key_class=\"")?.split_once("\",key_kind=\"election\"} ")?;
        Some((class.to_owned(), count.parse::<u32>().unwrap()))
    };
    let shown: Vec<(String, u32)> = page.lines().filter_map(leading).collect();
    let classes: BTreeSet<&String> = shown.iter().map(|(class, _)| class).collect();
    assert_eq!((shown.len(), classes.len()), (metrics::MAX_CLASSES, metrics::MAX_CLASSES));
    assert_eq!(shown.iter().map(|(_, count)| count).sum::<u32>(), 300, "none is lost");
    let others = shown.iter().find(|(class, _)| class == metrics::OTHER).unwrap();
    assert_eq!(others.1, 3 * 37, "three of each kind that found no room");
    assert!(!page.contains("kind-99") && !page.contains(":1"), "no names of elections:\n{page}");
}
