//! The candidate's id as the name of a session, which is public, short and plain.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use tenure_store::CandidateId;

const PREFIX: &str = "tenure:";
/// The server cuts off longer names.
const MAX_BYTES: usize = 63;
/// The characters that the server would replace, and the escape character.
const REPLACED: &AsciiSet = &CONTROLS.add(b'%');

/// The session name for this candidate. A truncated one ends with a percent sign.
pub(super) fn encode(candidate: &CandidateId) -> String {
    let mut label = format!("{PREFIX}{}", utf8_percent_encode(candidate.as_str(), REPLACED));
    if label.len() > MAX_BYTES {
        label.truncate(MAX_BYTES - 1);
        // Not within three characters that stand for one byte, nor within the bytes of one character.
        while decode(&label).is_none() {
            label.pop();
        }
        label.push('%');
    }
    label
}

/// The candidate behind one of our session names, as far as it fits in there.
pub(super) fn candidate(label: &str) -> Option<CandidateId> {
    let label = label.strip_prefix(PREFIX)?;
    match label.strip_suffix('%') {
        Some(beginning) => CandidateId::new(decode(beginning)? + "…").ok(),
        None => CandidateId::new(decode(label)?).ok(),
    }
}

/// The id of a foreign holder.
pub(super) fn foreign(label: Option<&str>, pid: i32) -> Option<CandidateId> {
    let named = label.filter(|label| !label.is_empty()).and_then(|label| CandidateId::new(label).ok());
    named.or_else(|| CandidateId::new(format!("server process {pid}")).ok())
}

fn decode(text: &str) -> Option<String> {
    let is_cut = text.bytes().rev().take(2).any(|byte| byte == b'%');
    let decoded = percent_decode_str(text).decode_utf8().ok().filter(|_| !is_cut)?;
    Some(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_is_found_again() {
        for id in ["worker-1", "it's \"me\" 🦀", "100%", "%41", " a ", "e\u{301}"] {
            let label = encode(&CandidateId::new(id).unwrap());
            assert!(label.is_ascii() && label.len() <= MAX_BYTES, "{label}");
            assert_eq!(candidate(&label).unwrap().as_str(), id);
        }
    }

    #[test]
    fn one_that_is_too_long_is_cut_and_says_so() {
        for id in ["x".repeat(200), "🦀".repeat(50), format!("{}🦀", "y".repeat(50))] {
            let label = encode(&CandidateId::new(id.as_str()).unwrap());
            assert!(label.is_ascii() && label.len() <= MAX_BYTES, "{label}");
            let shown = candidate(&label).unwrap();
            let beginning = shown.as_str().strip_suffix('…').unwrap();
            assert!(id.starts_with(beginning) && !beginning.is_empty(), "{shown}");
        }
    }

    #[test]
    fn others_are_shown_by_what_they_call_themselves() {
        assert_eq!(foreign(Some("billing"), 7).unwrap().as_str(), "billing");
        assert_eq!(foreign(Some(""), 7).unwrap().as_str(), "server process 7");
        assert_eq!(candidate("psql"), None);
    }
}
