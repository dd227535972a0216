//! The keys of an election, and the election of a key.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use tenure_store::{ElectionKey, ElectionName, Namespace, StoreError, StoreErrorKind};

/// The suffixes, after the name of the lease, of the other keys of an election.
pub(super) const ELECTION_KEYS: &[&str] = &["election", "line", "fresh", "standing", "history", "names"];

/// The same for messages.
pub(super) const MESSAGE_KEYS: &[&str] = &["election", "messages", "aside", "contents"];

/// The same for jobs.
pub(super) const LEDGER_KEYS: &[&str] = &["election", "jobs", "runs"];

/// All of them.
pub(super) const ALL_KEYS: &[&str] =
    &["election", "line", "fresh", "standing", "history", "names", "messages", "aside", "contents", "jobs", "runs"];

/// Braces would determine hash slots, and a percent sign shows that something was escaped.
const IN_NAME: &[char] = &['%', '{', '}'];
/// A namespace ends at the first colon after it.
const IN_NAMESPACE: &[char] = &['%', '{', '}', ':'];
/// A channel is kept in a text that ends at a space.
const IN_CHANNEL: &[char] = &['%', ' '];

/// Maps elections to keys and back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys {
    prefix: String,
    pattern: String,
    parts: Vec<KeyPart>,
    database: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyPart {
    Literal(String),
    Namespace,
    Name,
}

impl Keys {
    /// Keys of this pattern: text with `{prefix}`, `{namespace}` and `{name}`; `{{` and `}}` stand for braces.
    pub(super) fn new(prefix: &str, pattern: &str) -> Result<Self, StoreError> {
        let refused = |why: &str| {
            let message = format!("the key pattern {pattern:?} cannot be used: {why}");
            Err(StoreError::not_sent(StoreErrorKind::Configuration, message))
        };
        if prefix.is_empty() || prefix.contains(|c: char| c.is_control() || matches!(c, '{' | '}')) {
            let message = format!("the key prefix {prefix:?} cannot be used: it must be printable and without braces");
            return Err(StoreError::not_sent(StoreErrorKind::Configuration, message));
        }
        let Some(parts) = parse(prefix, pattern) else {
            return refused(
                "braces other than those of {prefix}, {namespace} and {name} must be doubled, as {{ and }}",
            );
        };
        let count = |wanted: &KeyPart| parts.iter().filter(|part| *part == wanted).count();
        if count(&KeyPart::Name) != 1 || count(&KeyPart::Namespace) > 1 {
            return refused("it must contain {name} once, and {namespace} at most once");
        }
        if !matches!(parts.last(), Some(KeyPart::Name)) {
            return refused("it must end with {name}");
        }
        let touching = |pair: &[KeyPart]| matches!(pair, [KeyPart::Namespace, next] if !starts_with_colon(next));
        if parts.windows(2).any(touching) {
            return refused("a colon must follow {namespace}, so that names cannot run into each other");
        }
        Ok(Self { prefix: prefix.to_owned(), pattern: pattern.to_owned(), parts, database: 0 })
    }

    /// The name of the lease.
    pub(super) fn lease(&self, key: &ElectionKey) -> Result<String, StoreError> {
        if !self.parts.contains(&KeyPart::Namespace) && key.namespace != Namespace::default() {
            let message = format!(
                "the key pattern {:?} has no {{namespace}}, so only the namespace {:?} can be used with it",
                self.pattern,
                Namespace::default()
            );
            return Err(StoreError::not_sent(StoreErrorKind::Configuration, message));
        }
        let name = escaped(key.name.as_str(), IN_NAME);
        if !self.parts.contains(&KeyPart::Namespace) && matches!(name, Cow::Owned(_)) {
            let message = format!(
                "the name {:?} cannot be used with the key pattern {:?}: {{, }} and % would be written as in {name:?}, \
                 and other programs would use another key; choose a name without them",
                key.name, self.pattern,
            );
            return Err(StoreError::not_sent(StoreErrorKind::Configuration, message));
        }
        let mut lease = String::with_capacity(self.prefix.len() + 64);
        for part in &self.parts {
            match part {
                KeyPart::Literal(text) => lease.push_str(text),
                KeyPart::Namespace => lease.push_str(&escaped(key.namespace.as_str(), IN_NAMESPACE)),
                KeyPart::Name => lease.push_str(&name),
            }
        }
        Ok(lease)
    }

