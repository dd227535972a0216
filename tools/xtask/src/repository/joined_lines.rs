//! A text that was broken over two lines, and whose backslash was lost when they were joined, shows the indentation of the
//! second one to whoever reads it.

use super::tree::Tree;

/// Lines that fit are formatted, and may hold columns of a table.
const WIDTH: usize = 120;
const INDENTATION: &str = "        ";

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.ending(".rs").flat_map(|(path, text)| violations(path, text)).collect()
}

fn violations(path: &str, text: &str) -> Vec<String> {
    let joined = text.lines().enumerate().filter(|(_, line)| is_joined(line));
    joined.map(|(at, _)| format!("{path}:{}: a long text with an indentation inside", at + 1)).collect()
}

fn is_joined(line: &str) -> bool {
    let words = line.trim();
    line.chars().count() > WIDTH && !words.starts_with("//") && words.contains(INDENTATION)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> usize {
        check(&Tree::from_files(&[("a.rs", line)])).len()
    }

    #[test]
    fn an_indentation_inside_a_long_text_is_found() {
        let half = "word ".repeat(12);
        assert_eq!(found(&format!("    \"{half}{INDENTATION}{half}\"")), 1);
        assert_eq!(found(&format!("{INDENTATION}\"{half}{half}\"")), 0, "in front of the text");
        assert_eq!(found(&format!("    // {half}{INDENTATION}{half}")), 0, "a comment");
        assert_eq!(found(&format!("    \"name{INDENTATION}value\"")), 0, "columns");
    }
}
