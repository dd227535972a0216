//! Names inside the server: quoted where they are written into SQL, hashed where they only have to differ.

use std::fmt;

use sha2::{Digest, Sha256};
use tenure_store::{ElectionKey, Namespace};

use super::config::SCHEMA;

/// The longest identifier, in bytes. PostgreSQL silently truncates longer ones.
const MAX_IDENTIFIER: usize = 63;

/// A name that may be written into SQL, because it is always quoted there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identifier(String);

impl Identifier {
    pub(crate) fn new(name: &str) -> Result<Self, &'static str> {
        match name {
            "" => Err("it is empty"),
            name if name.contains('\0') => Err("it contains a NUL"),
            name if name.len() > MAX_IDENTIFIER => Err("it is longer than 63 bytes"),
            name => Ok(Self(name.to_owned())),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Identifier {
    /// The default schema.
    fn default() -> Self {
        Self(SCHEMA.to_owned())
    }
}

impl fmt::Display for Identifier {
    /// In quotes, with quotes inside doubled.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('"', "\"\""))
    }
}

/// The first 128 bits of the SHA-256 of namespace, NUL and name. Names hold no NUL, so no two elections share a text.
///
/// The functions for foreign participants reckon the same in SQL.
pub(super) fn election_id(key: &ElectionKey) -> u128 {
    u128::from_be_bytes(first(&digest(&[key.namespace.as_str(), key.name.as_str()])))
}

/// The advisory lock of an election: a 64-bit number that is never 0.
///
/// An election of the default namespace whose name is such a number, as it is usually written, has that very lock: so it is
/// shared with participants that know nothing but the number. All others have the first 64 bits of the SHA-256.
pub(super) fn lock_id(key: &ElectionKey) -> i64 {
    let name = key.name.as_str();
    let number = name.parse::<i64>().ok().filter(|number| *number != 0 && number.to_string() == name);
    match number.filter(|_| key.namespace == Namespace::default()) {
        Some(number) => number,
        None => match i64::from_be_bytes(first(&digest(&[key.namespace.as_str(), name]))) {
            0 => 1,
            number => number,
        },
    }
}

/// The mark on a lock of this election: 32 bits of the SHA-256 that its number does not have.
pub(super) fn lock_tag(key: &ElectionKey) -> i32 {
    let digest = digest(&[key.namespace.as_str(), key.name.as_str()]);
    i32::from_be_bytes([digest[8], digest[9], digest[10], digest[11]])
}

/// A channel of our own: its name reveals nothing, needs no quotes and is never too long.
pub(super) fn channel(parts: &[&str]) -> String {
    format!("tenure_{:032x}", u128::from_be_bytes(first(&digest(parts))))
}

/// Whether a [`channel`] is one of ours.
pub(super) fn is_own_channel(name: &str) -> bool {
    let number = name.strip_prefix("tenure_");
    number.is_some_and(|number| number.len() == 32 && number.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn digest(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for (position, part) in parts.iter().enumerate() {
        if position > 0 {
            hash.update([0]);
        }
        hash.update(part);
    }
    hash.finalize().into()
}

fn first<const N: usize>(digest: &[u8; 32]) -> [u8; N] {
    std::array::from_fn(|position| digest[position])
}

#[cfg(test)]
mod tests {
    use tenure_store::ElectionName;

    use super::*;

    #[test]
    fn an_identifier_is_quoted_or_refused() {
        assert_eq!(Identifier::new("tenure").unwrap().to_string(), "\"tenure\"");
        assert_eq!(Identifier::new("a\"; DROP").unwrap().to_string(), "\"a\"\"; DROP\"");
        assert!(Identifier::new("").is_err() && Identifier::new("a\0b").is_err());
        assert!(Identifier::new(&"x".repeat(63)).is_ok() && Identifier::new(&"x".repeat(64)).is_err());
    }

    #[test]
    fn elections_and_channels_are_told_apart() {
        let id = |namespace: &str, name: &str| {
            let namespace = Namespace::new(namespace).unwrap();
            election_id(&ElectionKey { namespace, name: ElectionName::new(name).unwrap() })
        };
        assert_ne!(id("a", "bc"), id("ab", "c"));
        // As `sha256('default' || '\0' || 'nightly')` says elsewhere: foreign participants must find the same row.
        assert_eq!(format!("{:032x}", id("default", "nightly")), "1e1ba955dc9a99b5e385597c6d88dcb2");
        assert!(channel(&["tenure", "7"]).len() <= MAX_IDENTIFIER);
        assert_ne!(channel(&["tenure", "7"]), channel(&["tenure7"]));
        assert!(is_own_channel(&channel(&["tenure"])) && !is_own_channel("tenure_refresh") && !is_own_channel("x"));
    }

    #[test]
    fn a_number_is_its_own_lock_and_every_other_name_has_one_too() {
        let id = |namespace: &str, name: &str| {
            let namespace = Namespace::new(namespace).unwrap();
            lock_id(&ElectionKey { namespace, name: ElectionName::new(name).unwrap() })
        };
        for number in [1, -1, 4242, 9_007_199_254_740_993, i64::MAX, i64::MIN] {
            assert_eq!(id("default", &number.to_string()), number);
            assert_ne!(id("other", &number.to_string()), number);
        }
        // `sha256('default' || '\0' || 'nightly')` begins with these bytes.
        assert_eq!(id("default", "nightly"), 0x1e1b_a955_dc9a_99b5);
        // What is written in another way is another name, and 0 is no lock that anybody uses.
        for name in ["0", "-0", "+1", "01", " 1", "1 ", "1.0", "9223372036854775808", "١"] {
            assert!(!(-1..=1).contains(&id("default", name)), "{name:?}");
        }
    }
}
