//! Text of strangers inside of SVG and HTML.

/// Escapes text for element content and for quoted attributes. What XML cannot hold at all is replaced.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push(char::REPLACEMENT_CHARACTER),
            c if c.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The beginning of a text that is too long to show, then escaped.
pub(super) fn shorten(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return escape(text);
    }
    let kept: String = text.chars().take(max_chars - 1).collect();
    escape(&kept) + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_element_or_attribute() {
        assert_eq!(
            escape("</text><script x='\"'>&\u{1b}\u{ffff}"),
            "&lt;/text&gt;&lt;script x=&#39;&quot;&#39;&gt;&amp;��"
        );
    }

    #[test]
    fn text_is_cut_before_it_is_escaped() {
        assert_eq!(shorten("a<b<c", 4), "a&lt;b…");
        assert_eq!(shorten("ä<", 2), "ä&lt;");
    }
}
