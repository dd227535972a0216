//! Text as it stands in addresses.

/// As addresses need it: whatever could mean something in them becomes a number.
pub(crate) fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_survive_in_addresses() {
        assert_eq!(percent_encoded("aZ9@:/ä"), "aZ9%40%3A%2F%C3%A4");
    }
}
