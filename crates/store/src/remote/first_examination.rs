//! A look at the server once it has answered, for those who never run `tenure doctor`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::StoreError;

/// A server that takes longer to tell of itself has other problems.
const EXAMINATION_TIMEOUT: Duration = Duration::from_secs(10);

/// The examination that a store makes of its server in the background, once. Nobody waits for it.
#[derive(Debug, Default)]
pub struct FirstExamination {
    is_started: AtomicBool,
}

impl FirstExamination {
    /// Starts the examination if the server has answered one of the requests, and none was started before. Needs a runtime.
    pub fn start_after<T>(
        &self,
        replies: &[Result<T, StoreError>],
        examination: impl Future<Output = ()> + Send + 'static,
    ) {
        if replies.iter().any(Result::is_ok) && !self.is_started.swap(true, Ordering::Relaxed) {
            tokio::spawn(tokio::time::timeout(EXAMINATION_TIMEOUT, examination));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::StoreErrorKind;

    #[tokio::test(start_paused = true)]
    async fn a_server_is_examined_once_and_only_after_it_has_answered() {
        let first = FirstExamination::default();
        let (sender, mut examined) = unbounded_channel();
        let start_after = |replies: &[Result<u32, StoreError>], number| {
            let sender = sender.clone();
            first.start_after(replies, async move { sender.send(number).unwrap() });
        };
        let silent = || Err(StoreError::unknown(StoreErrorKind::Unavailable, "no answer"));
        start_after(&[silent()], 1);
        start_after(&[silent(), Ok(7)], 2);
        start_after(&[Ok(7)], 3);
        drop(sender);
        let mut numbers = Vec::new();
        while let Some(number) = examined.recv().await {
            numbers.push(number);
        }
        assert_eq!(numbers, [2]);
    }
}
