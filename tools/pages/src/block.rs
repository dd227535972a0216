//! Blocks between lines of three backticks.

use crate::shell::commands;

/// A fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FencedBlock {
    /// The path of its page from the root.
    pub page: String,
    /// The line on which it begins.
    pub line: usize,
    /// What its first line says it is, which may be nothing.
    pub language: String,
    /// Its lines, without the indentation that all of it has, as in a list.
    pub text: String,
}

impl FencedBlock {
    /// Whether rustdoc takes it for a program.
    #[must_use]
    pub fn is_rust(&self) -> bool {
        const ATTRIBUTES: &[&str] = &["rust", "no_run", "should_panic", "compile_fail", "ignore"];
        self.language.split(',').next().is_some_and(|first| first.is_empty() || ATTRIBUTES.contains(&first))
    }

    /// The commands in it, each as its words: all of a script, and those behind a `$` in a transcript.
    #[must_use]
    pub fn commands(&self) -> Vec<Vec<String>> {
        match self.language.as_str() {
            "sh" => commands(&self.text),
            "console" => self.text.lines().filter_map(|line| line.strip_prefix("$ ")).flat_map(commands).collect(),
            _ => Vec::new(),
        }
    }

    /// Its page and line, as editors write them.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }
}

/// All blocks of a page.
pub(crate) fn blocks_in(page: &str, text: &str) -> Vec<FencedBlock> {
    let is_code = !page.ends_with(".md");
    let mut blocks = Vec::new();
    let mut open: Option<(FencedBlock, usize)> = None;
    for (at, line) in text.lines().enumerate() {
        let Some(line) = (if is_code { documentation(line) } else { Some(line) }) else { continue };
        let indent = line.len() - line.trim_start().len();
        match (line.trim_start().strip_prefix("```"), open.take()) {
            (Some(language), None) => {
                let (page, language) = (page.to_owned(), language.trim().to_owned());
                open = Some((FencedBlock { page, line: at + 1, language, text: String::new() }, indent));
            }
            (Some(_), Some((block, _))) => blocks.push(block),
            (None, Some((mut block, indent))) => {
                block.text += line.get(indent..).unwrap_or_default();
                block.text.push('\n');
                open = Some((block, indent));
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{page} ends within a block");
    blocks
}

/// What a line of code documents, if it does.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))?;
    Some(text.strip_prefix(' ').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str, text: &str) -> Vec<(usize, String, String)> {
        blocks_in(page, text).into_iter().map(|block| (block.line, block.language, block.text)).collect()
    }

    #[test]
    fn a_block_in_a_list_loses_the_indentation_of_the_list() {
        let found = found("a.md", "1. Do\n\n   ```sh\n   if a\n     b\n\n   ```\n");
        assert_eq!(found, [(3, "sh".to_owned(), "if a\n  b\n\n".to_owned())]);
    }

    #[test]
    fn in_code_only_documentation_counts() {
        let found =
            found("a.rs", "//! ```text\n//! a\n//!  b\n//! ```\nlet x = \"\n```sh\n\";\n/// ```\n/// c\n/// ```\n");
        let expected = [(1, "text".to_owned(), "a\n b\n".to_owned()), (8, String::new(), "c\n".to_owned())];
        assert_eq!(found, expected);
    }

    #[test]
    #[should_panic(expected = "ends within a block")]
    fn a_block_has_an_end() {
        let _ = found("a.md", "```sh\ntrue\n");
    }

    #[test]
    fn rustdoc_compiles_what_names_no_other_language() {
        let is_rust = |language: &str| {
            let language = language.to_owned();
            FencedBlock { page: String::new(), line: 1, language, text: String::new() }.is_rust()
        };
        assert!(is_rust("") && is_rust("rust,no_run") && is_rust("no_run"));
        assert!(!is_rust("text") && !is_rust("sh"));
    }
}
