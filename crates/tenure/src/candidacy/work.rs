//! Work that runs only while the candidate leads.

use std::future::Future;
use std::pin::pin;

use futures_util::future::{Either, OptionFuture, select};

use super::{Ask, Candidacy};
use crate::error::Error;
use crate::inside;
use crate::leadership::Leadership;

impl Candidacy {
    /// Runs work whenever this candidate leads, until the work returns; then it resigns and pauses.
    ///
    /// The work is started with the [`Leadership`] it runs under. When that ends, [`Leadership::cancelled`] completes
    /// and the work has the grace to return; a future that is still not done is dropped. Only then is the lease
    /// released, and this candidate stands again. When the work returns while still leading, the leadership is
    /// resigned and its result returned.
    ///
    /// **A candidate whose work has ended no longer stands**, so that it does not lead with nobody working: another one
    /// leads, if there is one. It is [paused](crate::CandidacyState::Paused) until the next call of this method,
    /// [`consume`](Self::consume), [`elected`](Self::elected) or [`stand`](Self::stand); meanwhile neither its jobs nor its
    /// handlers of messages run. The same holds when the work panics and when this future is dropped. While other callers wait
    /// to lead by the same candidacy, it goes on standing for them.
    ///
    /// The work runs in the caller's task, so it needs no runtime but its own. A future that blocks its thread cannot
    /// be dropped; it is reported as stuck.
    ///
    /// Dropping this future drops the work at once, resigns and pauses. So in a loop with `select!` it is pinned before the
    /// loop, or each turn would resign:
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
    /// # let client = tenure::Client::open("memory:")?;
    /// # let candidacy = client.election("nightly-report")?.candidate().start()?;
    /// # let (sender, mut orders) = tokio::sync::mpsc::channel::<&str>(1);
    /// # sender.send("look").await.ok();
    /// let mut report = std::pin::pin!(candidacy.run_while_leader(async |leadership| leadership.term()));
    /// let term = loop {
    ///     tokio::select! {
    ///         result = &mut report => break result?,
    ///         Some(order) = orders.recv() => println!("{order}"),
    ///     }
    /// };
    /// # assert_eq!(term.get(), 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When the candidacy is stopped.
    pub async fn run_while_leader<T, F>(&self, mut work: impl FnMut(Leadership) -> F) -> Result<T, Error>
    where
        F: Future<Output = T>,
    {
        let ask = Ask::to_work(&self.shared);
        loop {
            let leadership = self.elected().await?;
            let ended = self.run_under(&leadership, &mut work).await;
            if let WorkEnd::Leading(result) = ended {
                // Before it is released, so that it cannot be elected again in between.
                drop(ask);
                // Whether somebody else leads by now does not matter to work that has ended.
                let _ = self.released(leadership.term()).await;
                return Ok(result);
            }
            self.released(leadership.term()).await?;
        }
    }

    /// Lets this candidate stand again if it has [paused](crate::CandidacyState::Paused) because its work has ended.
    ///
    /// Needed only by applications that poll [`is_leader`](Self::is_leader): methods that wait to lead do this by themselves.
    pub fn stand(&self) {
        if self.shared.is_same_process() {
            Ask::to_wait(&self.shared).fulfilled();
        }
    }

    /// Runs work under a term until it ends or its time is over, and gives the term up. Dropping the future drops the work and
    /// resigns.
    pub(super) async fn run_under<T, F>(
        &self,
        leadership: &Leadership,
        work: impl FnOnce(Leadership) -> F,
    ) -> WorkEnd<T>
    where
        F: Future<Output = T>,
    {
        // Dropped in reverse order: the future first, and what holds the lease last.
        let _resign = ResignOnDrop(leadership);
        let begun = leadership.begin_work();
        let running = begun.as_ref().map(|_| {
            let _inside = inside::enter(&self.shared);
            work(leadership.clone())
        });
        let running = pin!(inside::within(&self.shared, OptionFuture::from(running)));
        let overdue = pin!(leadership.overdue());
        match select(running, overdue).await {
            Either::Left((Some(result), _)) if !leadership.is_cancelled() => WorkEnd::Leading(result),
            Either::Left((Some(result), _)) => WorkEnd::Late(result),
            Either::Left((None, _)) | Either::Right(_) => WorkEnd::Overdue,
        }
    }

    /// Runs `f` if this candidate leads; a resignation waits for it.
    ///
    /// ```
    /// # let client = tenure::blocking::Client::open("memory:")?;
    /// # let candidacy = client.election("report")?.candidate().start()?;
    /// # candidacy.elected()?;
    /// let sent = candidacy.run_if_leader(|leadership| format!("report under term {}", leadership.term()));
    /// assert!(sent.is_some());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn run_if_leader<T>(&self, f: impl FnOnce(&Leadership) -> T) -> Option<T> {
        let leadership = self.leadership()?;
        let _work = leadership.begin_work()?;
        let _inside = inside::enter(&self.shared);
        Some(f(&leadership))
    }

    /// Runs a future if this candidate leads; a resignation waits for it.
    ///
    /// The future is dropped when the leadership ends and the grace is over; the result is `None` then, too.
    ///
    /// Dropping this future drops the work at once; leadership is kept.
    pub async fn run_if_leader_async<T, F>(&self, f: impl FnOnce(Leadership) -> F) -> Option<T>
    where
        F: Future<Output = T>,
    {
        let leadership = self.leadership()?;
        let _work = leadership.begin_work()?;
        let running = pin!(inside::within(&self.shared, async { f(leadership.clone()).await }));
        let overdue = pin!(leadership.overdue());
        match select(running, overdue).await {
            Either::Left((result, _)) => Some(result),
            Either::Right(_) => None,
        }
    }
}

/// How work under a term ended.
pub(super) enum WorkEnd<T> {
    /// By itself, while leading.
    Leading(T),
    /// By itself, after it was told to stop.
    Late(T),
    /// It was dropped, or could not even begin.
    Overdue,
}

/// A leader whose work has ended, or was dropped, must not go on leading without it.
struct ResignOnDrop<'a>(&'a Leadership);

impl Drop for ResignOnDrop<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}
