//! Hints over one connection of their own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt, unfold};
use redis::Msg;
use redis::aio::{PubSubSink, PubSubStream};
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;

use super::super::{Hint, Interest};
use super::deployment::Deployment;
use super::keys::Keys;

/// The connection for pushes. It is there as long as somebody watches.
pub(super) struct Push {
    shared: Arc<Shared>,
    listener: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    deployment: Arc<Deployment>,
    keys: Keys,
    wake_channel: String,
    wanted: watch::Sender<Wanted>,
    hints: broadcast::Sender<(Interest, Hint)>,
    /// Whether the server has confirmed that it will wake us.
    is_heard: AtomicBool,
    /// Somebody stood by while it was not so, and could not be woken.
    is_deaf: AtomicBool,
}

/// How many streams want to hear what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Wanted {
    own: usize,
    all: usize,
}

const HINTS_KEPT: usize = 256;
const BACK_OFF_FIRST: Duration = Duration::from_millis(50);
const BACK_OFF_MAX: Duration = Duration::from_secs(2);
/// A server that takes longer to confirm a subscription, or to answer a ping, is given up.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

impl Push {
    pub(super) fn new(deployment: Arc<Deployment>, keys: Keys, process: &str) -> Self {
        let shared = Shared {
            wake_channel: keys.wake_channel(process),
            deployment,
            keys,
            wanted: watch::Sender::default(),
            hints: broadcast::Sender::new(HINTS_KEPT),
            is_heard: AtomicBool::new(false),
            is_deaf: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared), listener: Mutex::default() }
    }

    /// The channel that wakes this process; empty while nobody would hear it.
    pub(super) fn wake_channel(&self) -> &str {
        if self.shared.is_heard.load(Ordering::SeqCst) { &self.shared.wake_channel } else { "" }
    }

    /// Somebody stood by without a channel. It will be told to ask again when there is one.
    pub(super) fn stood_by_unheard(&self) {
        self.shared.is_deaf.store(true, Ordering::SeqCst);
        // The server may have confirmed while the campaign was under way, and then nobody else tells it.
        if self.shared.is_heard.load(Ordering::SeqCst) {
            self.shared.look_again_if_deaf();
        }
    }

    /// A stream of hints. Must be called on a runtime.
    pub(super) fn watch(self: &Arc<Self>, interest: Interest) -> BoxStream<'static, Hint> {
        let hints = self.shared.hints.subscribe();
        self.shared.wanted.send_modify(|wanted| *wanted.count(interest) += 1);
        self.listen();
        let watcher = Watcher { push: Arc::clone(self), interest };
        unfold((hints, watcher), |(mut hints, watcher)| async {
            loop {
                match hints.recv().await {
                    Ok((interest, hint)) if interest == watcher.interest => return Some((hint, (hints, watcher))),
                    Ok(_) => {}
                    Err(broadcast::error::RecvError::Lagged(_)) => return Some((Hint::anywhere(), (hints, watcher))),
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        })
        .boxed()
    }

    fn listen(&self) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        // The runtime it ran on may be gone.
        if listener.as_ref().is_none_or(JoinHandle::is_finished) {
            *listener = Some(tokio::spawn(listen(Arc::clone(&self.shared))));
        }
    }
}

impl Drop for Push {
    fn drop(&mut self) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = listener.take() {
            listener.abort();
        }
    }
}

/// A stream that is alive.
struct Watcher {
    push: Arc<Push>,
    interest: Interest,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.push.shared.wanted.send_modify(|wanted| *wanted.count(self.interest) -= 1);
    }
}

impl Wanted {
    fn count(&mut self, interest: Interest) -> &mut usize {
        match interest {
            Interest::Own => &mut self.own,
            Interest::All | Interest::Messages => &mut self.all,
        }
    }
}

impl Shared {
    /// Sends those who stood by unheard to ask again. Whichever comes last, their standing by or the confirmation that
    /// they will be woken, calls this; so each writes its own flag first, and all agree on the order.
    fn look_again_if_deaf(&self) {
        if self.is_deaf.swap(false, Ordering::SeqCst) {
            self.look_again(Interest::Own);
        }
    }

    fn look_again(&self, interest: Interest) {
        // Nobody may be listening any more, and that is fine.
        let _ = self.hints.send((interest, Hint::anywhere()));
    }
}

async fn listen(shared: Arc<Shared>) {
    let mut wanted = shared.wanted.subscribe();
    let mut back_off = BACK_OFF_FIRST;
    // Ends with the store, which holds the other end.
    while wanted.wait_for(|wanted| *wanted != Wanted::default()).await.is_ok() {
        let has_heard = Session::run(&shared).await;
        shared.is_heard.store(false, Ordering::SeqCst);
        back_off = if has_heard { BACK_OFF_FIRST } else { (back_off * 2).min(BACK_OFF_MAX) };
        tokio::time::sleep(back_off).await;
    }
}

