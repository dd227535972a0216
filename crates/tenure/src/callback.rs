//! Callbacks of the application, run on threads of their own, one at a time per election, so that they never affect a lease.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use tenure_core::{LossReason, Term};

use crate::block_on::block_on;
use crate::contain::contain;
use crate::disposal::dispose;
use crate::event::ElectionError;
use crate::inside;
use crate::leadership::{Leadership, Work};
use crate::on_demand_thread::OnDemandThread;
use crate::shared::Shared;

/// The return type of a callback: `()`, or a `Result` whose error is reported.
pub trait CallbackResult: sealed::Sealed {
    #[doc(hidden)]
    fn into_failure(self) -> Option<String>;
}

impl CallbackResult for () {
    fn into_failure(self) -> Option<String> {
        None
    }
}

impl<E: fmt::Display> CallbackResult for Result<(), E> {
    fn into_failure(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl<E> Sealed for Result<(), E> {}
}

/// The outcome of a callback: known at once, or when its future has run.
pub(crate) enum CallbackOutcome {
    Now(Option<String>),
    Later(BoxFuture<'static, Option<String>>),
}

type CallbackFn<T> = Box<dyn Fn(T) -> CallbackOutcome + Send + Sync>;

/// The callbacks that the application has registered.
#[derive(Clone, Default)]
pub(crate) struct Callbacks {
    pub(crate) elected: Option<Callback<Leadership>>,
    pub(crate) lost: Option<Callback<(Term, LossReason)>>,
    pub(crate) error: Option<Callback<ElectionError>>,
}

impl Callbacks {
    pub(crate) fn is_empty(&self) -> bool {
        self.elected.is_none() && self.lost.is_none() && self.error.is_none()
    }
}

/// A callback of the application. Its captured values are dropped only on threads where that can do no harm.
pub(crate) struct Callback<T: 'static>(Arc<OwnedCallback<T>>);

/// None once it is being dropped.
struct OwnedCallback<T: 'static>(Option<CallbackFn<T>>);

impl<T> Drop for OwnedCallback<T> {
    fn drop(&mut self) {
        if let Some(callback) = self.0.take() {
            dispose(Box::new(callback));
        }
    }
}

impl<T> Clone for Callback<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: 'static> Callback<T> {
    pub(crate) fn sync<R: CallbackResult>(callback: impl Fn(T) -> R + Send + Sync + 'static) -> Self {
        Self::new(Box::new(move |argument| CallbackOutcome::Now(callback(argument).into_failure())))
    }

    pub(crate) fn future<F>(callback: impl Fn(T) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        Self::new(Box::new(move |argument| {
            let future = callback(argument);
            CallbackOutcome::Later(Box::pin(async move { future.await.into_failure() }))
        }))
    }

    /// Only for threads of the application, and those that run its callbacks.
    pub(crate) fn call(&self, argument: T) -> CallbackOutcome {
        self.0.0.as_ref().map_or(CallbackOutcome::Now(None), |callback| callback(argument))
    }

    fn new(callback: CallbackFn<T>) -> Self {
        Self(Arc::new(OwnedCallback(Some(callback))))
    }
}

/// Runs the callbacks of one election in order. A thread exists only while there is something to run.
pub(crate) struct CallbackRunner {
    pub(crate) callbacks: Callbacks,
    shared: Arc<Shared>,
    /// Futures of the application may need the runtime it was started on.
    runtime: Option<tokio::runtime::Handle>,
    queue: Mutex<CallbackQueue>,
    on_demand: OnDemandThread,
}

#[derive(Default)]
struct CallbackQueue {
    waiting: VecDeque<QueuedCallback>,
    running: Option<&'static str>,
}

struct QueuedCallback {
    callback: &'static str,
    run: Box<dyn FnOnce() -> CallbackOutcome + Send>,
    /// Leadership is not released while its lost callback runs.
    work: Option<Work>,
}

/// More troubles than this do not wait for a callback that hangs.
const MAX_WAITING: usize = 100;

impl CallbackRunner {
    pub(crate) fn new(callbacks: Callbacks, shared: Arc<Shared>) -> Arc<Self> {
        let runtime = tokio::runtime::Handle::try_current().ok();
        Arc::new(Self { callbacks, shared, runtime, queue: Mutex::default(), on_demand: OnDemandThread::default() })
    }

    pub(crate) fn call<T: Send + 'static>(
        self: &Arc<Self>,
        name: &'static str,
        callback: Option<&Callback<T>>,
        argument: T,
        work: Option<Work>,
    ) {
        let Some(callback) = callback.cloned() else { return };
        {
            let mut queue = self.queue();
            if work.is_none() && queue.waiting.len() >= MAX_WAITING {
                // Only troubles can pile up, since elections wait for their callbacks; events tell of troubles, too.
                return;
            }
            let run = Box::new(move || callback.call(argument));
            queue.waiting.push_back(QueuedCallback { callback: name, run, work });
        }
        let runner = Arc::clone(self);
        if let Err(error) = self.on_demand.begin("tenure-callback", move || runner.run()) {
            self.queue().waiting.clear();
            self.report(name, format!("could not be run: {error}"));
        }
    }

    /// The callback that runs now or is about to, if one is.
    pub(crate) fn running(&self) -> Option<&'static str> {
        let queue = self.queue();
        queue.running.or_else(|| queue.waiting.front().map(|next| next.callback))
    }

    fn run(&self) {
        while let Some(QueuedCallback { callback, run, work }) = self.on_demand.next(|| self.take()) {
            let failure = {
                let _inside = self.is_waited_for(work.as_ref()).then(|| inside::enter(&self.shared));
                run_to_end(run, self.runtime.as_ref())
            };
            drop(work);
            if let Some(failure) = failure {
                self.report(callback, failure);
            }
        }
    }

    /// Whether the end of the candidacy waits for a callback: because it holds a lease itself, or because one that does comes
    /// after it.
    fn is_waited_for(&self, work: Option<&Work>) -> bool {
        work.is_some() || self.callbacks.elected.is_some() || self.callbacks.lost.is_some()
    }

    fn take(&self) -> Option<QueuedCallback> {
        let mut queue = self.queue();
        let next = queue.waiting.pop_front();
        queue.running = next.as_ref().map(|next| next.callback);
        next
    }

    fn report(&self, callback: &'static str, message: String) {
        self.shared.report(ElectionError::Callback { callback, message });
    }

    fn queue(&self) -> MutexGuard<'_, CallbackQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CallbackRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackRunner").field("running", &self.running()).finish_non_exhaustive()
    }
}

/// Runs a callback to its end, and returns its failure, if any.
pub(crate) fn run_to_end(
    run: impl FnOnce() -> CallbackOutcome,
    runtime: Option<&tokio::runtime::Handle>,
) -> Option<String> {
    let finish = || match run() {
        CallbackOutcome::Now(failure) => failure,
        CallbackOutcome::Later(future) => match runtime {
            Some(runtime) => runtime.block_on(future),
            None => block_on(future),
        },
    };
    match contain(finish) {
        Ok(None) => None,
        Ok(Some(failure)) => Some(format!("failed: {failure}")),
        Err(panic) => Some(format!("panicked: {panic}")),
    }
}