    /// The shape of lease names, for display.
    pub(super) fn example(&self) -> String {
        let text = |part: &KeyPart| match part {
            KeyPart::Literal(text) => text.clone(),
            KeyPart::Namespace => "NAMESPACE".to_owned(),
            KeyPart::Name => "NAME".to_owned(),
        };
        self.parts.iter().map(text).collect()
    }

    /// The election whose lease has this name, if the name matches this pattern.
    pub(super) fn election(&self, lease: &str) -> Option<ElectionKey> {
        let mut rest = lease;
        let (mut namespace, mut name) = (Namespace::default(), None);
        for part in &self.parts {
            match part {
                KeyPart::Literal(text) => rest = rest.strip_prefix(text.as_str())?,
                KeyPart::Namespace => {
                    let end = rest.find(':')?;
                    namespace = Namespace::new(decoded(&rest[..end])?).ok()?;
                    rest = &rest[end..];
                }
                // It is the last part.
                KeyPart::Name => name = Some(ElectionName::new(decoded(rest)?).ok()?),
            }
        }
        Some(ElectionKey { namespace, name: name? })
    }

    /// The election that has this key beside its lease, if the key is of this kind.
    pub(super) fn election_of_companion(&self, key: &str, companion: &str) -> Option<ElectionKey> {
        let lease = key.strip_suffix(companion)?.strip_suffix(':')?;
        let bare = lease.strip_prefix('{').and_then(|lease| lease.strip_suffix('}'));
        let is_companion = |election: &ElectionKey| {
            self.lease(election).is_ok_and(|lease| companions(&lease, &[companion]).any(|name| name == key))
        };
        [bare, Some(lease)].into_iter().flatten().filter_map(|lease| self.election(lease)).find(is_companion)
    }

    /// The set of elections in a namespace.
    pub(super) fn index(&self, namespace: &Namespace) -> String {
        format!("{}::elections:{}", self.prefix, escaped(namespace.as_str(), IN_NAMESPACE))
    }

    /// The set of elections in a namespace that were sent messages.
    pub(super) fn mailboxes(&self, namespace: &Namespace) -> String {
        format!("{}::mailboxes:{}", self.prefix, escaped(namespace.as_str(), IN_NAMESPACE))
    }

    /// A key written to test whether writing is possible.
    pub(super) fn examination(&self) -> String {
        format!("{}::examination", self.prefix)
    }

    /// The channel that wakes one process.
    pub(super) fn wake_channel(&self, process: &str) -> String {
        format!("{}::wake:{process}", escaped(&self.prefix, IN_CHANNEL))
    }

    /// The channel that announces every change.
    pub(super) fn changes_channel(&self) -> String {
        format!("{}::changes", escaped(&self.prefix, IN_CHANNEL))
    }

    /// The channel for broadcasts to an election. It begins as the others do, so that a user needs no further rights. Channels
    /// do not belong to a database, so it names any but the first, with braces, which no name of an election has.
    pub(super) fn broadcast_channel(&self, key: &ElectionKey) -> Result<String, StoreError> {
        let channel = format!("{}::broadcasts:{}", escaped(&self.prefix, IN_CHANNEL), self.lease(key)?);
        Ok(if self.database == 0 { channel } else { format!("{channel}{{{}}}", self.database) })
    }

    /// The same in this database.
    pub(super) fn in_database(self, database: i64) -> Self {
        Self { database, ..self }
    }
}

/// The keys of these kinds beside the lease. They are in its hash slot.
pub(super) fn companions<'a>(lease: &'a str, names: &'a [&'a str]) -> impl Iterator<Item = String> + 'a {
    // A lease that brings a hash tag of its own shares it with what begins with its name.
    let (open, close) = if tag_of(lease) == lease { ("{", "}") } else { ("", "") };
    names.iter().map(move |name| format!("{open}{lease}{close}:{name}"))
}

/// The part of a key that determines its hash slot: the text between the first `{` and the next `}`, if any.
pub(super) fn tag_of(key: &str) -> &str {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    tag.filter(|tag| !tag.is_empty()).unwrap_or(key)
}

fn parse(prefix: &str, pattern: &str) -> Option<Vec<KeyPart>> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = pattern;
    while let Some(position) = rest.find(['{', '}']) {
        literal.push_str(&rest[..position]);
        rest = &rest[position..];
        let part = [
            ("{{", None),
            ("}}", None),
            ("{prefix}", None),
            ("{namespace}", Some(KeyPart::Namespace)),
            ("{name}", Some(KeyPart::Name)),
        ]
        .into_iter()
        .find(|(text, _)| rest.starts_with(text))?;
        rest = &rest[part.0.len()..];
        match part {
            ("{prefix}", _) => literal.push_str(prefix),
            (text, None) => literal.push_str(&text[..1]),
            (_, Some(placeholder)) => {
                if !literal.is_empty() {
                    parts.push(KeyPart::Literal(std::mem::take(&mut literal)));
                }
                parts.push(placeholder);
            }
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(KeyPart::Literal(literal));
    }
    Some(parts)
}

