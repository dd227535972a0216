//! Notifications between sessions: one channel for all, since changes of leadership are rare.

use tenure_store::{CandidateId, ElectionKey, ElectionName, Handover, Namespace, Term};
use tokio_postgres::Notification;
use tokio_postgres::types::{ToSql, Type};

use super::super::identifier::channel;
use super::session::LockSession;

/// One notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notice {
    /// It no longer has a holder. The successor goes first, if one was named.
    Freed(ElectionKey, Option<CandidateId>),
    /// It has a holder.
    Led(ElectionKey),
    /// Its holder under this term has died, and so has everything that worked under it. Sent by whoever has seen that.
    Crashed(ElectionKey, Term),
    /// Its holder under this term should hand it over.
    Asked(ElectionKey, Term, Handover),
    /// A lock that this server process held is free. Sent by a waiter for that lock.
    Gone(i32),
    /// Fewer waiters than before wait for the end of this server process.
    Unwatched(i32),
}

/// The channel of notices.
pub(super) fn channel_name() -> String {
    channel(&["postgres advisory"])
}

impl Notice {
    /// The election that it is about, if any.
    pub(super) fn key(&self) -> Option<&ElectionKey> {
        match self {
            Self::Freed(key, _) | Self::Led(key) | Self::Crashed(key, _) | Self::Asked(key, ..) => Some(key),
            Self::Gone(_) | Self::Unwatched(_) => None,
        }
    }

    /// A word, the namespace, the name, and a candidate if there is one; or a word and a process of the server. None of them
    /// holds a line break.
    pub(super) fn payload(&self) -> String {
        let (word, key, successor) = match self {
            Self::Freed(key, successor) => ("freed".to_owned(), key, successor.as_ref()),
            Self::Led(key) => ("led".to_owned(), key, None),
            Self::Crashed(key, term) => (format!("crashed {term}"), key, None),
            Self::Asked(key, term, handover) => (format!("asked {term}"), key, handover.successor.as_ref()),
            Self::Gone(holder) => return format!("gone {holder}"),
            Self::Unwatched(holder) => return format!("unwatched {holder}"),
        };
        let ElectionKey { namespace, name } = key;
        format!("{word}\n{namespace}\n{name}\n{}", successor.map(CandidateId::as_str).unwrap_or_default())
    }

    /// Parses a notice; `None` if it is foreign.
    pub(super) fn read(told: &Notification) -> Option<Self> {
        Self::parse(told.payload())
    }

    fn parse(payload: &str) -> Option<Self> {
        if let Some(holder) = payload.strip_prefix("gone ") {
            return holder.parse().ok().map(Self::Gone);
        }
        if let Some(holder) = payload.strip_prefix("unwatched ") {
            return holder.parse().ok().map(Self::Unwatched);
        }
        let mut lines = payload.splitn(4, '\n');
        let word = lines.next()?;
        let namespace = Namespace::new(lines.next()?).ok()?;
        let name = ElectionName::new(lines.next()?).ok()?;
        let key = ElectionKey { namespace, name };
        let successor = lines.next().and_then(|id| CandidateId::new(id).ok());
        match word {
            "freed" => Some(Self::Freed(key, successor)),
            "led" => Some(Self::Led(key)),
            word => {
                let (word, term) = word.split_once(' ')?;
                let term = Term::new(term.parse().ok()?)?;
                match word {
                    "asked" => Some(Self::Asked(key, term, Handover { successor })),
                    "crashed" => Some(Self::Crashed(key, term)),
                    _ => None,
                }
            }
        }
    }
}

/// Sends notices in a statement of their own, because a queue of notices that is full would undo whatever came with them,
/// and does not wait for them to reach a disk.
pub(super) async fn notify(session: &LockSession, notices: &[Notice]) -> bool {
    let payloads: Vec<String> = notices.iter().map(Notice::payload).collect();
    let sql = "SELECT pg_catalog.set_config('synchronous_commit', 'off', true), pg_catalog.pg_notify($1, payload) \
               FROM pg_catalog.unnest($2) AS told (payload)";
    payloads.is_empty()
        || session.ask(sql, &[(&channel_name(), Type::TEXT), (&payloads, Type::TEXT_ARRAY)]).await.is_ok()
}

/// The same of locks that were freed, right behind the [release](super::locks::release) of this number: unless that has freed
/// them, nothing is told: those who hear it do not wait for a leader that may not know yet.
pub(super) async fn tell_released(session: &LockSession, notices: &[Notice], release: &str) -> bool {
    let sql = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, payload)
               FROM unnest($2::text[]) AS told (payload)
               WHERE current_setting('tenure.session', true) = $3 AND current_setting('tenure.released', true) = $4";
    let payloads: Vec<String> = notices.iter().map(Notice::payload).collect();
    let told: [(&(dyn ToSql + Sync), Type); 4] = [
        (&channel_name(), Type::TEXT),
        (&payloads, Type::TEXT_ARRAY),
        (&session.marker, Type::TEXT),
        (&release, Type::TEXT),
    ];
    payloads.is_empty() || session.ask(sql, &told).await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_survive_and_nothing_else_is_one() {
        let key = ElectionKey { namespace: Namespace::default(), name: ElectionName::new("it's 🦀").unwrap() };
        let successor = Some(CandidateId::new("worker 7").unwrap());
        for notice in [
            Notice::Freed(key.clone(), None),
            Notice::Freed(key.clone(), successor.clone()),
            Notice::Led(key.clone()),
            Notice::Crashed(key.clone(), Term::new(7).unwrap()),
            Notice::Asked(key.clone(), Term::new(7).unwrap(), Handover { successor }),
            Notice::Asked(key, Term::new(Term::MAX).unwrap(), Handover { successor: None }),
            Notice::Gone(4_711),
            Notice::Unwatched(i32::MAX),
        ] {
            assert_eq!(Notice::parse(&notice.payload()), Some(notice));
        }
        for payload in [
            "",
            "gone",
            "gone x",
            "unwatched 1\n",
            "led",
            "led\n\n\n",
            "other\ndefault\nname\n",
            "asked 0\ndefault\nname\n",
            "{\"json\": 1}",
        ] {
            assert_eq!(Notice::parse(payload), None, "{payload:?}");
        }
    }
}
