//! Messages as they are printed.

use serde::Serialize;
use serde_json::value::RawValue;
use tenure::{Broadcast, Candidacy, ChannelName, Clock, Delivery, Message};

use crate::output::{now, timestamp};

/// A message as `tenure messages --json` prints it.
#[derive(Debug, Serialize)]
pub struct MessageLine {
    /// Which message it is.
    pub id: String,
    /// On which channel.
    pub channel: String,
    /// From whom.
    pub sender: String,
    /// When it was sent.
    pub sent_at: String,
    /// How many attempts to handle it have failed.
    pub attempts: u32,
    /// Why the last one failed.
    pub last_error: Option<String>,
    /// What it says.
    pub payload: Box<RawValue>,
}

impl From<&Message> for MessageLine {
    fn from(message: &Message) -> Self {
        Self {
            id: message.id.to_string(),
            channel: message.channel.to_string(),
            sender: message.sender.to_string(),
            sent_at: timestamp(message.sent_at_unix_ms),
            attempts: message.attempts,
            last_error: message.last_error.clone(),
            payload: embedded(&message.payload),
        }
    }
}

/// A message as `tenure elect --channel` prints it.
#[derive(Debug, Serialize)]
pub struct DeliveryLine<'a> {
    event: &'static str,
    election: &'a str,
    candidate: &'a str,
    pid: u32,
    term: u64,
    at: String,
    boot_ns: u64,
    #[serde(flatten)]
    message: MessageLine,
}

impl<'a> DeliveryLine<'a> {
    /// Describes a message that this candidate is to handle.
    #[must_use]
    pub fn new(candidacy: &'a Candidacy, delivery: &Delivery) -> Self {
        Self {
            event: "message",
            election: candidacy.name().as_str(),
            candidate: candidacy.candidate().as_str(),
            pid: std::process::id(),
            term: delivery.term().get(),
            at: now(),
            boot_ns: Clock::boottime().now().as_nanos(),
            message: MessageLine::from(delivery.message()),
        }
    }
}

/// A broadcast as `tenure elect --broadcasts` prints it, or that it would from now on.
#[derive(Debug, Serialize)]
pub struct BroadcastLine<'a> {
    event: &'static str,
    election: &'a str,
    candidate: &'a str,
    pid: u32,
    at: String,
    boot_ns: u64,
    channel: String,
    #[serde(flatten)]
    said: Option<BroadcastFields>,
}

#[derive(Debug, Serialize)]
struct BroadcastFields {
    id: String,
    sender: String,
    payload: Box<RawValue>,
}

impl<'a> BroadcastLine<'a> {
    /// Says that this candidate hears what is broadcast on a channel.
    #[must_use]
    pub fn listening(candidacy: &'a Candidacy, channel: &ChannelName) -> Self {
        Self {
            event: "listening",
            election: candidacy.name().as_str(),
            candidate: candidacy.candidate().as_str(),
            pid: std::process::id(),
            at: now(),
            boot_ns: Clock::boottime().now().as_nanos(),
            channel: channel.to_string(),
            said: None,
        }
    }

    /// Describes what this candidate has heard.
    #[must_use]
    pub fn new(candidacy: &'a Candidacy, broadcast: &Broadcast) -> Self {
        let Broadcast { id, channel, sender, payload, .. } = broadcast;
        let said = BroadcastFields { id: id.to_string(), sender: sender.to_string(), payload: embedded(payload) };
        Self { event: "broadcast", said: Some(said), ..Self::listening(candidacy, channel) }
    }
}

/// The payload as a part of a line: nothing is changed but the space between its parts, which might hold line breaks. What
/// is no JSON, because somebody else put it into the store, becomes a string.
fn embedded(payload: &str) -> Box<RawValue> {
    let as_text = || serde_json::value::to_raw_value(payload).unwrap_or_default();
    RawValue::from_string(compact(payload)).unwrap_or_else(|_| as_text())
}

/// JSON without the space outside of its strings.
fn compact(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let keeps = |c: &char| {
        if in_string {
            in_string = escaped || *c != '"';
            escaped = !escaped && *c == '\\';
            return true;
        }
        in_string = *c == '"';
        !matches!(c, ' ' | '\t' | '\r' | '\n')
    };
    json.chars().filter(keeps).collect()
}

/// Text that may hold anything, on one line: characters that could move the cursor, or show the text in another order, are
/// escaped.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().flat_map(|c| escape(c).collect::<Vec<char>>()).collect()
}

/// The same as one cell of a table: cut when it is long.
#[must_use]
pub fn on_one_line(text: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    let escaped = printable(&text.chars().take(SHOWN_CHARS).collect::<String>());
    if text.chars().nth(SHOWN_CHARS).is_some() { format!("{escaped}…") } else { escaped }
}

fn escape(c: char) -> Box<dyn Iterator<Item = char>> {
    if c.is_control() || is_bidi_control(c) { Box::new(c.escape_default()) } else { Box::new(std::iter::once(c)) }
}

/// Whether the character changes the direction of the text around it: a terminal would show another name than it is.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_space_between_the_parts_is_left_out() {
        let written = "{ \"a b\" :\t[ 1e400 ,\r\n \" \\\" \\\\\" ] , \"c\":\"\\\\\" }\n";
        assert_eq!(compact(written), r#"{"a b":[1e400," \" \\"],"c":"\\"}"#);
        assert_eq!(embedded(written).get(), compact(written));
    }

    #[test]
    fn numbers_and_odd_strings_are_kept() {
        for payload in ["12345678901234567890123456789", "-0.0", r#""\ud800""#, r#"{"b":1,"a":2,"b":3}"#] {
            assert_eq!(embedded(payload).get(), payload);
        }
    }

    #[test]
    fn what_is_no_json_is_shown_as_text() {
        assert_eq!(embedded("no\njson").get(), r#""no\njson""#);
    }

    #[test]
    fn text_cannot_turn_the_direction_of_what_is_shown() {
        let controls = ['\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}'];
        for control in controls {
            assert_eq!(printable(&format!("a{control}b")), format!("a\\u{{{:x}}}b", u32::from(control)));
        }
        assert_eq!(printable("שלום, مرحبا, 日本 \u{200d}"), "שלום, مرحبا, 日本 \u{200d}", "letters are shown");
    }

    #[test]
    fn a_cell_has_no_control_characters_and_an_end() {
        assert_eq!(on_one_line("a\n\u{1b}[2J"), r"a\n\u{1b}[2J");
        assert_eq!(on_one_line(&"é".repeat(61)).chars().count(), 61);
        assert!(on_one_line(&"x".repeat(61)).ends_with('…'));
    }
}
