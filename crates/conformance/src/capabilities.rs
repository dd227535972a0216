//! The capabilities that a store claims.

use tenure_store::Severity;

use super::Fixture;
use super::player::Player;

pub(super) async fn capabilities_are_stated_in_a_sentence(fixture: &dyn Fixture) {
    let capabilities = fixture.open().await.capabilities();
    assert!(!capabilities.name.trim().is_empty(), "a store has a name");
    let statement = capabilities.statement.trim();
    assert!(statement.len() > 1 && statement.ends_with('.'), "{statement:?} is not a sentence");
    assert!(!capabilities.min_ttl.is_zero(), "no store can keep a lease of no time");
}

pub(super) async fn a_store_that_works_is_found_well(fixture: &dyn Fixture) {
    let findings = fixture.open().await.examine().await;
    let bad: Vec<_> = findings.iter().filter(|finding| finding.severity == Severity::Bad).collect();
    assert!(!findings.is_empty() && bad.is_empty(), "{findings:?}");
}

pub(super) async fn an_examination_disturbs_no_election(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    one.store.examine().await;
    one.keeps(term).await;
    let listed = one.store.elections(&one.key.namespace).await.expect("a list");
    assert_eq!(listed, std::slice::from_ref(&one.key.name), "nothing is left behind");
}
