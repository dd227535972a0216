//! Errors of Redis servers, and their messages.

use std::sync::Arc;

use redis::{RedisError, ServerError};

use tenure_store::{ElectionKey, StoreError, StoreErrorKind, WriteOutcome};

/// One fault of this backend. Where it happened is added when it leaves the backend.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum RedisStoreError {
    /// There is no connection, so nothing was sent.
    #[error("cannot connect: {advice}{0}", advice = code_of_connect(.0).advice())]
    Connect(Arc<RedisError>),
    /// The connection broke while an answer was awaited.
    #[error("the connection was lost: {0}")]
    Lost(Arc<RedisError>),
    /// No answer came, although others in the same cluster have answered.
    #[error("the node of this election does not answer, although others do")]
    Silent,
    /// The server refused the request.
    #[error("{}{text}", ErrorCode::of(text).advice())]
    Refused { text: String },
    /// A step of a script failed after it had changed something.
    #[error("a script was interrupted: {}{text}", ErrorCode::of(text).advice())]
    CutShort { text: String },
    /// An answer that none of our scripts gives.
    #[error("unexpected answer from the server: {0}")]
    Nonsense(String),
    /// The server's record of one election is not what was written there.
    #[error("{what}")]
    Damaged { election: ElectionKey, outcome: WriteOutcome, what: String },
    /// Too few sentinels, or none, know the primary.
    #[error("{0}")]
    NoPrimary(String),
    /// The sentinels denied access.
    #[error("{0}")]
    Unwelcome(String),
    /// The lease was granted, and must not be used for this reason.
    #[error("{0}; the lease was granted and is given back")]
    Unusable(String),
    /// One of our leases had lost its expiry, which was restored.
    #[error(
        "the lease {key:?} of {holder:?} had lost its expiry, as after PERSIST, and would never have ended; it now expires \
         in {left:.1} s unless it is renewed. Find out who changes keys by hand"
    )]
    Mended { key: String, holder: String, left: f64 },
    /// A foreign lease has no expiry.
    #[error(
        "the key {key:?}, held by {holder:?}, has no expiry, and no candidate can lead until it is removed; if its holder \
         is gone, remove it: DEL {key}"
    )]
    Endless { key: String, holder: String },
    /// The write succeeded, but was not confirmed everywhere it should be.
    #[error("{0}; a failover may lose it, so send it again")]
    Unconfirmed(String),
}

impl RedisStoreError {
    /// The server's message, whether from the server itself or from a script.
    pub(super) fn refused(text: impl Into<String>) -> Self {
        Self::Refused { text: text.into() }
    }

    /// Converts an answer of the server that is an error.
    pub(super) fn server(error: &ServerError) -> Self {
        match error.details() {
            Some(details) => Self::refused(format!("{} {details}", error.code())),
            None => Self::refused(error.code()),
        }
    }

    /// The same for a command about this key.
    pub(super) fn at_key(self, key: &str) -> Self {
        match self {
            Self::Refused { text } if ErrorCode::of(&text) == ErrorCode::WrongType => {
                Self::refused(format!("WRONGTYPE of the key {key:?}"))
            }
            fault => fault,
        }
    }

    /// The same for an answer about this election, if its keys are at fault.
    pub(super) fn in_record_of(self, election: &ElectionKey) -> Self {
        let is_damage = |text: &str| matches!(ErrorCode::of(text), ErrorCode::Damaged | ErrorCode::WrongType);
        let (outcome, text) = match &self {
            Self::Refused { text } if is_damage(text) => (WriteOutcome::Refused, text),
            Self::CutShort { text } if is_damage(text) => (WriteOutcome::Unknown, text),
            Self::Nonsense(text) => (WriteOutcome::Unknown, text),
            _ => return self,
        };
        let what = match &self {
            Self::Nonsense(answer) => format!("its fields are invalid; the answer is {answer}"),
            _ => text.trim_start_matches("DAMAGED ").to_owned(),
        };
        Self::Damaged { election: election.clone(), outcome, what }
    }

    /// Whether a key holds a value of the wrong type.
    pub(super) fn is_wrong_type(&self) -> bool {
        matches!(self, Self::Refused { text } if ErrorCode::of(text) == ErrorCode::WrongType)
    }

    /// Whether the server denied permission.
    pub(super) fn is_denied(&self) -> bool {
        match self {
            Self::Connect(error) => code_of_connect(error) == ErrorCode::Denied,
            Self::Refused { text } => ErrorCode::of(text) == ErrorCode::Denied,
            _ => false,
        }
    }

    /// Whether another server may do better.
    pub(super) fn wants_another_server(&self) -> bool {
        match self {
            Self::Refused { text } | Self::CutShort { text } => {
                matches!(ErrorCode::of(text), ErrorCode::ReadOnly | ErrorCode::MasterDown | ErrorCode::Moved)
            }
            // A connection that answers nonsense may have lost count of its answers.
            Self::Nonsense(_) | Self::NoPrimary(_) | Self::Unwelcome(_) => true,
            // The grant has to be given back where it came from. After that another server is looked for.
            Self::Unusable(_) => false,
            Self::Connect(_) | Self::Lost(_) | Self::Silent | Self::Unconfirmed(_) => false,
            Self::Mended { .. } | Self::Endless { .. } | Self::Damaged { .. } => false,
        }
    }

