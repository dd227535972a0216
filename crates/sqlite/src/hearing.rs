//! Those who listen to broadcasts through this store, and what the worker has to know of them.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use futures_util::stream::{BoxStream, StreamExt};
use tenure_store::audience::Audience;
use tenure_store::{ElectionKey, Heard};
use tokio::task::JoinHandle;

use super::jobs::Jobs;
use super::listener::Descriptor;
use super::pulse::Pulse;

/// What was said is read by the worker, before its next job; here it is told that there is something to read, and that
/// listeners have come or gone.
#[derive(Default)]
pub(super) struct Hearing {
    audience: Arc<Audience>,
    has_changed: AtomicBool,
    is_called: AtomicBool,
    jobs: OnceLock<Weak<Jobs>>,
    /// Answers the bell while nobody else may.
    porter: Mutex<Option<JoinHandle<()>>>,
}

impl Hearing {
    /// The worker takes its jobs from here.
    pub(super) fn serve(&self, jobs: &Arc<Jobs>) {
        let _ = self.jobs.set(Arc::downgrade(jobs));
    }

    pub(super) fn audience(&self) -> &Audience {
        &self.audience
    }

    /// A stream of what is broadcast to an election. Must be called on a runtime.
    pub(super) fn listen(self: &Arc<Self>, pulse: &Arc<Pulse>, key: &ElectionKey) -> BoxStream<'static, Heard> {
        self.answer_bell(pulse);
        let listener = self.audience.join(key, Attention(Arc::clone(self)));
        self.change();
        listener.boxed()
    }

    /// There may be something to read.
    pub(super) fn call(&self) {
        if !self.is_called.swap(true, Ordering::AcqRel) {
            self.wake_worker();
        }
    }

    /// There still may be, when the worker comes to it.
    pub(super) fn call_later(&self) {
        self.is_called.store(true, Ordering::Release);
    }

    /// Whether there was, since this was last asked.
    pub(super) fn take_call(&self) -> bool {
        self.is_called.swap(false, Ordering::AcqRel)
    }

    /// Who listens has to be written down anew.
    pub(super) fn change(&self) {
        self.has_changed.store(true, Ordering::Release);
        self.wake_worker();
    }

    /// The same, when the worker comes to it.
    pub(super) fn change_later(&self) {
        self.has_changed.store(true, Ordering::Release);
    }

    /// Whether it had to be, since this was last asked.
    pub(super) fn take_change(&self) -> bool {
        self.has_changed.swap(false, Ordering::AcqRel)
    }

    /// A worker that has too much to do looks before its next job all the same.
    fn wake_worker(&self) {
        if let Some(jobs) = self.jobs.get().and_then(Weak::upgrade) {
            let _ = jobs.send(|_| ());
        }
    }

    /// One task for all listeners: each would need a descriptor of its own.
    fn answer_bell(&self, pulse: &Arc<Pulse>) {
        let mut porter = self.porter.lock().unwrap_or_else(PoisonError::into_inner);
        // The runtime it ran on may be gone.
        if porter.as_ref().is_none_or(JoinHandle::is_finished) {
            let pulse = Arc::downgrade(pulse);
            *porter = Some(tokio::spawn(async move {
                let mut descriptor = Descriptor::New;
                while let Some(pulse) = pulse.upgrade() {
                    descriptor.take(&pulse).await;
                }
            }));
        }
    }

    /// The store is closed.
    pub(super) fn end(&self) {
        let mut porter = self.porter.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(porter) = porter.take() {
            porter.abort();
        }
    }
}

impl fmt::Debug for Hearing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hearing").field("audience", &self.audience).finish_non_exhaustive()
    }
}

/// A stream that is alive.
struct Attention(Arc<Hearing>);

impl Drop for Attention {
    fn drop(&mut self) {
        self.0.change();
    }
}
