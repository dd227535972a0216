//! Files stay small enough to be read in one sitting.

use super::source::{closing_brace, code_only, line_of};
use super::tree::{Tree, is_tests_file};

const MAX_LINES: usize = 500;
const MAX_TESTS_LINES: usize = 800;

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.ending(".rs").filter_map(|(path, text)| violation(path, text)).collect()
}

fn violation(path: &str, text: &str) -> Option<String> {
    let (lines, max, what) = if is_tests_file(path) {
        (text.lines().count(), MAX_TESTS_LINES, "")
    } else {
        (lines_without_tests(text), MAX_LINES, " without its tests")
    };
    (lines > max).then(|| format!("{path}: {lines} lines{what}, at most {max} are allowed"))
}

/// Leaves out the module of unit tests, which may grow with the cases it covers.
fn lines_without_tests(text: &str) -> usize {
    let code = code_only(text);
    let all = text.lines().count();
    let Some(start) = code.find("\n#[cfg(test)]\nmod tests {") else { return all };
    let Some(open) = code[start..].find('{') else { return all };
    let first = line_of(&code, start + 1);
    let last = line_of(&code, closing_brace(&code, start + open));
    all.saturating_sub(last + 1 - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(path: &str, text: &str) -> usize {
        check(&Tree::from_files(&[(path, text)])).len()
    }

    #[test]
    fn the_limit_is_exact() {
        assert_eq!(violations("a.rs", &"//\n".repeat(500)), 0);
        assert_eq!(violations("a.rs", &"//\n".repeat(501)), 1);
        assert_eq!(violations("a.md", &"//\n".repeat(501)), 0);
    }

    #[test]
    fn unit_tests_do_not_count_but_what_follows_them_does() {
        let module = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "//\n".repeat(300));
        assert_eq!(violations("a.rs", &("//\n".repeat(500) + &module)), 0);
        assert_eq!(violations("a.rs", &("//\n".repeat(400) + &module + &"//\n".repeat(101))), 1);
    }

    #[test]
    fn tests_files_may_be_longer() {
        assert_eq!(violations("crates/a/tests/b.rs", &"//\n".repeat(800)), 0);
        assert_eq!(violations("crates/a/tests/b.rs", &"//\n".repeat(801)), 1);
    }
}
