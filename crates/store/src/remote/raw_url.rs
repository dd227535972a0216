//! Addresses as written, split but not yet interpreted.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::StoreUrl;

/// The parts of `SCHEME://USER:PASSWORD@HOST:PORT,HOST:PORT/PATH?OPTIONS`, as written.
pub struct RawUrl<'a> {
    /// The part before the last `@`.
    pub credentials: Option<&'a str>,
    /// One or more hosts, separated by commas.
    pub hosts: &'a str,
    /// The part after the first slash that follows the hosts.
    pub path: &'a str,
    query: &'a str,
}

impl<'a> RawUrl<'a> {
    /// Splits an address into its parts. Errors never repeat any of it.
    pub fn of(url: &'a StoreUrl) -> Result<Self, String> {
        let rest = url.rest().strip_prefix("//").ok_or("two slashes must follow the scheme, as in SCHEME://HOST")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if query.contains(['@', '?']) {
            // Nobody can tell whether this is a password with a question mark, or where an option ends.
            return Err("a ? in a password or an option must be written %3F, and an @ in an option %40".to_owned());
        }
        // The last @ ends the credentials, and what follows the first slash after them is the path.
        let (credentials, rest) = match rest.rsplit_once('@') {
            Some((credentials, rest)) => (Some(credentials), rest),
            None => (None, rest),
        };
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self { credentials, hosts, path, query })
    }

    /// User and password, if given. A lone password has a colon before it.
    pub fn login(&self) -> Result<(Option<String>, Option<String>), String> {
        let credentials = self.credentials.unwrap_or_default();
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        let given = |text: &str| Some(text).filter(|text| !text.is_empty()).map(decoded).transpose();
        Ok((given(user)?, given(password)?))
    }

    /// The names and values of the options; the values are not yet [`decoded`].
    pub fn options(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let options = self.query.split('&').filter(|option| !option.is_empty());
        options.map(|option| option.split_once('=').unwrap_or((option, "")))
    }
}

/// Decodes the percent-encoding of a part of an address.
pub fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Cow::into_owned).map_err(|_| "its percent-encoded text is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_at_ends_the_credentials() {
        let url: StoreUrl = "x://us%3Aer:p@s/s@host:1,other/a/b?c=d&&e".parse().unwrap();
        let raw_url = RawUrl::of(&url).unwrap();
        assert_eq!((raw_url.hosts, raw_url.path), ("host:1,other", "a/b"));
        assert_eq!(raw_url.login(), Ok((Some("us:er".to_owned()), Some("p@s/s".to_owned()))));
        assert_eq!(raw_url.options().collect::<Vec<_>>(), [("c", "d"), ("e", "")]);
    }

    #[test]
    fn what_could_be_a_password_is_not_taken_for_an_option() {
        for text in ["x://user:canary?x@host", "x:user:canary@host", "x://host?a=b?password=canary"] {
            let url: StoreUrl = text.parse().unwrap();
            let error = RawUrl::of(&url).err().unwrap();
            assert!(!error.contains("canary"), "{error}");
        }
        assert!(decoded("%ff").is_err());
    }
}
