//! The leader is given its messages, and nobody else is.

use tenure_store::{Receive, Received};

use super::Fixture;
use super::correspondence::{CHANNEL, channel, ids, line};
use super::player::{Player, almost_pass, fresh_nonce, pass, pass_the_rest};

pub(super) async fn only_the_channels_asked_for_are_received(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let batch = ["a", "b", "A", "a"].map(|name| one.writes_on(name, "1"));
    one.sends_all(&batch).await;
    let term = one.wins().await;
    let on =
        |names: &[&str]| Receive { channels: names.iter().map(|name| channel(name)).collect(), ..one.as_receipt(term) };
    assert_eq!(ids(&one.is_given(&on(&["a"])).await), [batch[0].id, batch[3].id]);
    assert_eq!(ids(&one.is_given(&on(&["b", "a"])).await), [batch[0].id, batch[1].id, batch[3].id]);
    assert_eq!(one.is_given(&on(&["c"])).await, []);
    assert_eq!(one.is_given(&on(&[])).await, []);
}

pub(super) async fn lines_that_are_held_back_are_left_out(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let batch = [one.writes("1"), other.writes("2"), one.writes_on("other channel", "3"), one.writes("4")];
    one.sends_all(&batch).await;
    let term = one.wins().await;
    let except = |lines: Vec<tenure_store::OrderingKey>| Receive {
        channels: vec![channel(CHANNEL), channel("other channel")],
        except: lines,
        ..one.as_receipt(term)
    };
    let received = one.is_given(&except(vec![line(CHANNEL, "one")])).await;
    assert_eq!(ids(&received), [batch[1].id, batch[2].id], "one sender on one channel");
    let received = one.is_given(&except(vec![line(CHANNEL, "other"), line("other channel", "one")])).await;
    assert_eq!(ids(&received), [batch[0].id, batch[3].id]);
    let nobody = one.is_given(&except(vec![line("one", CHANNEL), line("unknown", "one")])).await;
    assert_eq!(nobody.len(), 4, "both have to be the same");
}

pub(super) async fn a_line_that_is_held_back_leaves_room_for_others(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let batch: Vec<_> = (0..50).map(|number| one.writes(&number.to_string())).collect();
    one.sends_all(&batch).await;
    let id = other.sends("1").await;
    let term = one.wins().await;
    let request = Receive { except: vec![line(CHANNEL, "one")], limit: 1, ..one.as_receipt(term) };
    assert_eq!(ids(&one.is_given(&request).await), [id]);
}

pub(super) async fn receiving_stops_at_its_limit(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let batch: Vec<_> = (0..5).map(|number| one.writes(&number.to_string())).collect();
    one.sends_all(&batch).await;
    let term = one.wins().await;
    for limit in [0, 1, 3, 5] {
        let received = one.is_given(&Receive { limit, ..one.as_receipt(term) }).await;
        let first: Vec<_> = batch[..limit].iter().map(|new_message| new_message.id).collect();
        assert_eq!(ids(&received), first);
    }
}

pub(super) async fn receiving_takes_nothing_away(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let id = one.sends("1").await;
    let term = one.wins().await;
    for _ in 0..3 {
        let received = one.receives(term).await;
        assert_eq!((ids(&received), received[0].attempts), (vec![id], 0));
    }
}

pub(super) async fn receiving_needs_nonce_and_term(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    one.sends("1").await;
    let term = one.wins().await;
    let right = one.as_receipt(term);
    let later = tenure_core::Term::after(Some(term)).expect("a term");
    assert_eq!(one.asks(&Receive { nonce: fresh_nonce(), ..right.clone() }).await, Received::NotHolder);
    assert_eq!(one.asks(&Receive { term: later, ..right.clone() }).await, Received::NotHolder);
    assert_eq!(one.is_given(&right).await.len(), 1);
}

pub(super) async fn whoever_does_not_lead_receives_nothing(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    one.sends("1").await;
    let first = tenure_core::Term::after(None).expect("a term");
    assert_eq!(one.asks(&one.as_receipt(first)).await, Received::NotHolder, "nobody ever led");
    let term = one.wins().await;
    other.is_kept_out().await;
    assert_eq!(other.asks(&other.as_receipt(term)).await, Received::NotHolder, "somebody else leads");
    one.resigns(term).await;
    assert_eq!(one.asks(&one.as_receipt(term)).await, Received::NotHolder, "it has resigned");
    other.wins().await;
    assert_eq!(one.asks(&one.as_receipt(term)).await, Received::NotHolder, "somebody else leads again");
}

pub(super) async fn an_expired_holder_receives_nothing(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    one.sends("1").await;
    let term = one.wins().await;
    pass(fixture, one.ttl).await;
    assert_eq!(one.asks(&one.as_receipt(term)).await, Received::NotHolder);
}

pub(super) async fn receiving_prolongs_nothing(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let term = one.wins().await;
    almost_pass(fixture, one.ttl).await;
    assert_eq!(one.receives(term).await, []);
    pass_the_rest(fixture).await;
    one.has_lost(term).await;
}
