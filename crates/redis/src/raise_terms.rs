//! Continues above the terms of another store.

use redis::cmd;
use tenure_store::{ElectionKey, ElectionName, Namespace, StoreError, StoreErrorKind, Term};

use super::call::{Call, CallCommand};
use super::error::RedisStoreError;
use super::index::List;
use super::lease::RedisInner;
use super::lease_verbs::RaiseTermsVerb;
use super::sentinel::WHILE_CAMPAIGNING;

/// More than the clocks of servers differ.
const CLOCKS_DIFFER_MS: u64 = 60_000;

impl RedisInner {
    /// Of elections that nobody has stood in yet there is no key, and in a cluster no place that all of them see. Their terms
    /// begin at the time, which has to do.
    pub(super) async fn raise_terms(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
        above: Term,
    ) -> Result<u64, StoreError> {
        let names = match only {
            Some(name) => vec![name.clone()],
            None => {
                self.check_against_time(namespace, above).await?;
                self.elections(namespace).await?
            }
        };
        let key_of = |name| ElectionKey { namespace: namespace.clone(), name };
        let elections: Vec<ElectionKey> = names.into_iter().map(key_of).collect();
        let replies = self.ask(&RaiseTermsVerb { above }, &elections, Vec::new(), self.wait()).await.replies;
        let opinion = self.opinion_of(replies.iter().flatten().next(), WHILE_CAMPAIGNING).await;
        let mut raised = 0;
        for reply in replies {
            let reply = reply?;
            if let Some(why) = self.objection(&reply, opinion, "terms") {
                return Err(self.tell(RedisStoreError::Unusable(why)));
            }
            raised += u64::from(reply.value);
        }
        Ok(raised)
    }

    async fn check_against_time(&self, namespace: &Namespace, above: Term) -> Result<(), StoreError> {
        let call = Call { route: List::Elections.key(self.keys(), namespace), order: CallCommand::Plain(cmd("TIME")) };
        let answer = self.deployment().run(&[call], None).await.pop().unwrap_or(Err(RedisStoreError::Silent));
        let answer = answer.map_err(|fault| self.tell(fault))?;
        let time = redis::from_redis_value::<(u64, u64)>(answer.value);
        let (seconds, _) = time.map_err(|error| self.tell(RedisStoreError::Nonsense(error.to_string())))?;
        let now_ms = seconds.saturating_mul(1_000);
        if above.get() < now_ms.saturating_sub(CLOCKS_DIFFER_MS) {
            return Ok(());
        }
        let message = format!(
            "Redis at {}: terms of new elections start at the time in milliseconds, which is {now_ms} and not safely \
             above {above}; give the name of each election whose terms are to be raised",
            self.place()
        );
        Err(StoreError::refused(StoreErrorKind::Unsupported, message))
    }
}
