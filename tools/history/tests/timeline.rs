//! The drawings: whose text they show, what is marked, and how they grow.

use tenure_history::{History, HistoryVerdict, Limits, timeline};

fn verdict(lines: impl IntoIterator<Item = String>) -> HistoryVerdict {
    History::parse(lines).verdict(&Limits::default())
}

/// Leaderships one after the other, each a second long and a tenth of a second apart.
fn terms(candidates: u64, count: u64) -> impl Iterator<Item = String> {
    (1..=count).flat_map(move |term| {
        let (candidate, start) = (term % candidates, term * 1_100_000_000);
        [
            format!(r#"{{"event":"elected","election":"e","candidate":"c{candidate}","term":{term},"boot_ns":{start}}}"#),
            format!(
                r#"{{"event":"lost","election":"e","candidate":"c{candidate}","term":{term},"reason":"resigned","boot_ns":{}}}"#,
                start + 1_000_000_000
            ),
        ]
    })
}

fn attribute(svg: &str, name: &str) -> usize {
    let value = svg.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
    value.and_then(|value| value.parse().ok()).unwrap_or_default()
}

#[test]
fn text_of_strangers_stays_text() {
    let hostile = "</title></text><script>alert('\\\"1')</script>&";
    let line = |event: &str, boot_ns: u64| {
        format!(
            r#"{{"event":"{event}","election":"{hostile}","candidate":"{hostile}","term":1,"reason":"{hostile}","boot_ns":{boot_ns}}}"#
        )
    };
    let register = format!(r#"{{"event":"accepted","resource":"{hostile}","term":1,"boot_ns":1}}"#);
    let verdict = verdict([line("elected", 1), line("lost", 2), line("lost", 3), register]);
    assert!(verdict.malformed.is_empty() && verdict.violations().count() == 1, "{verdict}");
    for drawn in [timeline::svg(&verdict), timeline::html(&verdict)] {
        assert!(drawn.contains("&lt;script&gt;"), "{drawn}");
        assert!(!drawn.contains("<script") && !drawn.contains("alert('"), "{drawn}");
    }
}

#[test]
fn a_page_loads_nothing() {
    let page = timeline::html(&verdict(terms(2, 3)));
    assert!(page.contains("default-src 'none'"));
    let addresses = page.matches("http").count();
    assert_eq!(addresses, page.matches("http://www.w3.org/2000/svg").count() + page.matches("http-equiv").count());
    assert!(!page.contains("src=") && !page.contains("href=") && !page.contains("url("), "{page}");
}

#[test]
fn every_term_has_a_bar_and_every_change_a_gap() {
    let svg = timeline::svg(&verdict(terms(3, 4)));
    for term in 1..=4 {
        assert!(svg.contains(&format!("term {term}: led for 1.00 s, resigned")), "{svg}");
    }
    assert_eq!(svg.matches("<title>nobody led for 100.0 ms").count(), 3);
}

#[test]
fn an_overlap_is_marked_and_told() {
    let overlapping = terms(2, 2).map(|line| line.replace("2200000000", "1600000000"));
    let verdict = verdict(overlapping);
    assert_eq!(verdict.violations().count(), 1, "{verdict}");
    let marked = "stroke=\"#c81e1e\"><title>c1 under term 1 and c0 under term 2 led at once for 500.0 ms";
    assert!(timeline::svg(&verdict).contains(marked));
    let page = timeline::html(&verdict);
    assert!(page.contains("1 violation</span>") && page.contains("<li>overlap: c1 under term 1"));
}

#[test]
fn a_drawing_grows_with_candidates_and_terms_and_keeps_its_labels() {
    let (small, tall, long) = (
        timeline::svg(&verdict(terms(2, 2))),
        timeline::svg(&verdict(terms(50, 50))),
        timeline::svg(&verdict(terms(2, 1_000))),
    );
    assert_eq!(attribute(&tall, "height") - attribute(&small, "height"), 48 * 26);
    assert_eq!(attribute(&tall, "width"), attribute(&small, "width"));
    assert!(attribute(&long, "width") > 10 * 1_000);
    // The names of the lanes come again for every screen, besides the label and its tooltip.
    assert_eq!(small.matches(">c1<").count(), 2);
    assert_eq!(long.matches(">c1<").count(), 2 + 11);
}

#[test]
fn the_oddest_history_can_be_drawn() {
    let odd = |boot_ns: u64| {
        format!(
            r#"{{"event":"elected","election":"e","candidate":"a","term":1,"boot_ns":{boot_ns},"trusted_until_boot_ns":0}}"#
        )
    };
    for verdict in [verdict([]), verdict([odd(0)]), verdict([odd(u64::MAX)]), verdict([odd(0), odd(u64::MAX)])] {
        let drawn = timeline::svg(&verdict) + &timeline::html(&verdict);
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
}
