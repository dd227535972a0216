//! Functions fit on a screen.

use super::source::{closing_brace, code_only, is_word_char, line_of, words};
use super::tree::Tree;

const MAX_LINES: usize = 70;

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.ending(".rs").flat_map(|(path, text)| violations(path, text)).collect()
}

fn violations(path: &str, text: &str) -> Vec<String> {
    let code = code_only(text);
    let mut found = Vec::new();
    for start in words(&code, "fn") {
        let name: String = code[start + 2..].trim_start().chars().take_while(|c| is_word_char(*c)).collect();
        // Without a name it is the type of a function pointer.
        let Some(open) = body(&code, start).filter(|_| !name.is_empty()) else { continue };
        let first = line_of(&code, start);
        let lines = line_of(&code, closing_brace(&code, open)) + 1 - first;
        if lines > MAX_LINES {
            found.push(format!("{path}:{first}: function {name} has {lines} lines, at most {MAX_LINES} are allowed"));
        }
    }
    found
}

/// Where the body opens; `None` for a declaration without one. Semicolons in array types do not end it.
fn body(code: &str, start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in code[start..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '{' if depth == 0 => return Some(start + at),
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(signature: &str, body_lines: usize) -> String {
        format!("{signature} {{\n{}}}\n", "    a(\"}\"); // {\n".repeat(body_lines))
    }

    fn found(text: &str) -> Vec<String> {
        check(&Tree::from_files(&[("a.rs", text)]))
    }

    #[test]
    fn the_limit_is_exact() {
        assert!(found(&function("fn a()", 68)).is_empty());
        assert_eq!(
            found(&function("\nfn a()", 69)),
            ["a.rs:2: function a has 71 lines, at most 70 are allowed".to_owned()]
        );
    }

    #[test]
    fn the_signature_may_hold_arrays_and_pointers() {
        let long = function("fn a(b: fn(u8) -> [u8; 4]) -> [u8; 4]", 80);
        assert_eq!(found(&long).len(), 1);
    }

    #[test]
    fn declarations_have_no_length() {
        let long_after = format!("trait A {{\n    fn a();\n}}\nstruct B {{\n{}}}\n", "    // b\n".repeat(90));
        assert!(found(&long_after).is_empty());
    }
}