/// One connection, from its making to its end.
struct Session<'a> {
    shared: &'a Shared,
    server: Arc<str>,
    sink: PubSubSink,
    subscribed: Wanted,
}

impl Session<'_> {
    /// Returns when the connection is of no use any more, or nobody watches. Tells whether it ever was of use.
    async fn run(shared: &Shared) -> bool {
        let Ok(Ok((connection, server))) = tokio::time::timeout(ANSWER_TIMEOUT, shared.deployment.pushes()).await
        else {
            return false;
        };
        let (sink, mut messages) = connection.split();
        let mut session = Session { shared, server, sink, subscribed: Wanted::default() };
        let mut wanted = shared.wanted.subscribe();
        let mut has_heard = false;
        loop {
            let now_wanted = *wanted.borrow_and_update();
            if now_wanted == Wanted::default() || !session.subscribe(now_wanted).await {
                return has_heard;
            }
            has_heard = true;
            tokio::select! {
                () = session.pass_on(&mut messages) => return true,
                _ = wanted.changed() => {}
                () = shared.deployment.reconnected() => {
                    if !session.is_alive().await {
                        return true;
                    }
                }
            }
        }
    }

    /// Asks for what is wanted and not yet heard. Returns whether the server has confirmed it.
    async fn subscribe(&mut self, wanted: Wanted) -> bool {
        let own = (Interest::Own, wanted.own > 0, self.subscribed.own > 0, self.shared.wake_channel.clone());
        let all = (Interest::All, wanted.all > 0, self.subscribed.all > 0, self.shared.keys.changes_channel());
        for (interest, is_wanted, is_subscribed, channel) in [own, all] {
            let confirmed = match (is_wanted, is_subscribed) {
                (true, false) => tokio::time::timeout(ANSWER_TIMEOUT, self.sink.subscribe(channel)).await,
                (false, true) => tokio::time::timeout(ANSWER_TIMEOUT, self.sink.unsubscribe(channel)).await,
                (true, true) | (false, false) => continue,
            };
            if !matches!(confirmed, Ok(Ok(()))) {
                return false;
            }
            *self.subscribed.count(interest) = usize::from(is_wanted);
            if is_wanted {
                self.now_heard(interest);
            } else if interest == Interest::Own {
                self.shared.is_heard.store(false, Ordering::SeqCst);
            }
        }
        true
    }

    /// Whatever happened before the subscription went unheard.
    fn now_heard(&self, interest: Interest) {
        match interest {
            Interest::Own => {
                self.shared.is_heard.store(true, Ordering::SeqCst);
                self.shared.look_again_if_deaf();
            }
            Interest::All | Interest::Messages => self.shared.look_again(interest),
        }
    }

    /// Completes when the connection breaks.
    async fn pass_on(&self, messages: &mut PubSubStream) {
        while let Some(message) = messages.next().await {
            let interest =
                if message.get_channel_name() == self.shared.wake_channel { Interest::Own } else { Interest::All };
            if let Some(hint) = self.read(&message) {
                let _ = self.shared.hints.send((interest, hint));
            }
        }
        // Whoever stands by now cannot be woken, and has to ask again afterwards.
        self.shared.is_deaf.store(true, Ordering::SeqCst);
    }

    /// A delay in milliseconds and the lease. What is neither is somebody else's.
    fn read(&self, message: &Msg) -> Option<Hint> {
        let text = std::str::from_utf8(message.get_payload_bytes()).ok()?;
        let (delay, lease) = text.split_once(' ')?;
        let after = Duration::from_millis(delay.parse().ok()?);
        Some(Hint { key: Some(self.shared.keys.election(lease)?), after })
    }

    /// The connection for commands broke; this one may have gone the same way, and have nothing to notice it by.
    async fn is_alive(&mut self) -> bool {
        let pong = tokio::time::timeout(ANSWER_TIMEOUT, self.sink.ping_message::<redis::Value>("tenure")).await;
        let alive = matches!(pong, Ok(Ok(_))) && !self.shared.deployment.has_left(&self.server);
        if !alive {
            self.shared.is_deaf.store(true, Ordering::SeqCst);
        }
        alive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The campaign went out without a channel, and its answer was read after the subscription was confirmed.
    #[test]
    fn who_stood_by_while_the_subscription_was_confirmed_is_told_to_ask_again() {
        let client = redis::Client::open("redis://127.0.0.1:1/").unwrap();
        let keys = Keys::new("tenure", "{prefix}:{namespace}:{name}").unwrap();
        let push = Push::new(Arc::new(Deployment::standalone(client)), keys, "process");
        let mut hints = push.shared.hints.subscribe();
        assert_eq!(push.wake_channel(), "");
        push.shared.is_heard.store(true, Ordering::SeqCst);
        push.shared.look_again_if_deaf();
        assert!(hints.try_recv().is_err(), "nobody stood by yet");
        push.stood_by_unheard();
        assert_eq!(hints.try_recv().unwrap(), (Interest::Own, Hint::anywhere()));
        assert!(hints.try_recv().is_err(), "once is enough");
    }
}
