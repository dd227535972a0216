//! Batches the requests of one verb.

use tenure_core::{Instant, RequestId};

use super::CandidacyId;

/// The candidacy behind a request, and the id of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Requester {
    pub(crate) candidacy: CandidacyId,
    pub(crate) request: RequestId,
}

/// Requests of one verb that wait to be sent.
pub(crate) struct Batcher<R> {
    waiting: Vec<QueuedRequest<R>>,
    /// How many batches were sent.
    sent: u64,
    /// The batch whose answer is awaited before the next is sent, and until when.
    under_way: Option<(u64, Instant)>,
}

/// A request, who asked, and when it is given up.
struct QueuedRequest<R> {
    from: Requester,
    request: R,
    patience: Instant,
}

/// Requests that go out together.
pub(crate) struct RequestBatch<R> {
    pub(crate) number: u64,
    pub(crate) from: Vec<Requester>,
    pub(crate) requests: Vec<R>,
    /// The instant at which the most patient requester gives up.
    pub(crate) patience: Instant,
}

impl<R> Batcher<R> {
    pub(crate) fn push(&mut self, from: Requester, request: R, patience: Instant) {
        self.waiting.push(QueuedRequest { from, request, patience });
    }

    pub(crate) fn is_ready(&self, now: Instant) -> bool {
        !self.waiting.is_empty() && self.under_way.is_none_or(|(_, until)| now >= until)
    }

    pub(crate) fn take(&mut self, now: Instant) -> Option<RequestBatch<R>> {
        if !self.is_ready(now) {
            return None;
        }
        self.sent += 1;
        let until = self.waiting.iter().map(|waiting| waiting.patience).min();
        self.under_way = until.map(|until| (self.sent, until));
        let patience = self.waiting.iter().map(|waiting| waiting.patience).max()?;
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (from, requests) = waiting.map(|waiting| (waiting.from, waiting.request)).unzip();
        Some(RequestBatch { number: self.sent, from, requests, patience })
    }

    /// Takes out the requests that were given up. Sent now, it might be granted to a candidate that has left.
    pub(crate) fn give_up(&mut self, now: Instant) -> Vec<Requester> {
        self.waiting.extract_if(.., |waiting| waiting.patience <= now).map(|waiting| waiting.from).collect()
    }

    /// Takes out what was not sent yet of one who leaves.
    pub(crate) fn withdraw(&mut self, candidacy: CandidacyId) -> Option<Requester> {
        let place = self.waiting.iter().position(|waiting| waiting.from.candidacy == candidacy)?;
        Some(self.waiting.remove(place).from)
    }

    pub(crate) fn answered(&mut self, number: u64) {
        self.under_way.take_if(|(under_way, _)| *under_way == number);
    }
}

impl<R> Default for Batcher<R> {
    fn default() -> Self {
        Self { waiting: Vec::new(), sent: 0, under_way: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    fn push(batcher: &mut Batcher<u64>, request: u64, patience: u64) {
        batcher.push(Requester { candidacy: CandidacyId(request), request: RequestId(request) }, request, at(patience));
    }

    #[test]
    fn what_is_asked_during_a_batch_goes_with_the_next() {
        let mut batcher = Batcher::default();
        push(&mut batcher, 1, 10);
        let batch = batcher.take(at(0)).unwrap();
        push(&mut batcher, 2, 10);
        push(&mut batcher, 3, 10);
        assert!(batcher.take(at(1)).is_none());
        batcher.answered(batch.number);
        assert_eq!(batcher.take(at(1)).unwrap().requests, [2, 3]);
    }

    #[test]
    fn the_next_batch_waits_for_the_least_patient_of_the_last() {
        let mut batcher = Batcher::default();
        push(&mut batcher, 1, 10);
        push(&mut batcher, 2, 3);
        let first = batcher.take(at(0)).unwrap();
        assert_eq!(first.patience, at(10), "but its answer is awaited for the most patient");
        push(&mut batcher, 3, 8);
        assert!(batcher.take(at(2)).is_none());
        let second = batcher.take(at(3)).unwrap();
        batcher.answered(first.number);
        push(&mut batcher, 4, 8);
        assert!(batcher.take(at(4)).is_none(), "the answer to the first says nothing of the second");
        batcher.answered(second.number);
        assert!(batcher.take(at(4)).is_some());
    }

    #[test]
    fn what_was_withdrawn_is_not_sent_and_what_was_sent_is_not_withdrawn() {
        let mut batcher = Batcher::default();
        push(&mut batcher, 1, 10);
        batcher.take(at(0)).unwrap();
        push(&mut batcher, 2, 10);
        push(&mut batcher, 3, 10);
        assert!(batcher.withdraw(CandidacyId(1)).is_none());
        assert_eq!(batcher.withdraw(CandidacyId(2)).unwrap().request, RequestId(2));
        assert_eq!(batcher.take(at(10)).unwrap().requests, [3]);
    }

    #[test]
    fn what_was_given_up_is_not_sent() {
        let mut batcher = Batcher::default();
        push(&mut batcher, 1, 3);
        batcher.take(at(0)).unwrap();
        push(&mut batcher, 2, 4);
        push(&mut batcher, 3, 6);
        let given_up: Vec<u64> = batcher.give_up(at(5)).iter().map(|from| from.request.0).collect();
        assert_eq!(given_up, [2]);
        assert_eq!(batcher.take(at(5)).unwrap().requests, [3]);
    }
}
