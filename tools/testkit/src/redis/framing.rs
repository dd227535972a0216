//! Where messages end that go to a server, and come from it.

use crate::proxy::Stretch;

/// How many bytes the first message in these takes, or none if it is not yet complete. Requests and replies are built
/// alike, so that it does not matter which way they go.
#[must_use]
pub fn message_length(_stretch: Stretch, bytes: &[u8]) -> Option<usize> {
    length(bytes)
}

fn length(bytes: &[u8]) -> Option<usize> {
    let line = bytes.windows(2).position(|pair| pair == b"\r\n")? + 2;
    // What is missing has a count below zero, and nothing behind its line.
    let count = || std::str::from_utf8(&bytes[1..line - 2]).ok()?.parse::<usize>().ok();
    match bytes[0] {
        b'$' => Some(line + count().map_or(0, |count| count + 2)).filter(|end| *end <= bytes.len()),
        b'*' => (0..count().unwrap_or(0)).try_fold(line, |end, _| Some(end + length(&bytes[end..])?)),
        _ => Some(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::Direction;

    #[test]
    fn a_message_ends_where_the_next_one_begins() {
        let messages: [&[u8]; 7] = [
            b"+OK\r\n",
            b"-NOSCRIPT No matching script.\r\n",
            b":12\r\n",
            b"$-1\r\n",
            b"$4\r\na\r\nb\r\n",
            b"*2\r\n*3\r\n:1\r\n$-1\r\n$1\r\nx\r\n:0\r\n",
            b"*-1\r\n",
        ];
        let all = messages.concat();
        let mut rest = &all[..];
        let [requests, replies] = Direction::BOTH.map(|direction| Stretch { direction, is_first: false });
        for message in messages {
            for cut in 0..message.len() {
                assert_eq!(message_length(replies, &message[..cut]), None, "{message:?} up to {cut}");
            }
            assert_eq!(message_length(requests, rest), Some(message.len()), "{message:?}");
            rest = &rest[message.len()..];
        }
    }
}
