//! How instants and strings of the operating system are written in messages.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Serialize};

/// One string of the operating system: as text where it is text, which is nearly always, and byte by byte where not.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Encoded {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&OsString> for Encoded {
    fn from(string: &OsString) -> Self {
        string.to_str().map_or_else(|| Self::Bytes(string.as_bytes().to_vec()), |text| Self::Text(text.to_owned()))
    }
}

impl From<Encoded> for OsString {
    fn from(encoded: Encoded) -> Self {
        match encoded {
            Encoded::Text(text) => text.into(),
            Encoded::Bytes(bytes) => OsString::from_vec(bytes),
        }
    }
}

pub(crate) mod nanos {
    use serde::{Deserialize, Deserializer, Serializer};
    use tenure_core::Instant;

    pub(crate) fn serialize<S: Serializer>(instant: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(instant.as_nanos())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Instant, D::Error> {
        u64::deserialize(deserializer).map(Instant::from_nanos)
    }
}

pub(crate) mod os_string {
    use std::ffi::OsString;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Encoded;

    pub(crate) fn serialize<S: Serializer>(string: &OsString, serializer: S) -> Result<S::Ok, S::Error> {
        Encoded::from(string).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OsString, D::Error> {
        Encoded::deserialize(deserializer).map(OsString::from)
    }
}

pub(crate) mod os_option {
    use std::ffi::OsString;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Encoded;

    pub(crate) fn serialize<S: Serializer>(string: &Option<OsString>, serializer: S) -> Result<S::Ok, S::Error> {
        string.as_ref().map(Encoded::from).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<OsString>, D::Error> {
        Ok(Option::<Encoded>::deserialize(deserializer)?.map(OsString::from))
    }
}

pub(crate) mod os_strings {
    use std::ffi::OsString;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::Encoded;

    pub(crate) fn serialize<S: Serializer>(strings: &[OsString], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(strings.iter().map(Encoded::from))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<OsString>, D::Error> {
        let encoded = Vec::<Encoded>::deserialize(deserializer)?;
        Ok(encoded.into_iter().map(OsString::from).collect())
    }
}

pub(crate) mod os_pairs {
    use std::ffi::OsString;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::Encoded;

    pub(crate) fn serialize<S: Serializer>(pairs: &[(OsString, OsString)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(pairs.iter().map(|(key, value)| (Encoded::from(key), Encoded::from(value))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(OsString, OsString)>, D::Error> {
        let encoded = Vec::<(Encoded, Encoded)>::deserialize(deserializer)?;
        Ok(encoded.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}