    /// The public error about the server at `place`.
    pub(super) fn about(self, place: &str) -> StoreError {
        let message = format!("Redis at {place}: {self}");
        match self {
            Self::Connect(source) => {
                StoreError::not_sent(kind_of_connect(&source), message).caused_by(RedisError::clone(&source))
            }
            Self::Lost(source) => {
                StoreError::unknown(StoreErrorKind::Unavailable, message).caused_by(RedisError::clone(&source))
            }
            Self::Silent => StoreError::unknown(StoreErrorKind::TimedOut, message),
            Self::Refused { text } => StoreError::refused(ErrorCode::of(&text).kind(), message),
            Self::CutShort { text } => StoreError::unknown(ErrorCode::of(&text).kind(), message),
            Self::Nonsense(_) => StoreError::unknown(StoreErrorKind::Corrupt, message),
            Self::Damaged { election, outcome, what } => {
                StoreError::damaged(&format!("Redis at {place}"), &election, outcome, &what)
            }
            Self::NoPrimary(_) => StoreError::not_sent(StoreErrorKind::Unavailable, message),
            Self::Unwelcome(_) => StoreError::not_sent(StoreErrorKind::Denied, message),
            Self::Unusable(_) => StoreError::unusable(StoreErrorKind::Unavailable, message),
            Self::Endless { .. } => StoreError::refused(StoreErrorKind::Corrupt, message),
            Self::Mended { .. } => StoreError::unknown(StoreErrorKind::Corrupt, message),
            Self::Unconfirmed(_) => StoreError::unknown(StoreErrorKind::Unavailable, message),
        }
    }
}

/// The first word of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorCode {
    OutOfMemory,
    Misconfigured,
    Loading,
    ReadOnly,
    NoReplicas,
    Busy,
    Denied,
    ClusterDown,
    MasterDown,
    Moved,
    TryAgain,
    WrongType,
    Damaged,
    NoSuchCommand,
    NoSuchDatabase,
    HungUp,
    Silent,
    UnknownAuthority,
    OtherName,
    Other,
}

impl ErrorCode {
    fn of(text: &str) -> Self {
        // The first word is ours; the others are those of Lua, about fields that are no numbers, say.
        if text.starts_with("DAMAGED ") || text.contains(": attempt to ") {
            return Self::Damaged;
        }
        // What a script may not do is refused in words only: the first are those of Redis, the others those of Valkey.
        if ["The user executing the script can't", "ACL failure in script"].iter().any(|words| text.contains(words)) {
            return Self::Denied;
        }
        if text.contains("unknown command") {
            return Self::NoSuchCommand;
        }
        if text.contains("DB index is out of range") {
            return Self::NoSuchDatabase;
        }
        // Before version 7, an error inside a script came with the words of whoever called the script around it.
        let known = text.split(|c: char| !c.is_ascii_uppercase()).filter(|word| word.len() > 2).find_map(Self::named);
        known.unwrap_or(Self::Other)
    }

    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "OOM" => Self::OutOfMemory,
            "MISCONF" => Self::Misconfigured,
            "LOADING" => Self::Loading,
            "READONLY" => Self::ReadOnly,
            "NOREPLICAS" => Self::NoReplicas,
            "BUSY" => Self::Busy,
            "NOPERM" | "NOAUTH" | "WRONGPASS" => Self::Denied,
            "CLUSTERDOWN" => Self::ClusterDown,
            "MASTERDOWN" => Self::MasterDown,
            "MOVED" | "ASK" | "CROSSSLOT" => Self::Moved,
            "TRYAGAIN" => Self::TryAgain,
            "WRONGTYPE" => Self::WrongType,
            _ => return None,
        })
    }

    fn kind(self) -> StoreErrorKind {
        match self {
            Self::OutOfMemory => StoreErrorKind::Full,
            Self::Misconfigured | Self::ReadOnly => StoreErrorKind::ReadOnly,
            Self::Loading
            | Self::NoReplicas
            | Self::Busy
            | Self::ClusterDown
            | Self::MasterDown
            | Self::Moved
            | Self::TryAgain => StoreErrorKind::Unavailable,
            Self::Denied => StoreErrorKind::Denied,
            Self::WrongType | Self::Damaged => StoreErrorKind::Corrupt,
            Self::NoSuchCommand => StoreErrorKind::Unsupported,
            Self::NoSuchDatabase => StoreErrorKind::Missing,
            Self::HungUp | Self::Silent | Self::UnknownAuthority | Self::OtherName => StoreErrorKind::Unavailable,
            Self::Other => StoreErrorKind::Other,
        }
    }

    /// The advice that precedes the server's own message.
    fn advice(self) -> &'static str {
        match self {
            Self::OutOfMemory => {
                "the server is out of memory and refuses writes; raise maxmemory or free some memory: "
            }
            Self::Misconfigured => "the server cannot persist and refuses writes; check its disk and its log: ",
            Self::Loading => "the server is still loading its data: ",
            Self::ReadOnly => {
                "this is a replica, and elections need the primary; use its address, or those of the sentinels: "
            }
            Self::NoReplicas => "too few replicas are in sync, and the server refuses writes until they are: ",
            Self::Busy => "the server is busy with a long-running script; SCRIPT KILL ends it: ",
            Self::Denied => {
                "permission denied by the server; check user, password and rights (ACL LOG shows the refusals): "
            }
            Self::ClusterDown => "parts of the cluster are down: ",
            Self::MasterDown => "the replica has lost its primary: ",
            Self::Moved => "the server is part of a cluster; use an address that starts with redis+cluster: ",
            Self::TryAgain => "the election is being moved to another node; wait a moment: ",
            Self::WrongType => "the key holds another type of value; remove it, or choose another prefix or name: ",
            Self::NoSuchCommand => {
                "this server cannot hold elections; if it is a sentinel, use redis+sentinel://HOST:26379/NAME, where NAME is \
                 its name for the primary: "
            }
            Self::NoSuchDatabase => {
                "the server has no database with this number; choose another one in the address, or raise `databases` on the server: "
            }
            Self::HungUp => {
                "the server closed the connection at once; use rediss:// if it expects TLS, and redis:// if it does \
                 not: "
            }
            Self::Silent => {
                "no answer in time; check the host, the port, and whether the server speaks TLS (rediss://): "
            }
            Self::UnknownAuthority => {
                "its certificate is signed by an unknown authority; give the authority's certificate with tls_ca=FILE: "
            }
            Self::OtherName => "its certificate is for another host; use a host name from the certificate: ",
            Self::Damaged | Self::Other => "",
        }
    }
}

