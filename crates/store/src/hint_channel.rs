//! The fan-out of hints to the watchers in this process.

use futures_util::stream::{BoxStream, StreamExt, unfold};
use tokio::sync::broadcast::{self, error::RecvError};

use crate::{Hint, Interest};

/// Passes hints on to everyone in this process who watches. Clones pass them on to the same watchers.
///
/// Nobody waits for a watcher: one that lags far behind is told to look at everything instead.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use tenure::store::{Hint, HintChannel, Interest};
///
/// let hints = HintChannel::default();
/// let mut watcher = hints.watch(Interest::All);
/// hints.tell(Interest::All, Hint::anywhere());
/// assert_eq!(watcher.next().await, Some(Hint::anywhere()));
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct HintChannel {
    // One for each interest, so that many hints of one kind make no watcher of another lag.
    own: broadcast::Sender<Hint>,
    all: broadcast::Sender<Hint>,
    messages: broadcast::Sender<Hint>,
}

/// The hints for one watcher.
#[derive(Debug)]
pub struct HintWatcher(broadcast::Receiver<Hint>);

/// The number of hints a watcher may lag behind.
const HINTS_KEPT: usize = 256;

impl HintChannel {
    /// Tells those who watch with this interest. It is fine if there are none: a hint is only a hint.
    pub fn tell(&self, interest: Interest, hint: Hint) {
        let _ = self.sender(interest).send(hint);
    }

    /// A watcher of the hints from now on.
    #[must_use]
    pub fn watch(&self, interest: Interest) -> HintWatcher {
        HintWatcher(self.sender(interest).subscribe())
    }

    fn sender(&self, interest: Interest) -> &broadcast::Sender<Hint> {
        match interest {
            Interest::Own => &self.own,
            Interest::All => &self.all,
            Interest::Messages => &self.messages,
        }
    }
}

impl Default for HintChannel {
    /// Without watchers.
    fn default() -> Self {
        let [own, all, messages] = [(); 3].map(|()| broadcast::Sender::new(HINTS_KEPT));
        Self { own, all, messages }
    }
}

impl HintWatcher {
    /// The next hint; `None` if the channel is gone. Cancel safe.
    pub async fn next(&mut self) -> Option<Hint> {
        match self.0.recv().await {
            Ok(hint) => Some(hint),
            Err(RecvError::Lagged(_)) => Some(Hint::anywhere()),
            Err(RecvError::Closed) => None,
        }
    }

    /// All hints, as [`Store::watch`](crate::Store::watch) returns them. `while_watching` is dropped with the stream.
    pub fn into_stream<T: Send + 'static>(self, while_watching: T) -> BoxStream<'static, Hint> {
        unfold((self, while_watching), |(mut watcher, while_watching)| async {
            watcher.next().await.map(|hint| (hint, (watcher, while_watching)))
        })
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use tenure_core::{ElectionKey, ElectionName, Namespace};

    use super::*;

    fn at(name: &str) -> Hint {
        Hint::at(ElectionKey { namespace: Namespace::default(), name: ElectionName::new(name).unwrap() })
    }

    #[test]
    fn hints_reach_those_who_are_interested_in_order() {
        let hints = HintChannel::default();
        let (mut one, mut other) = (hints.watch(Interest::Own), hints.clone().watch(Interest::Own));
        let mut all = hints.watch(Interest::All);
        hints.tell(Interest::Own, at("a"));
        hints.tell(Interest::Own, at("b"));
        for watcher in [&mut one, &mut other] {
            assert_eq!(watcher.next().now_or_never(), Some(Some(at("a"))));
            assert_eq!(watcher.next().now_or_never(), Some(Some(at("b"))));
            assert_eq!(watcher.next().now_or_never(), None);
        }
        assert_eq!(all.next().now_or_never(), None);
    }

    #[test]
    fn however_many_messages_come_no_elector_is_woken() {
        let hints = HintChannel::default();
        let (mut own, mut messages) = (hints.watch(Interest::Own), hints.watch(Interest::Messages));
        for _ in 0..=HINTS_KEPT {
            hints.tell(Interest::Messages, at("a"));
        }
        assert_eq!(messages.next().now_or_never(), Some(Some(Hint::anywhere())), "it lags");
        assert_eq!(messages.next().now_or_never(), Some(Some(at("a"))));
        assert_eq!(own.next().now_or_never(), None);
    }

    #[test]
    fn a_stream_ends_with_the_channel_and_lets_go_of_what_it_held() {
        let (hints, held) = (HintChannel::default(), Arc::new(()));
        let mut stream = hints.watch(Interest::All).into_stream(Arc::clone(&held));
        hints.tell(Interest::All, at("a"));
        drop(hints);
        assert_eq!(stream.next().now_or_never(), Some(Some(at("a"))));
        assert_eq!(stream.next().now_or_never(), Some(None));
        drop(stream);
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
