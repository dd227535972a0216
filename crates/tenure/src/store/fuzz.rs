//! Addresses of stores. Whatever they look like, nobody gets to see a password.

use tenure_fuzz::Fuzz;

use super::{StoreUrl, open};

/// An input is an address as it is, and also the lines of one that is put together: password, user, place and the
/// value of a parameter.
#[test]
fn fuzz_store_url() {
    Fuzz::target("store-url").words(WORDS).cases(20_000).run(|input| {
        let text = String::from_utf8_lossy(input).replace(SECRET, "");
        check_text(&text);
        let mut lines = text.lines().map(|line| line.replace(char::is_control, ""));
        let [password, user, place, value] = [(); 4].map(|()| lines.next().unwrap_or_default());
        let scheme = SCHEMES[input.len() % SCHEMES.len()];
        let user = user.replace([':', '@', '/', '?'], "");
        check_secret(&format!("{scheme}{user}:{}@{place}", around_secret(&password)));
        check_secret(&format!("{scheme}{place}?password={}", around_secret(&value.replace('&', ""))));
    });
}

/// A text that may be no address at all.
fn check_text(text: &str) {
    match text.parse::<StoreUrl>() {
        Ok(url) => {
            assert_eq!(url.expose(), text);
            assert!(text.starts_with(&format!("{}:", url.scheme())));
            assert!(url.to_string().starts_with(url.scheme()));
        }
        Err(_) => {
            // What part of it is a password nobody can tell, so none of it is repeated.
            let secret = around_secret(text).parse::<StoreUrl>();
            assert!(!secret.is_err_and(|error| error.to_string().contains(SECRET)), "{text}");
        }
    }
}

fn check_secret(address: &str) {
    let url: StoreUrl = address.parse().unwrap();
    let opened = open(&url).map_or_else(|error| format!("{error} {error:?}"), |store| format!("{store:?}"));
    let told = [url.to_string(), format!("{url:?}"), opened];
    for told in told {
        assert!(!told.contains(SECRET), "{address} is told as {told}");
    }
}

/// The secret somewhere in the middle, so that it cannot be told by its beginning or its end.
fn around_secret(text: &str) -> String {
    let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    format!("{}{SECRET}{}", &text[..half], &text[half..])
}

/// A character that comes from nowhere else.
const SECRET: char = '🐤';

/// None that would open a file.
const SCHEMES: &[&str] = &[
    "redis://",
    "postgres://",
    "postgres:/",
    "redis:",
    "redis+sentinel:///",
    "postgresql://",
    "postgres+advisory://",
    "postgres:///",
];

const WORDS: &[&str] = &[
    "redis",
    "postgres",
    "memory",
    "sqlite",
    "://",
    ":",
    "//",
    "/",
    "@",
    "?",
    "&",
    "=",
    "#",
    "%40",
    "%",
    "host",
    "user",
    "password",
    "\n",
    "::1",
    "[",
    "]",
    ",",
    ";",
    " ",
    "+",
    "\0",
    "é",
    "sslmode",
    "0",
    "6379",
    "sslrootcert",
    "hostaddr",
    "dbname",
    "passfile",
    "disable",
    "127.0.0.1",
    "%2F",
    "%00",
    "localhost",
    "service",
];
