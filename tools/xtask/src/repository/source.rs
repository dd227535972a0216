//! A simple view of Rust source in which only code is left, so that the rules need no parser.

/// The same text with comments, strings and character literals turned into spaces; lines and columns stay.
pub(crate) fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let length = blank_length(&chars, at);
        if length == 0 {
            code.push(chars[at]);
            at += 1;
            continue;
        }
        let end = (at + length).min(chars.len());
        code.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    code
}

/// The positions, in bytes, at which `word` stands as a whole word.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = code[..*at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(is_word_char) && !after.is_some_and(is_word_char)
    })
}

/// The line, counted from one, that holds the byte at this position.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The position of the brace that closes the one at `open`, or the end of the code.
pub(crate) fn closing_brace(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return open + at,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    code.len()
}

pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// How many characters from here on are not code; zero where code goes on.
fn blank_length(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    match rest {
        ['/', '/', ..] => rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => block_comment(rest),
        ['"', ..] => string(rest),
        ['\'', ..] => character(rest),
        ['r', '"' | '#', ..] if is_literal_prefix(chars, at) => raw_string(rest),
        _ => 0,
    }
}

/// True when the `r` at this position begins a word, possibly after the `b` or `c` of a byte or C string.
fn is_literal_prefix(chars: &[char], at: usize) -> bool {
    match chars[..at] {
        [] => true,
        [.., before, 'b' | 'c'] => !is_word_char(before),
        [before] | [.., before] => !is_word_char(before),
    }
}

fn block_comment(rest: &[char]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] if depth == 1 => return at + 2,
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    rest.len()
}

fn string(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// A quote begins a character only if another closes it; otherwise it begins a lifetime, which is code.
fn character(rest: &[char]) -> usize {
    match rest {
        // The escaped character itself may be a quote, so the search for the end begins after it.
        ['\'', '\\', _, tail @ ..] => 3 + tail.iter().position(|c| *c == '\'').map_or(0, |end| end + 1),
        ['\'', _, '\'', ..] => 3,
        _ => 0,
    }
}

fn raw_string(rest: &[char]) -> usize {
    let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
    // Without the quote this is a raw identifier such as `r#type`.
    if rest.get(1 + hashes) != Some(&'"') {
        return 0;
    }
    let mut at = 2 + hashes;
    while at < rest.len() {
        let is_end = rest[at] == '"' && rest[at + 1..].iter().take_while(|c| **c == '#').count() >= hashes;
        if is_end {
            return at + 1 + hashes;
        }
        at += 1;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squeezed(text: &str) -> String {
        code_only(text).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_strings_vanish() {
        assert_eq!(squeezed("a // b {\nc /* d /* e */ f */ g"), "a c g");
        assert_eq!(squeezed(r#"a("{ \" }", b'{', '\'', '"') b"#), "a( , b , , ) b");
        assert_eq!(squeezed("x(r#\"{ \" }\"#, br\"{\", r#type)"), "x( , b , r#type)");
        assert_eq!(squeezed(r"'\u{7b}' z"), "z");
    }

    #[test]
    fn lifetimes_stay_code() {
        assert_eq!(squeezed("fn a<'a>(b: &'a str) {}"), "fn a<'a>(b: &'a str) {}");
    }

    #[test]
    fn lines_and_braces_are_found() {
        let code = code_only("{\n \"}\"\n {}\n}\n");
        assert_eq!(line_of(&code, closing_brace(&code, 0)), 4);
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(words("fn fnord my_fn fn", "fn").collect::<Vec<_>>(), [0, 15]);
    }
}