fn starts_with_colon(part: &KeyPart) -> bool {
    matches!(part, KeyPart::Literal(text) if text.starts_with(':'))
}

/// Escapes only these characters, all of which are ASCII: foreign participants must see everything else unchanged.
fn escaped<'a>(text: &'a str, special: &[char]) -> Cow<'a, str> {
    if !text.contains(special) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if special.contains(&c) { format!("%{:02X}", u32::from(c)) } else { c.to_string() };
    Cow::Owned(text.chars().map(escape).collect())
}

fn decoded(text: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(text).decode_utf8().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(namespace: &str, name: &str) -> ElectionKey {
        ElectionKey { namespace: Namespace::new(namespace).unwrap(), name: ElectionName::new(name).unwrap() }
    }

    #[test]
    fn patterns_of_others_fit() {
        let keys = Keys::new("app", "{prefix}:leader:{name}").unwrap();
        assert_eq!(keys.lease(&key("default", "mix")).unwrap(), "app:leader:mix");
        let keys = Keys::new("tenure", "{name}").unwrap();
        assert_eq!(keys.lease(&key("default", "my-app:cron-leader")).unwrap(), "my-app:cron-leader");
    }

    #[test]
    fn every_lease_leads_back_to_its_election() {
        for pattern in ["{prefix}:{namespace}:{name}", "{{tag}}:{namespace}:x:{name}"] {
            let keys = Keys::new("tenure", pattern).unwrap();
            for election in [key("default", "a"), key("a:b%3A{}", "c:d"), key("ü", "{x}:%7B 🦀"), key("a", "b:c")] {
                let lease = keys.lease(&election).unwrap();
                assert_eq!(keys.election(&lease), Some(election), "{lease}");
            }
            assert_eq!(keys.election("something:else"), None);
        }
    }

    #[test]
    fn all_keys_of_an_election_share_a_hash_slot() {
        for pattern in ["{prefix}:{namespace}:{name}", "{name}", "{{mine}}:{name}"] {
            let keys = Keys::new("tenure", pattern).unwrap();
            let names = ["a", "{tag}x", "a}b", "{}", "{a", "🦀"].into_iter();
            // Those that have to be escaped are refused where others name keys, too.
            for name in names.filter(|name| pattern.contains("{namespace}") || !name.contains(IN_NAME)) {
                let lease = keys.lease(&key("default", name)).unwrap();
                for companion in companions(&lease, ELECTION_KEYS).chain(companions(&lease, MESSAGE_KEYS)) {
                    assert_eq!(tag_of(&companion), tag_of(&lease), "{companion}");
                }
            }
        }
    }

    #[test]
    fn a_name_that_others_would_write_differently_is_refused_under_their_patterns() {
        for pattern in ["{prefix}:leader:{name}", "{name}"] {
            let keys = Keys::new("app", pattern).unwrap();
            for name in ["a{b", "a}b", "100%"] {
                let error = keys.lease(&key("default", name)).unwrap_err().to_string();
                assert!(error.contains(name) && error.contains("another key"), "{error}");
            }
            assert!(keys.lease(&key("default", "a:b c/d")).is_ok());
        }
        let keys = Keys::new("tenure", "{prefix}:{namespace}:{name}").unwrap();
        assert_eq!(keys.lease(&key("default", "100%")).unwrap(), "tenure:default:100%25");
    }

    #[test]
    fn a_pattern_without_namespace_has_one_namespace_only() {
        let keys = Keys::new("tenure", "{name}").unwrap();
        assert!(keys.lease(&key("default", "a")).is_ok());
        let error = keys.lease(&key("other", "a")).unwrap_err();
        assert!(error.to_string().contains("only the namespace \"default\""), "{error}");
    }

    #[test]
    fn what_cannot_work_is_refused() {
        for pattern in
            ["", "cron", "{name}{name}", "{namespace}{name}", "{name}:x", "{nam}", "{", "}", "{namespace}-{name}"]
        {
            assert!(Keys::new("tenure", pattern).is_err(), "{pattern}");
        }
        for prefix in ["", "a{b", "a\n"] {
            assert!(Keys::new(prefix, "{name}").is_err(), "{prefix}");
        }
    }
}
