//! A type name is defined once in the workspace, so that a reader, or a search, finds the one that is meant.

use std::collections::BTreeMap;

use super::source::{code_only, is_word_char, line_of, words};
use super::tree::Tree;

const KEYWORDS: &[&str] = &["struct", "enum", "trait", "type", "union"];

/// The one exception: what stands here has the name of what it wraps, so that only the path says which one is meant.
const BLOCKING: &str = "crates/tenure/src/blocking/";

/// Types of tests count, too: the same searches find them. Not counted are associated types, whose names the trait
/// decides, names that a macro is given, and the types for plain threads, each of which must have an async counterpart.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut blocking = Vec::new();
    for (path, text) in tree.ending(".rs") {
        for (name, line) in types(text) {
            let place = format!("{path}:{line}");
            if path.starts_with(BLOCKING) {
                blocking.push((name, place));
            } else {
                places.entry(name).or_default().push(place);
            }
        }
    }
    let alone = blocking.iter().filter(|(name, _)| !places.contains_key(name));
    let alone = alone.map(|(name, place)| format!("{place}: {name} has no async counterpart of its name"));
    places.iter().flat_map(|(name, places)| violations(name, places)).chain(alone).collect()
}

/// One for each definition after the first.
fn violations(name: &str, places: &[String]) -> Vec<String> {
    let Some((first, others)) = places.split_first() else { return Vec::new() };
    others.iter().map(|place| format!("{place}: {name} is the name of another type already, at {first}")).collect()
}

/// The types that are defined here, each with its line.
fn types(text: &str) -> Vec<(String, usize)> {
    let code = code_only(text);
    let mut found = Vec::new();
    for keyword in KEYWORDS {
        for start in words(&code, keyword) {
            let rest = &code[start + keyword.len()..];
            let name: String = rest.trim_start().chars().take_while(|c| is_word_char(*c)).collect();
            // What begins otherwise is a variable, a raw identifier, or the parameter of a macro.
            let is_type = rest.starts_with(char::is_whitespace) && name.starts_with(char::is_uppercase);
            if is_type && !(*keyword == "type" && is_associated(&code[..start])) {
                found.push((name, line_of(&code, start)));
            }
        }
    }
    found
}

/// Whether what comes after this code is part of an `impl` or a `trait`.
fn is_associated(before: &str) -> bool {
    let mut depth = 0_usize;
    for (at, c) in before.char_indices().rev() {
        match c {
            '}' => depth += 1,
            '{' if depth > 0 => depth -= 1,
            '{' => {
                let head = &before[..at];
                let head = &head[head.rfind(['{', '}', ';']).map_or(0, |end| end + 1)..];
                return ["impl", "trait"].into_iter().any(|keyword| words(head, keyword).next().is_some());
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::from_files(files))
    }

    #[test]
    fn a_name_that_is_taken_is_found_wherever_it_is() {
        let files = [
            ("a/src/lib.rs", "pub struct One;\npub(crate) enum Two {}\n"),
            ("b/src/lib.rs", "\ntype One = u8;\n"),
            ("b/tests/c.rs", "#[cfg(test)]\nmod tests {\n    fn a() {\n        trait Two {}\n    }\n}\n"),
        ];
        assert_eq!(
            found(&files),
            [
                "b/src/lib.rs:2: One is the name of another type already, at a/src/lib.rs:1",
                "b/tests/c.rs:4: Two is the name of another type already, at a/src/lib.rs:2",
            ]
        );
    }

    #[test]
    fn types_for_plain_threads_have_the_names_of_what_they_wrap() {
        let files = [
            ("crates/tenure/src/client.rs", "pub struct Client;\n"),
            ("crates/tenure/src/blocking/client.rs", "pub struct Client(crate::Client);\nstruct Other;\n"),
        ];
        assert_eq!(
            found(&files),
            ["crates/tenure/src/blocking/client.rs:2: Other has no async counterpart of its name"]
        );
    }

    #[test]
    fn names_in_comments_and_strings_and_parts_of_names_are_none() {
        let text = "struct A; // struct A\nconst B: &str = \"struct A\";\nstruct Ab;\nmy_struct!(A);\n";
        assert!(found(&[("a.rs", text)]).is_empty());
    }

    #[test]
    fn associated_types_and_parameters_of_macros_do_not_count() {
        let text = "trait A {\n    type Item;\n    fn a() {}\n    type Error;\n}\n\
                    impl Iterator for B {\n    type Item = u8;\n}\nimpl A for B {\n    type Error = ();\n}\n\
                    macro_rules! c {\n    ($name:ident) => {\n        struct $name;\n    };\n}\n";
        assert!(found(&[("a.rs", text), ("b.rs", "let union = 1; let r#type = union;")]).is_empty());
    }

    #[test]
    fn an_alias_in_a_function_or_a_module_counts() {
        let text =
            "type A = u8;\nmod b {\n    type A = u8;\n}\nimpl C {\n    fn d() {\n        type A = u8;\n    }\n}\n";
        assert_eq!(found(&[("a.rs", text)]).len(), 2);
    }
}
