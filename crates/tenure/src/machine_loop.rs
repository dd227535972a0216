//! What companions that drive a machine of the core have in common: the leadership they serve, and what they wait for.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use tenure_core::Instant;
use tokio::sync::Notify;

use crate::leadership::Leadership;
use crate::phase::Phase;
use crate::shared::{Grant, Shared};

/// Follows the leaderships of one candidacy, and makes one call to the store at a time, whose answer is an `A`.
pub(crate) struct MachineLoop<'a, A> {
    shared: &'a Arc<Shared>,
    /// The leadership that is not over.
    leadership: Option<Leadership>,
    has_left: bool,
    call: Option<BoxFuture<'a, A>>,
}

/// What became of the candidacy.
pub(crate) enum CandidacyTurn {
    /// It leads.
    Elected(Arc<Grant>),
    /// The work of the leadership has had its time, or none was left.
    Over,
    /// It has left the election. No turn follows.
    Left,
}

impl<'a, A> MachineLoop<'a, A> {
    pub(crate) fn new(shared: &'a Arc<Shared>) -> Self {
        Self { shared, leadership: None, has_left: false, call: None }
    }

    /// The leadership that is not over.
    #[cfg(feature = "cron")]
    pub(crate) fn leadership(&self) -> Option<&Leadership> {
        self.leadership.as_ref()
    }

    /// The next turn that was not taken yet.
    pub(crate) fn next_turn(&mut self) -> Option<CandidacyTurn> {
        let phase = self.shared.phase().read(Phase::clone);
        if self.leadership.take_if(|leadership| leadership.is_over(&phase)).is_some() {
            return Some(CandidacyTurn::Over);
        }
        match phase {
            Phase::Leading(grant) if self.leadership.is_none() => {
                self.leadership = Some(Leadership::new(Arc::clone(self.shared), Arc::clone(&grant)));
                Some(CandidacyTurn::Elected(grant))
            }
            Phase::Stopped if !self.has_left => {
                self.has_left = true;
                Some(CandidacyTurn::Left)
            }
            Phase::Stopped | Phase::Standing | Phase::Leading(_) | Phase::Leaving { .. } => None,
        }
    }

    /// Makes a call to the store, in the place of the last one.
    pub(crate) fn call(&mut self, call: impl Future<Output = A> + Send + 'a) {
        self.call = Some(call.boxed());
    }

    /// Gives up the call that is under way.
    pub(crate) fn give_up_call(&mut self) {
        self.call = None;
    }

    /// Waits until there is something to tell the machine: an answer of the store, which is returned; a turn; work that has to
    /// stop; whatever the companion is notified of; or that the time has come.
    pub(crate) async fn wait(&mut self, notified: &Notify, due: Option<Instant>) -> Option<A> {
        let Self { shared, leadership, has_left, call } = self;
        let leadership = leadership.as_ref();
        let replied = pin!(async {
            match call {
                Some(call) => call.await,
                None => pending().await,
            }
        });
        let turned = pin!(shared.phase().wait_until(|phase| match leadership {
            Some(leadership) => leadership.is_over(phase),
            None => !*has_left && matches!(phase, Phase::Leading(_) | Phase::Stopped),
        }));
        let cancelled = pin!(async {
            match leadership.filter(|leadership| !leadership.is_cancelled()) {
                Some(leadership) => leadership.cancelled().await,
                None => pending().await,
            }
        });
        let (notified, rung) = (pin!(notified.notified()), pin!(ring(shared, due)));
        match select(replied, select(select(turned, cancelled), select(notified, rung))).await {
            Either::Left((reply, _)) => {
                self.call = None;
                Some(reply)
            }
            Either::Right(_) => None,
        }
    }
}

/// Waits for an alarm. Others have a turn meanwhile, also if its time has come.
async fn ring(shared: &Shared, due: Option<Instant>) {
    match due {
        Some(at) if at <= shared.clock.now() => tokio::task::yield_now().await,
        Some(at) => shared.clock.sleep_until(at).await,
        None => pending().await,
    }
}
