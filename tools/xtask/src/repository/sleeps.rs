//! Tests wait for what they need, not for time to pass; where only time will do, they say why.

use super::source::{code_only, line_of, words};
use super::tree::{Tree, is_tests_file};

const REASON: &str = "// Waits because ";

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.ending(".rs").filter(|(path, _)| is_tests_file(path)).flat_map(|(path, text)| violations(path, text)).collect()
}

fn violations(path: &str, text: &str) -> Vec<String> {
    let code = code_only(text);
    let lines: Vec<&str> = text.lines().collect();
    let calls = ["sleep", "sleep_until"].into_iter().flat_map(|name| {
        let at_call = words(&code, name).filter(|at| is_call(&code, *at, name));
        at_call.map(|at| line_of(&code, at)).collect::<Vec<_>>()
    });
    let unexplained = calls.filter(|line| !is_explained(&lines, *line));
    unexplained.map(|line| format!("{path}:{line}: sleep needs a comment that begins `{REASON}…`")).collect()
}

/// Methods are left alone, because they belong to clocks that a test controls; so are definitions.
fn is_call(code: &str, at: usize, name: &str) -> bool {
    let before = code[..at].trim_end();
    code[at + name.len()..].starts_with('(') && !before.ends_with('.') && !before.ends_with("fn")
}

/// The reason stands on the line itself or in the comment right above it.
fn is_explained(lines: &[&str], line: usize) -> bool {
    let above = lines[..line - 1].iter().rev().take_while(|above| above.trim_start().starts_with("//"));
    lines[line - 1].contains(REASON) || above.into_iter().any(|above| above.trim_start().starts_with(REASON))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&Tree::from_files(&[("crates/a/tests/b.rs", text)])).len()
    }

    #[test]
    fn a_sleep_without_a_reason_is_found() {
        assert_eq!(found("fn a() {\n    std::thread::sleep(b);\n}\n"), 1);
        assert_eq!(found("    tokio::time::sleep(b).await;\n"), 1);
        assert_eq!(found("    // Just waits.\n    sleep_until(b).await;\n"), 1);
    }

    #[test]
    fn a_reason_above_or_beside_is_enough() {
        assert_eq!(found("    // Waits because the kernel's clock must move,\n    // and so on.\n    sleep(b);\n"), 0);
        assert_eq!(found("    sleep(b); // Waits because the lease must expire.\n"), 0);
    }

    #[test]
    fn methods_words_and_other_files_are_left_alone() {
        assert_eq!(found("clock.sleep(a);\nlet sleep = \"sleep(1)\"; // sleep(2)\n"), 0);
        assert!(check(&Tree::from_files(&[("crates/a/src/b.rs", "sleep(a);")])).is_empty());
    }
}
