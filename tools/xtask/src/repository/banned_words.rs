//! Words that mean unfinished work, skipped tests, or somebody's own machine.

use super::source::{is_word_char, line_of};
use super::tree::Tree;

/// What must not stand in a tracked file, and why. The words are put together here so that this file may hold them.
const BANNED: &[(&str, &str)] = &[
    (concat!("to", "do!("), "unfinished code"),
    (concat!("unimple", "mented!("), "unfinished code"),
    (concat!("d", "bg!("), "left over from debugging"),
    (concat!("FIX", "ME"), "fix it now, or say what is true today"),
    (concat!("#[", "ignore"), "no test may be skipped"),
    (concat!("/ho", "me/"), "a path of one machine"),
    (concat!("/Us", "ers/"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("/t", "mp"), "ask for a temporary folder instead"),
];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.files().flat_map(|(path, text)| BANNED.iter().flat_map(move |word| violations(path, text, *word))).collect()
}

fn violations(path: &str, text: &str, (word, why): (&str, &str)) -> Vec<String> {
    let places = text.match_indices(word).map(|(at, _)| at).filter(|at| is_whole(text, *at, word));
    places.map(|at| format!("{path}:{}: `{word}` is banned: {why}", line_of(text, at))).collect()
}

/// A word inside a longer one is another word, and a path that follows something is not absolute.
fn is_whole(text: &str, at: usize, word: &str) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + word.len()..].chars().next();
    let goes_on = word.ends_with(is_word_char) && after.is_some_and(is_word_char);
    !goes_on && !before.is_some_and(|c| is_word_char(c) || (word.starts_with('/') && ".-}~*".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        check(&Tree::from_files(&[("a.txt", text)]))
    }

    #[test]
    fn every_word_is_found_with_its_line() {
        for (word, why) in BANNED {
            assert_eq!(found(&format!("fine\n {word} x")), [format!("a.txt:2: `{word}` is banned: {why}")]);
        }
    }

    #[test]
    fn parts_of_other_words_and_relative_paths_are_fine() {
        let temporary = concat!("/t", "mp");
        for fine in [format!("target{temporary}/x"), format!("{temporary}fs"), format!("{{dir}}{temporary}/a")] {
            assert!(found(&fine).is_empty(), "{fine}");
        }
        assert!(found(concat!("my_to", "do!()")).is_empty());
    }

    #[test]
    fn a_path_in_a_url_of_a_file_is_absolute() {
        assert_eq!(found(concat!("sqlite:///t", "mp/a.db")).len(), 1);
    }
}
