//! Drops values of the application on a thread where that can do no harm.
//!
//! The captured values of a callback are dropped with its last owner, which may be the driver. A drop may
//! take long, or panic, and a runtime must not be dropped inside another: so it is left to a thread of its own.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::contain::contain;
use crate::on_demand_thread::OnDemandThread;

thread_local! {
    /// Where this thread leaves what it must not drop itself; most threads may.
    static DISPOSER: RefCell<Option<Arc<Disposer>>> = const { RefCell::new(None) };
}

/// What is left to be dropped, and the thread that does it while there is something.
#[derive(Default)]
struct Disposer {
    waiting: Mutex<VecDeque<Box<dyn Send>>>,
    on_demand: OnDemandThread,
}

/// From here on, nothing of the application is dropped on this thread.
pub(crate) fn leave_to_others() {
    DISPOSER.with(|disposer| *disposer.borrow_mut() = Some(Arc::default()));
}

/// Drops something of the application.
pub(crate) fn dispose(thing: Box<dyn Send>) {
    let disposer = DISPOSER.try_with(|disposer| disposer.borrow().clone()).ok().flatten();
    match disposer {
        Some(disposer) => disposer.take(thing),
        // A panic is told by whoever tells of panics. On a thread of ours it must end nothing, and on one of the
        // application's it would come out of a drop.
        None => drop(contain(|| drop(thing))),
    }
}

impl Disposer {
    fn take(self: Arc<Self>, thing: Box<dyn Send>) {
        self.waiting().push_back(thing);
        let disposer = Arc::clone(&self);
        let run = move || {
            while let Some(thing) = disposer.on_demand.next(|| disposer.waiting().pop_front()) {
                drop(contain(|| drop(thing)));
            }
        };
        if let Err(error) = self.on_demand.begin("tenure-disposal", run) {
            // It is found by the next thread that can be started.
            log!(warn, %error, "captured values of a callback cannot be dropped now");
        }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Box<dyn Send>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Disposer {
    /// No thread could be started for these, and the one that left them here must not drop them.
    fn drop(&mut self) {
        std::mem::forget(std::mem::take(&mut *self.waiting()));
    }
}