fn kind_of_connect(error: &RedisError) -> StoreErrorKind {
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others mean that nobody could be reached")]
    match error.kind() {
        redis::ErrorKind::InvalidClientConfig => StoreErrorKind::Configuration,
        redis::ErrorKind::RESP3NotSupported => StoreErrorKind::Unsupported,
        _ => match code_of_connect(error) {
            ErrorCode::Denied => StoreErrorKind::Denied,
            ErrorCode::NoSuchDatabase => StoreErrorKind::Missing,
            _ => StoreErrorKind::Unavailable,
        },
    }
}

/// The driver hides the server's message about a wrong password.
fn code_of_connect(error: &RedisError) -> ErrorCode {
    let text = error.to_string();
    let told = [
        ("UnknownIssuer", ErrorCode::UnknownAuthority),
        ("not valid for name", ErrorCode::OtherName),
        ("NotValidForName", ErrorCode::OtherName),
    ];
    match ErrorCode::of(&text) {
        _ if error.kind() == redis::ErrorKind::AuthenticationFailed => ErrorCode::Denied,
        ErrorCode::Other => match told.into_iter().find(|(word, _)| text.contains(word)) {
            Some((_, code)) => code,
            None if error.is_connection_refusal() => ErrorCode::Other,
            None if error.is_timeout() => ErrorCode::Silent,
            None if error.is_connection_dropped() => ErrorCode::HungUp,
            None => ErrorCode::Other,
        },
        code => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_a_kind_and_an_advice() {
        for (text, kind) in [
            ("OOM command not allowed when used memory > 'maxmemory'.", StoreErrorKind::Full),
            ("MISCONF Redis is configured to save RDB snapshots", StoreErrorKind::ReadOnly),
            ("LOADING Redis is loading the dataset in memory", StoreErrorKind::Unavailable),
            ("READONLY You can't write against a read only replica.", StoreErrorKind::ReadOnly),
            ("NOREPLICAS Not enough good replicas to write.", StoreErrorKind::Unavailable),
            ("BUSY Redis is busy running a script.", StoreErrorKind::Unavailable),
            ("NOPERM this user has no permissions to run the 'evalsha' command", StoreErrorKind::Denied),
            ("ERR The user executing the script can't run this command or subcommand", StoreErrorKind::Denied),
            ("ERR ACL failure in script: No permissions to access a key", StoreErrorKind::Denied),
            ("CLUSTERDOWN The cluster is down", StoreErrorKind::Unavailable),
            ("MOVED 3999 127.0.0.1:6381", StoreErrorKind::Unavailable),
            ("ERR DB index is out of range", StoreErrorKind::Missing),
            ("TRYAGAIN Multiple keys request during rehashing of slot", StoreErrorKind::Unavailable),
            ("ERR Error running script: @user_script:9: OOM command not allowed", StoreErrorKind::Full),
        ] {
            let error = RedisStoreError::refused(text).about("host:1");
            assert_eq!((error.kind(), error.write_outcome()), (kind, tenure_store::WriteOutcome::Refused), "{text}");
            assert!(error.to_string().len() > "Redis at host:1: ".len() + text.len(), "no advice: {error}");
        }
    }

    #[test]
    fn what_was_cut_short_may_have_happened() {
        let error = RedisStoreError::CutShort { text: "OOM …".to_owned() }.about("host:1");
        assert_eq!(error.write_outcome(), tenure_store::WriteOutcome::Unknown);
    }
}
