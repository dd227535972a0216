//! A fence around keys in Redis.

use redis::{Arg, Cmd, RedisError, cmd};
use tenure_store::Term;

/// Guards a key in Redis or Valkey: writes through it fail once it has seen a higher term.
///
/// It makes commands and leaves the sending to you: any connection will do, blocking or async, to one server or to a
/// cluster. Comparing, remembering and writing are one atomic step. The highest term is kept beside the key, in
/// `{KEY}:fence`, and never expires.
///
/// ```no_run
/// use redis::cmd;
/// use tenure::blocking::Client;
/// use tenure::fencing::is_stale;
///
/// let client = Client::open("redis://127.0.0.1:6379/")?;
/// let candidacy = client.election("nightly-report")?.candidate().start()?;
/// let leadership = candidacy.elected()?;
///
/// let mut connection = redis::Client::open("redis://127.0.0.1:6379/")?.get_connection()?;
/// let fence = leadership.redis_fence("report");
/// let write = fence.guard(&[cmd("SET").arg("report").arg("all is well").clone()]);
/// match write.query::<Vec<String>>(&mut connection) {
///     Ok(replies) => println!("written: {replies:?}"),
///     Err(error) if is_stale(&error) => println!("somebody else leads by now: {error}"),
///     Err(error) => return Err(error.into()),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What it does not do: Redis keeps what a script has written before one of its commands fails, so give it commands that
/// cannot fail halfway. And a Redis that forgets, because it was flushed or failed over to a stale replica, forgets the
/// fence, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedisFence {
    fence: String,
    key: String,
    term: Term,
}

impl RedisFence {
    /// Guards this key with this term. `Leadership::redis_fence` fills in the term; a process that only got the number
    /// makes it with [`Term::new`]. In a cluster, other keys may be written with it if they are in the same hash slot.
    #[must_use]
    pub fn around(key: impl Into<String>, term: Term) -> Self {
        let key = key.into();
        // A key with a hash tag shares its slot with what begins with it; any other shares it with what has it as tag.
        let fence = if key.contains(['{', '}']) { format!("{key}:fence") } else { format!("{{{key}}}:fence") };
        Self { fence, key, term }
    }

    /// One command that runs all of these, or none of them if a higher term was here. It answers with the list of their
    /// answers; if the term is over, with an error that [`is_stale`] recognises. Then the work has to stop.
    #[must_use]
    pub fn guard(&self, commands: &[Cmd]) -> Cmd {
        let mut guarded = cmd("EVAL");
        guarded.arg(include_str!("lua/fence.lua")).arg(2).arg(&self.fence).arg(&self.key).arg(self.term.get());
        for command in commands {
            guarded.arg(command.args_iter().len());
            for word in command.args_iter() {
                // What is not a word is the place of a cursor, which begins at the start.
                if let Arg::Simple(word) = word {
                    guarded.arg(word)
                } else {
                    guarded.arg(0)
                };
            }
        }
        guarded
    }
}

/// Whether a fence refused a write because a higher term was here. A newer term must not be fetched to try again: the term
/// belongs to the work.
#[must_use]
pub fn is_stale(error: &RedisError) -> bool {
    error.code() == Some("STALE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fence_is_where_the_key_is() {
        let fence_of = |key: &str| RedisFence::around(key, Term::new(7).unwrap()).fence;
        assert_eq!(fence_of("report"), "{report}:fence");
        assert_eq!(fence_of("{app}:report"), "{app}:report:fence");
    }
}
