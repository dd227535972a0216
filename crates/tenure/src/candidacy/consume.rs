//! Consumption of a queue only while the candidate leads.

use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::pin;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::work::WorkEnd;
use super::{Ask, Candidacy};
use crate::error::Error;
use crate::leadership::Leadership;

impl Candidacy {
    /// Consumes a queue, one item at a time, whenever this candidate leads, until the queue ends; then it resigns and pauses.
    ///
    /// `fetch` returns the next item, or `None` at the end of the queue. It is called only while leading, and its future is
    /// dropped when the leadership ends: it must be cancel safe, as receiving from a channel is. `handle` gets each
    /// item. An item that is being handled when the leadership ends has the grace to be finished; if that is not enough,
    /// its future is dropped, and it is up to the queue to give the item out again. The lease is released only after
    /// that, so no two candidates consume at the same time.
    ///
    /// Completes when the queue has ended or an item has failed, resigns, and does not stand any more until it is asked to, as
    /// [`run_while_leader`](Self::run_while_leader) does. The inner result is that of `handle`.
    /// Panics are passed on.
    ///
    /// Dropping this future drops what is being handled at once, resigns and pauses.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let client = tenure::Client::open("memory:")?;
    /// let candidacy = client.election("mail-queue")?.candidate().start()?;
    /// let (sender, queue) = tokio::sync::mpsc::channel(10);
    /// # for mail in ["one", "two"] { sender.send(mail).await? }
    /// # drop(sender);
    /// let queue = tokio::sync::Mutex::new(queue);
    /// let fetch = || async { queue.lock().await.recv().await };
    /// let handle = async |mail, leadership: tenure::Leadership| {
    ///     println!("sending {mail} under term {}", leadership.term());
    ///     Ok::<(), std::io::Error>(())
    /// };
    /// candidacy.consume(fetch, handle).await??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// When the candidacy is stopped.
    pub async fn consume<I, E, F, H>(
        &self,
        fetch: impl FnMut() -> F,
        handle: impl FnMut(I, Leadership) -> H,
    ) -> Result<Result<(), E>, Error>
    where
        F: Future<Output = Option<I>>,
        H: Future<Output = Result<(), E>>,
    {
        self.consume_up_to(NonZeroUsize::MIN, fetch, handle).await
    }

    /// Consumes a queue as [`consume`](Self::consume) does, with up to a number of items at a time.
    ///
    /// Items may finish in another order than they were fetched in. After one has failed no more are fetched, and the others
    /// are finished.
    ///
    /// # Errors
    /// When the candidacy is stopped.
    pub async fn consume_up_to<I, E, F, H>(
        &self,
        limit: NonZeroUsize,
        mut fetch: impl FnMut() -> F,
        mut handle: impl FnMut(I, Leadership) -> H,
    ) -> Result<Result<(), E>, Error>
    where
        F: Future<Output = Option<I>>,
        H: Future<Output = Result<(), E>>,
    {
        let ask = Ask::to_work(&self.shared);
        loop {
            let leadership = self.elected().await?;
            let (fetch, handle) = (&mut fetch, &mut handle);
            let ended = self.run_under(&leadership, |leadership| consume_under(leadership, limit, fetch, handle)).await;
            if let WorkEnd::Leading(Some(result)) | WorkEnd::Late(Some(result)) = ended {
                drop(ask);
                let _ = self.released(leadership.term()).await;
                return Ok(result);
            }
            self.released(leadership.term()).await?;
        }
    }
}

/// Consumes under one term. `None` when the term ended before the queue did, with all items finished that were fetched.
async fn consume_under<I, E, F, H>(
    leadership: Leadership,
    limit: NonZeroUsize,
    fetch: &mut impl FnMut() -> F,
    handle: &mut impl FnMut(I, Leadership) -> H,
) -> Option<Result<(), E>>
where
    F: Future<Output = Option<I>>,
    H: Future<Output = Result<(), E>>,
{
    let mut handling = FuturesUnordered::new();
    let mut end = loop {
        match next_item(&leadership, limit, fetch, &mut handling).await {
            Next::Item(item) => handling.push(handle(item, leadership.clone())),
            Next::End => break Some(Ok(())),
            Next::Failed(error) => break Some(Err(error)),
            Next::Cancelled => break None,
        }
    };
    while let Some(result) = handling.next().await {
        if let Err(error) = result
            && !matches!(end, Some(Err(_)))
        {
            end = Some(Err(error));
        }
    }
    end
}

enum Next<I, E> {
    Item(I),
    End,
    Failed(E),
    Cancelled,
}

/// Fetches an item as soon as there is room for it, and lets those go on that are being handled.
async fn next_item<I, E, F>(
    leadership: &Leadership,
    limit: NonZeroUsize,
    fetch: &mut impl FnMut() -> F,
    handling: &mut FuturesUnordered<impl Future<Output = Result<(), E>>>,
) -> Next<I, E>
where
    F: Future<Output = Option<I>>,
{
    let mut cancelled = pin!(leadership.cancelled());
    while handling.len() >= limit.get() {
        tokio::select! {
            biased;
            () = &mut cancelled => return Next::Cancelled,
            Some(result) = handling.next() => if let Err(error) = result { return Next::Failed(error) },
        }
    }
    // After a pause the clock is the first to know.
    if leadership.is_cancelled() {
        return Next::Cancelled;
    }
    let mut fetching = pin!(fetch());
    loop {
        tokio::select! {
            biased;
            () = &mut cancelled => return Next::Cancelled,
            Some(result) = handling.next() => if let Err(error) = result { return Next::Failed(error) },
            item = &mut fetching => return item.map_or(Next::End, Next::Item),
        }
    }
}
