//! Sending messages, and looking after those that wait.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tenure_core::{Backoff, ChannelName, WriteOutcome};

use crate::client::Client;
use crate::election::Election;
use crate::error::Error;
use crate::retry::spread;
use crate::store::{
    Mailbox, Message, MessageId, MessageState, NewMessage, Replies, Store, StoreError, StoreErrorKind,
    random_message_id,
};

/// How long a message is sent again and again before its sender hears of a failure.
const SEND_LIMIT: Duration = Duration::from_secs(10);
/// How long one attempt may take.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(3);
/// How long all of it may take.
pub(crate) const SENDING_LIMIT: Duration = Duration::from_secs(13);

impl Election {
    /// Sends a message to the leader, present or future. Returns when the store has it.
    ///
    /// It is handled at least once, if the store's [mailbox](crate::store::MailboxPromises) promises that; in order with
    /// the others of the same [sender](Self::with_sender) on the same channel. While the outcome is unknown it is sent
    /// again under the same id, which makes no second copy, for ten seconds. It returns after 13 seconds at the latest.
    ///
    /// Dropping the future does not take the message back, and what is sent after that may overtake it.
    ///
    /// # Errors
    /// When a name breaks the rule for names, the payload cannot be written as JSON or is too large, the store has no
    /// mailbox, too many messages wait already, or the store fails. After an error whose
    /// [outcome is unknown](crate::WriteOutcome::Unknown) the message may have been sent; with
    /// [`send_with_id`](Self::send_with_id) it can be repeated without harm.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tenure::Error> {
    /// let client = tenure::Client::open("memory:")?;
    /// let id = client.election("nightly-report")?.send("refresh", &["monday"]).await?;
    /// let waiting = client.election("nightly-report")?.messages(tenure::MessageState::Pending, 10).await?;
    /// assert_eq!((waiting[0].id, &*waiting[0].payload), (id, r#"["monday"]"#));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send<T: Serialize + ?Sized>(&self, channel: &str, payload: &T) -> Result<MessageId, Error> {
        let text = written_json(payload)?;
        let id = random_message_id();
        self.send_text(id, channel, text).await?;
        Ok(id)
    }

    /// [`send`](Self::send) for text that is JSON already. It arrives byte for byte.
    ///
    /// # Errors
    /// As [`send`](Self::send), and when the text is not JSON.
    pub async fn send_json(&self, channel: &str, json: &str) -> Result<MessageId, Error> {
        let id = random_message_id();
        self.send_with_id(id, channel, json).await?;
        Ok(id)
    }

    /// [`send_json`](Self::send_json) under an id that was chosen before, so that a message can be sent again after a
    /// crash or an unknown outcome: as long as the first waits, the second is the same message.
    ///
    /// # Errors
    /// As [`send_json`](Self::send_json).
    pub async fn send_with_id(&self, id: MessageId, channel: &str, json: &str) -> Result<(), Error> {
        self.send_text(id, channel, checked_json(json)?).await
    }

    /// Lists the first messages that wait for the leader, or the dead letters. Cancel safe.
    ///
    /// # Errors
    /// When the store has no mailbox, or it fails.
    pub async fn messages(&self, state: MessageState, limit: usize) -> Result<Vec<Message>, Error> {
        let key = self.key();
        self.client().check_mailbox()?;
        let look = async move |store: Arc<dyn Store>| mailbox(&*store)?.list(&key, state, limit).await;
        Ok(self.client().on_driver(look).await??)
    }

    /// Puts dead letters back in line: these, or all of them. Returns their number.
    ///
    /// Dropping the future does not call it off.
    ///
    /// # Errors
    /// When the store has no mailbox, or it fails.
    pub async fn requeue(&self, ids: Option<&[MessageId]>) -> Result<u64, Error> {
        let (key, ids) = (self.key(), ids.map(<[MessageId]>::to_vec));
        self.client().check_mailbox()?;
        let requeue = async move |store: Arc<dyn Store>| mailbox(&*store)?.requeue(&key, ids.as_deref()).await;
        Ok(self.client().on_driver(requeue).await??)
    }

    async fn send_text(&self, id: MessageId, channel: &str, text: String) -> Result<(), Error> {
        let (key, channel) = (self.key(), ChannelName::new(channel)?);
        let promises = mailbox(self.client().dyn_store())?.promises();
        promises.check_payload(&text)?;
        let new_message =
            NewMessage { key, id, channel, sender: self.client().own_sender().clone(), payload: text.into() };
        let batch: Arc<[NewMessage]> = Arc::new([new_message]);
        let send = move |store: Arc<dyn Store>| {
            let batch = Arc::clone(&batch);
            async move {
                match mailbox(&*store) {
                    Ok(mailbox) => mailbox.send(&batch).await,
                    Err(error) => vec![Err(error)],
                }
            }
        };
        Ok(self
            .client()
            .on_driver_for(SENDING_LIMIT, move |store| send_until_known(store, promises.durable, send))
            .await??)
    }
}

impl Client {
    /// # Errors
    /// When the store has no mailbox.
    pub(crate) fn check_mailbox(&self) -> Result<(), Error> {
        Ok(mailbox(self.dyn_store()).map(drop)?)
    }
}

/// What is to be sent, as JSON.
pub(crate) fn written_json<T: Serialize + ?Sized>(payload: &T) -> Result<String, Error> {
    serde_json::to_string(payload).map_err(|error| Error::Json { message: error.to_string() })
}

/// Text that is to be sent, if it is JSON.
pub(crate) fn checked_json(json: &str) -> Result<String, Error> {
    match serde_json::from_str::<serde::de::IgnoredAny>(json) {
        Ok(_) => Ok(json.to_owned()),
        Err(error) => Err(Error::Json { message: error.to_string() }),
    }
}

/// Sends one thing until it is known what became of it. `is_kept` says whether a second copy would be recognised.
pub(crate) async fn send_until_known<F>(
    store: Arc<dyn Store>,
    is_kept: bool,
    send: impl Fn(Arc<dyn Store>) -> F,
) -> Result<(), StoreError>
where
    F: Future<Output = Replies<()>>,
{
    let give_up_at = tokio::time::Instant::now() + SEND_LIMIT;
    let mut failures = 0;
    loop {
        let attempt = tokio::time::timeout(ATTEMPT_LIMIT, send(Arc::clone(&store))).await;
        let silence = || StoreError::unknown(StoreErrorKind::TimedOut, "the store did not answer in time");
        let error = match attempt.map_or_else(|_| Err(silence()), |mut replies| replies.pop().unwrap_or(Err(silence())))
        {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        failures += 1;
        let pause = Backoff::RETRY.delay(failures, spread());
        if !may_pass(&error, is_kept) || tokio::time::Instant::now() + pause >= give_up_at {
            return Err(error);
        }
        tokio::time::sleep(pause).await;
    }
}

/// Whether the same message may be accepted a moment later. Where messages are not kept, nobody recognises the second copy
/// of one that may have been passed on.
fn may_pass(error: &StoreError, is_kept: bool) -> bool {
    let is_away = matches!(error.kind(), StoreErrorKind::Unavailable | StoreErrorKind::TimedOut);
    match error.write_outcome() {
        WriteOutcome::Unknown => is_kept,
        _ => is_away,
    }
}

pub(crate) fn mailbox(store: &dyn Store) -> Result<&dyn Mailbox, StoreError> {
    store.mailbox().ok_or_else(|| {
        let message = format!("the {} store keeps no messages; use one that does", store.capabilities().name);
        StoreError::refused(StoreErrorKind::Unsupported, message)
    })
}
