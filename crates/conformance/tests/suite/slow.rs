//! What a slow machine does to a property.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use tenure::conformance::{ALL, Fixture, prove};
use tenure::store::{MemoryStore, RESERVATION, Store, async_trait};
use tenure::testing::{Fault, FaultyStore, Operation};

/// A store whose clock is the real one.
struct RealTime(Arc<FaultyStore>);

impl RealTime {
    fn new() -> Self {
        Self(FaultyStore::new(Arc::new(MemoryStore::new())))
    }
}

#[async_trait]
impl Fixture for RealTime {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::clone(&self.0) as Arc<dyn Store>
    }

    async fn advance(&self, by: Duration) {
        // Waits because the real clock cannot be moved.
        tokio::time::sleep(by).await;
    }
}

/// Proves a property that looks at a reservation, on stores with these faults, one after the other, and then on one with
/// none. Returns how many were needed, too.
fn prove_with(faults: &[Fault]) -> (usize, Result<(), String>) {
    let property = ALL.iter().find(|(name, _)| *name == "nobody_else_is_granted_a_reserved_lease").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let made = Cell::new(0);
    let proof = runtime.block_on(prove(property, async || {
        let fixture = RealTime::new();
        if let Some(fault) = faults.get(made.replace(made.get() + 1)) {
            fixture.0.inject(Operation::Resign, fault.clone());
        }
        fixture
    }));
    (made.get(), proof)
}

#[test]
fn what_ran_out_before_it_was_looked_at_is_looked_at_again() {
    let late = Fault::DelayReply(RESERVATION);
    assert_eq!(prove_with(&[late.clone(), late]), (3, Ok(())));
}

#[test]
fn what_fails_in_time_has_failed() {
    let (tries, proof) = prove_with(&[Fault::LoseReply]);
    assert_eq!(tries, 1, "{proof:?}");
    assert!(proof.is_err());
}
