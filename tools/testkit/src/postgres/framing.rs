//! Where messages end that go to a server, and come from it.

use crate::proxy::{Direction, Stretch};

/// How many bytes the first message in these takes, or none if it is not yet complete.
///
/// What the protocol calls a message is only a piece of what a client asks at once, or a server answers. Here it is the
/// whole: a request ends where the server has to answer, and an answer where the server waits for the next request. So one
/// that comes twice can be taken for the answer to the next request, which is what a client has to fear. What a server tells
/// between two answers, such as a notification, is a message of its own.
///
/// Where a connection is encrypted, it is one record of that.
#[must_use]
pub fn message_length(stretch: Stretch, bytes: &[u8]) -> Option<usize> {
    let first = *bytes.first()?;
    // The answer to the question whether the server encrypts, or a record of the encryption that begins thereafter.
    match stretch.direction {
        Direction::Replies if stretch.is_first && matches!(first, b'S' | b'N') => return Some(1),
        _ if RECORDS.contains(&first) => return record_length(bytes),
        _ => {}
    }
    let mut end = 0;
    loop {
        let piece = piece(&bytes[end..])?;
        let is_last = match stretch.direction {
            Direction::Requests => ends_request(piece),
            Direction::Replies => ends_answer(piece, end == 0),
        };
        end += piece.len();
        if is_last {
            return Some(end);
        }
    }
}

/// What the protocol calls a message: the first one in these bytes.
fn piece(bytes: &[u8]) -> Option<&[u8]> {
    // The very first one of a client begins with its length, which is short of what would make this byte a letter.
    let kind = usize::from(*bytes.first()? != 0);
    let length = bytes.get(kind..kind + 4)?.try_into().map(u32::from_be_bytes).ok()?;
    bytes.get(..kind + usize::try_from(length).ok()?.max(4))
}

/// Only the pieces of a prepared statement wait for further ones.
fn ends_request(piece: &[u8]) -> bool {
    !matches!(piece[0], b'P' | b'B' | b'D' | b'E' | b'C')
}

fn ends_answer(piece: &[u8], is_alone: bool) -> bool {
    match piece[0] {
        // Ready for the next request; or waiting for data, or sending them without end.
        b'Z' | b'G' | b'H' | b'W' => true,
        // A question about the password; once all is well, more follows.
        b'R' => piece.get(5..9) != Some(&[0; 4]),
        // A notification, a warning, a setting that has changed.
        b'A' | b'N' | b'S' => is_alone,
        _ => false,
    }
}

fn record_length(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(3..5)?.try_into().map(u16::from_be_bytes).ok()?;
    Some(5 + usize::from(length)).filter(|end| *end <= bytes.len())
}

/// How records of the encryption begin. No message of the protocol begins so.
const RECORDS: std::ops::RangeInclusive<u8> = 0x14..=0x18;

#[cfg(test)]
mod tests {
    use super::*;

    fn piece_of(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[kind][..], &length, body].concat()
    }

    fn start_of(body: &[u8]) -> Vec<u8> {
        piece_of(0, body)[1..].to_vec()
    }

    fn assert_split(direction: Direction, messages: &[Vec<u8>]) {
        let all = messages.concat();
        let (mut rest, mut is_first) = (&all[..], true);
        for message in messages {
            let stretch = Stretch { direction, is_first };
            for cut in 0..message.len() {
                assert_eq!(message_length(stretch, &message[..cut]), None, "{message:?} up to {cut}");
            }
            assert_eq!(message_length(stretch, rest), Some(message.len()), "{message:?}");
            rest = &rest[message.len()..];
            is_first = false;
        }
    }

    #[test]
    fn a_request_ends_where_the_server_answers() {
        let statement = [b'P', b'B', b'D', b'E', b'S'].map(|kind| piece_of(kind, b"Q\0Z"));
        let start = start_of(b"\0\x03\0\0user\0a\0\0");
        let messages = [start, piece_of(b'p', b"x"), statement.concat(), piece_of(b'Q', b""), piece_of(b'X', b"")];
        assert_split(Direction::Requests, &messages);
    }

    #[test]
    fn an_answer_ends_where_the_server_waits_again() {
        let welcome =
            [piece_of(b'R', &[0; 4]), piece_of(b'S', b"a\0b\0"), piece_of(b'K', &[7; 8]), piece_of(b'Z', b"I")];
        let rows = [b'T', b'D', b'D', b'C', b'Z'].map(|kind| piece_of(kind, b"ZZZZZ"));
        let (notification, setting) = (piece_of(b'A', b"abc"), piece_of(b'S', b"a\0b\0"));
        let failure = [piece_of(b'E', b"no"), piece_of(b'N', b"by the way"), piece_of(b'Z', b"I")];
        let question = piece_of(b'R', &[0, 0, 0, 10, b'x']);
        let messages = [question, welcome.concat(), notification, rows.concat(), setting, failure.concat()];
        assert_split(Direction::Replies, &messages);
    }

    #[test]
    fn records_of_the_encryption_follow_the_byte_that_allows_it() {
        let records =
            [vec![0x16, 3, 1, 0, 2, b'x', b'y'], vec![0x17, 3, 3, 1, 0].into_iter().chain([0; 256]).collect()];
        let asks = start_of(&[4, 210, 22, 47]);
        assert_split(Direction::Requests, &[&[asks], &records[..]].concat());
        assert_split(Direction::Replies, &[&[b"S".to_vec()], &records[..]].concat());
        assert_split(Direction::Replies, &[b"N".to_vec(), piece_of(b'R', &[0, 0, 0, 3])]);
    }
}
