//! Names: of elections, namespaces, candidates, channels, senders and jobs. One rule for all of them, checked once, at the
//! door.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The maximum length of a name, in bytes. Every store can hold it, and a log line stays readable.
pub const MAX_NAME_BYTES: usize = 200;

/// The maximum length of a channel name, in bytes: the limit of servers that have channels of their own.
pub const MAX_CHANNEL_BYTES: usize = 63;

/// Why a name was refused: it must have 1 to [`MAX_NAME_BYTES`] bytes of UTF-8 (a channel's 1 to [`MAX_CHANNEL_BYTES`]) without
/// control characters. The offending text is quoted with its control characters escaped, and cut when it is long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what} {text}: {fault}")]
pub struct NameError {
    what: &'static str,
    text: String,
    fault: NameFault,
}

impl NameError {
    /// Returns what is wrong with the name.
    #[must_use]
    pub fn fault(&self) -> NameFault {
        self.fault
    }
}

/// What can be wrong with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameFault {
    /// The text is empty.
    #[error("it is empty; give it at least one character")]
    Empty,
    /// The text is longer than a name of its kind may be.
    #[error("it has {bytes} bytes, but at most {max} are allowed")]
    TooLong {
        /// The length of the text.
        bytes: usize,
        /// The maximum length.
        max: usize,
    },
    /// The text holds a control character, such as a line break or a NUL.
    #[error("it contains the control character U+{0:04X}; use printable characters only")]
    Control(u32),
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $what:literal, $max:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            #[doc = concat!("Checks the text and keeps it: 1 to [`", stringify!($max), "`] bytes of UTF-8 without control")]
            /// characters. Names are compared byte by byte: no case folding, no Unicode normalisation.
            ///
            /// # Errors
            /// When the text breaks that rule; the message says how.
            pub fn new(text: impl AsRef<str>) -> Result<Self, NameError> {
                check($what, $max, text.as_ref()).map(Self)
            }

            /// Returns the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = NameError;

            fn try_from(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl TryFrom<&String> for $name {
            type Error = NameError;

            fn try_from(text: &String) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl From<&$name> for $name {
            fn from(name: &$name) -> Self {
                name.clone()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

name_type!(
    /// The name of an election inside its namespace, such as `nightly-report`.
    ///
    /// ```
    /// # use tenure_core as tenure;
    /// use tenure::ElectionName;
    ///
    /// assert!(ElectionName::new("nightly-report").is_ok());
    /// assert!(ElectionName::new("two\nlines").is_err());
    /// ```
    ElectionName,
    "election name",
    MAX_NAME_BYTES
);
name_type!(
    /// The id of a candidate, for people; ownership is never decided by it.
    CandidateId,
    "candidate id",
    MAX_NAME_BYTES
);
name_type!(
    /// A set of elections within a store. The same name in two namespaces is two elections.
    Namespace,
    "namespace",
    MAX_NAME_BYTES
);

name_type!(
    /// The name of a channel that messages to a leader are sent on, such as `refresh`.
    ///
    /// ```
    /// # use tenure_core as tenure;
    /// use tenure::ChannelName;
    ///
    /// assert_ne!(ChannelName::new("refresh")?, ChannelName::new("Refresh")?);
    /// assert!(ChannelName::new("x".repeat(64)).is_err());
    /// # Ok::<(), tenure::NameError>(())
    /// ```
    ChannelName,
    "channel name",
    MAX_CHANNEL_BYTES
);
name_type!(
    /// The label of the sender of a message. Messages of one sender on one channel keep their order.
    Sender,
    "sender",
    MAX_NAME_BYTES
);
name_type!(
    /// The name of a job inside its election, such as `send-invoices`.
    JobName,
    "job name",
    MAX_NAME_BYTES
);

impl From<CandidateId> for Sender {
    /// Both follow the same rule.
    fn from(candidate: CandidateId) -> Self {
        Self(candidate.0)
    }
}

impl Default for Namespace {
    /// The namespace `default`.
    fn default() -> Self {
        Self(Arc::from("default"))
    }
}

fn check(what: &'static str, max: usize, text: &str) -> Result<Arc<str>, NameError> {
    let fault = if text.is_empty() {
        Some(NameFault::Empty)
    } else if text.len() > max {
        Some(NameFault::TooLong { bytes: text.len(), max })
    } else {
        text.chars().find(|c| c.is_control()).map(|c| NameFault::Control(u32::from(c)))
    };
    match fault {
        None => Ok(Arc::from(text)),
        Some(fault) => Err(NameError { what, text: quote(text), fault }),
    }
}

/// Long text is cut: an error message must not carry a megabyte.
fn quote(text: &str) -> String {
    const SHOWN_CHARS: usize = 40;
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if text.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    format!("{shown:?}")
}

#[cfg(test)]
mod tests {
    use tenure_fuzz::Fuzz;

    use super::*;

    #[test]
    fn accepts_what_people_call_things() {
        for name in
            ["a", "nightly-report", "über", "🦀", "../x", "it's \"quoted\"", "{tag}x", "trailing ", &"x".repeat(200)]
        {
            assert_eq!(ElectionName::new(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn refuses_and_says_why() {
        let fault = |text: &str| ElectionName::new(text).unwrap_err().fault();
        assert_eq!(fault(""), NameFault::Empty);
        assert_eq!(fault(&"x".repeat(201)), NameFault::TooLong { bytes: 201, max: 200 });
        let channel = |bytes| ChannelName::new("x".repeat(bytes)).map(drop).map_err(|error| error.fault());
        assert_eq!(channel(63), Ok(()));
        assert_eq!(channel(64), Err(NameFault::TooLong { bytes: 64, max: 63 }));
        assert_eq!(fault("a\0b"), NameFault::Control(0));
        assert_eq!(fault("a\u{85}b"), NameFault::Control(0x85));
    }

    #[test]
    fn names_are_made_from_what_people_have() {
        let name = Sender::new("a").unwrap();
        assert_eq!(Sender::try_from("a"), Ok(name.clone()));
        assert_eq!(Sender::try_from("a".to_owned()), Ok(name.clone()));
        assert_eq!(Sender::try_from(&"a".to_owned()), Ok(name.clone()));
        assert_eq!(Sender::from(&name), name);
        assert_eq!(Sender::try_from("").unwrap_err().fault(), NameFault::Empty);
    }

    #[test]
    fn the_message_is_short_and_escaped() {
        let message = CandidateId::new("x\n".repeat(600_000)).unwrap_err().to_string();
        assert!(message.len() < 300, "{message}");
        assert!(message.starts_with(r#"invalid candidate id "x\nx\n"#), "{message}");
    }

    #[test]
    fn composed_and_decomposed_letters_are_two_names() {
        assert_ne!(ElectionName::new("\u{e9}").unwrap(), ElectionName::new("e\u{301}").unwrap());
    }

    #[test]
    fn fuzz_names() {
        Fuzz::target("names")
            .words(&["a", "é", "🦀", "\0", "\n", "\u{85}", "\u{200b}", "../", "\"", "xxxxxxxxxx"])
            .run(|input| {
                let text = String::from_utf8_lossy(input);
                let is_valid = (1..=MAX_NAME_BYTES).contains(&text.len()) && !text.contains(char::is_control);
                match ElectionName::new(&text) {
                    Ok(name) => {
                        assert!(is_valid);
                        assert_eq!((name.as_str(), name.to_string()), (&*text, text.to_string()));
                        assert_eq!(name, text.parse().unwrap());
                    }
                    Err(error) => {
                        assert!(!is_valid, "{error}");
                        let told = error.to_string();
                        assert!(told.len() < 600 && !told.contains(char::is_control), "{told}");
                    }
                }
                assert_eq!(CandidateId::new(&text).is_ok(), is_valid);
                assert_eq!(Namespace::new(&text).is_ok(), is_valid);
            });
    }
}
