//! Requests of one verb that wait to be sent together.

use tenure_core::{Instant, RequestId};

use super::EntryId;

/// Who asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    pub(crate) entry: EntryId,
    pub(crate) request: RequestId,
}

/// Requests of one verb that wait to be sent.
pub(crate) struct Gathering<R> {
    waiting: Vec<Waiting<R>>,
    /// How many batches were sent.
    sent: u64,
    /// The batch whose answer is awaited before the next is sent, and until when.
    under_way: Option<(u64, Instant)>,
}

/// A request, who asked, and when it is given up.
struct Waiting<R> {
    from: Address,
    request: R,
    patience: Instant,
}

/// Requests that go out together.
pub(crate) struct Batch<R> {
    pub(crate) number: u64,
    pub(crate) from: Vec<Address>,
    pub(crate) requests: Vec<R>,
    /// When the most patient of those who asked gives up.
    pub(crate) patience: Instant,
}

impl<R> Gathering<R> {
    pub(crate) fn push(&mut self, from: Address, request: R, patience: Instant) {
        self.waiting.push(Waiting { from, request, patience });
    }

    pub(crate) fn is_ready(&self, now: Instant) -> bool {
        !self.waiting.is_empty() && self.under_way.is_none_or(|(_, until)| now >= until)
    }

    pub(crate) fn take(&mut self, now: Instant) -> Option<Batch<R>> {
        if !self.is_ready(now) {
            return None;
        }
        self.sent += 1;
        let until = self.waiting.iter().map(|waiting| waiting.patience).min();
        self.under_way = until.map(|until| (self.sent, until));
        let patience = self.waiting.iter().map(|waiting| waiting.patience).max()?;
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (from, requests) = waiting.map(|waiting| (waiting.from, waiting.request)).unzip();
        Some(Batch { number: self.sent, from, requests, patience })
    }

    /// Takes out what nobody waits for any more. Sent now, it might be granted to a candidate that has left.
    pub(crate) fn give_up(&mut self, now: Instant) -> Vec<Address> {
        self.waiting.extract_if(.., |waiting| waiting.patience <= now).map(|waiting| waiting.from).collect()
    }

    /// Takes out what was not sent yet of one who leaves.
    pub(crate) fn withdraw(&mut self, entry: EntryId) -> Option<Address> {
        let place = self.waiting.iter().position(|waiting| waiting.from.entry == entry)?;
        Some(self.waiting.remove(place).from)
    }

    pub(crate) fn answered(&mut self, number: u64) {
        self.under_way.take_if(|(under_way, _)| *under_way == number);
    }
}

impl<R> Default for Gathering<R> {
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

    fn push(gathering: &mut Gathering<u64>, request: u64, patience: u64) {
        gathering.push(Address { entry: EntryId(request), request: RequestId(request) }, request, at(patience));
    }

    #[test]
    fn what_is_asked_during_a_batch_goes_with_the_next() {
        let mut gathering = Gathering::default();
        push(&mut gathering, 1, 10);
        let batch = gathering.take(at(0)).unwrap();
        push(&mut gathering, 2, 10);
        push(&mut gathering, 3, 10);
        assert!(gathering.take(at(1)).is_none());
        gathering.answered(batch.number);
        assert_eq!(gathering.take(at(1)).unwrap().requests, [2, 3]);
    }

    #[test]
    fn the_next_batch_waits_for_the_least_patient_of_the_last() {
        let mut gathering = Gathering::default();
        push(&mut gathering, 1, 10);
        push(&mut gathering, 2, 3);
        let first = gathering.take(at(0)).unwrap();
        assert_eq!(first.patience, at(10), "but its answer is awaited for the most patient");
        push(&mut gathering, 3, 8);
        assert!(gathering.take(at(2)).is_none());
        let second = gathering.take(at(3)).unwrap();
        gathering.answered(first.number);
        push(&mut gathering, 4, 8);
        assert!(gathering.take(at(4)).is_none(), "the answer to the first says nothing of the second");
        gathering.answered(second.number);
        assert!(gathering.take(at(4)).is_some());
    }

    #[test]
    fn what_was_withdrawn_is_not_sent_and_what_was_sent_is_not_withdrawn() {
        let mut gathering = Gathering::default();
        push(&mut gathering, 1, 10);
        gathering.take(at(0)).unwrap();
        push(&mut gathering, 2, 10);
        push(&mut gathering, 3, 10);
        assert!(gathering.withdraw(EntryId(1)).is_none());
        assert_eq!(gathering.withdraw(EntryId(2)).unwrap().request, RequestId(2));
        assert_eq!(gathering.take(at(10)).unwrap().requests, [3]);
    }

    #[test]
    fn what_was_given_up_is_not_sent() {
        let mut gathering = Gathering::default();
        push(&mut gathering, 1, 3);
        gathering.take(at(0)).unwrap();
        push(&mut gathering, 2, 4);
        push(&mut gathering, 3, 6);
        let given_up: Vec<u64> = gathering.give_up(at(5)).iter().map(|from| from.request.0).collect();
        assert_eq!(given_up, [2]);
        assert_eq!(gathering.take(at(5)).unwrap().requests, [3]);
    }
}
