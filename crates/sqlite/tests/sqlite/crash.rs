//! kill -9 in the middle of writing.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::{Other, place};

#[test]
fn terms_grow_however_often_processes_are_killed() {
    let (_directory, path) = place();
    let mut seen = BTreeSet::new();
    for round in 0..40u64 {
        let before = seen.last().copied().unwrap_or(0);
        let mut pair = [Other::start("hammer", &path), Other::start("hammer", &path)];
        // Both are at work before one is killed; the moment of the kill is what varies.
        let first: Vec<u64> = pair.iter_mut().map(|other| other.line().unwrap().parse().unwrap()).collect();
        // Waits because every round is to strike at another point of a transaction.
        std::thread::sleep(Duration::from_micros(round * 137));
        pair.iter_mut().for_each(Other::kill);
        for (other, first) in pair.into_iter().zip(first) {
            let terms: Vec<u64> =
                [first].into_iter().chain(other.rest().iter().filter_map(|line| line.parse().ok())).collect();
            assert!(terms.is_sorted_by(|earlier, later| earlier < later), "round {round}: {terms:?}");
            assert!(first > before, "round {round}: {first} after {before}");
            for term in terms {
                assert!(seen.insert(term), "round {round}: term {term} was given twice");
            }
        }
    }
}
