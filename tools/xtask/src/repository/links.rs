//! Relative links in Markdown lead to tracked files, and the paths that its text names exist.

use super::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.ending(".md").flat_map(|(path, text)| violations(tree, path, text)).collect()
}

fn violations(tree: &Tree, path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence {
            continue;
        }
        for target in targets(line).into_iter().filter(|target| is_relative(path, target)) {
            if !resolve(path, target).is_some_and(|file| tree.contains(&file)) {
                found.push(format!("{path}:{}: the link to `{target}` leads to no tracked file", index + 1));
            }
        }
        let named = named_paths(line).into_iter().filter(|named| is_of_this_tree(tree, path, named));
        for missing in named.flat_map(alternatives).filter(|named| !tree.has_path_ending_with(named)) {
            found.push(format!("{path}:{}: there is no `{missing}`", index + 1));
        }
    }
    found
}

/// The targets of `[text](target)` and of `[label]: target`, outside of inline code.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    if let Some((label, target)) = line.split_once("]: ")
        && label.starts_with('[')
    {
        found.extend(target.split_whitespace().next());
    }
    for (at, _) in line.match_indices("](") {
        // Between an odd and an even backtick there is code; a link whose text is code has both before it.
        let is_code = line[..at].matches('`').count() % 2 == 1;
        let inside = line[at + 2..].split(')').next().unwrap_or_default();
        found.extend(inside.split_whitespace().next().filter(|_| !is_code));
    }
    found
}

/// What stands in backticks and may be a path. Capital letters alone are a placeholder, as in `crates/NAME`.
fn named_paths(line: &str) -> Vec<&str> {
    let is_path_char = |c: char| c.is_ascii_alphanumeric() || "/._-{},".contains(c);
    let is_placeholder = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let named = line.split('`').skip(1).step_by(2);
    named.filter(|named| named.chars().all(is_path_char) && !named.split('/').any(is_placeholder)).collect()
}

/// Whether a path is meant to be one of this repository: it begins with a folder of the root. The pages beside those
/// folders are for people who read the code, and shorten the paths of its files.
fn is_of_this_tree(tree: &Tree, page: &str, named: &str) -> bool {
    let is_from_root = named.split_once('/').is_some_and(|(folder, _)| !folder.is_empty() && tree.is_folder(folder));
    let is_code = [".rs", ".sql", ".lua"].iter().any(|end| named.ends_with(end));
    is_from_root || (!page.contains('/') && is_code)
}

/// All paths that one with alternatives in braces stands for.
fn alternatives(named: &str) -> Vec<String> {
    let Some((before, rest)) = named.split_once('{') else { return vec![named.to_owned()] };
    let Some((choices, after)) = rest.split_once('}') else { return vec![named.to_owned()] };
    choices.split(',').flat_map(|choice| alternatives(&format!("{before}{choice}{after}"))).collect()
}

/// Leaves out the web, places on the same page, and the Rust paths that rustdoc resolves itself.
fn is_relative(path: &str, target: &str) -> bool {
    let is_web = target.contains("://") || target.starts_with("mailto:");
    let is_rustdoc = path.contains("/src/") && !target.contains(['.', '/']);
    !is_web && !is_rustdoc && !target.starts_with('#') && !target.contains("::")
}

/// The tracked path a link leads to; `None` when it leaves the tree.
fn resolve(path: &str, target: &str) -> Option<String> {
    let target = target.trim_matches(['<', '>']).split('#').next()?;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = if target.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop().filter(|part| !part.is_empty())?),
            name => parts.push(name),
        }
    }
    Some(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        let files = [("docs/a.md", text), ("docs/b.md", ""), ("README.md", ""), ("crates/core/src/lib.rs", "")];
        check(&Tree::from_files(&files)).len()
    }

    #[test]
    fn broken_links_are_found() {
        assert_eq!(found("See [c](c.md) and [up](../nothing.md)."), 2);
        assert_eq!(found("[c]: c.md \"title\""), 1);
        assert_eq!(found("[out](../../elsewhere.md)"), 1);
    }

    #[test]
    fn good_links_resolve() {
        assert_eq!(found("[b](b.md#part) [`b`](./b.md) [r](../README.md) [core](../crates/core) [r](/README.md)"), 0);
        assert_eq!(found("[web](https://example.com/x) [here](#part) [mail](mailto:a@example.com)"), 0);
    }

    #[test]
    fn code_is_not_read() {
        assert_eq!(found("```\n[c](c.md)\n```\nUse `[c](c.md)`."), 0);
    }

    #[test]
    fn paths_in_the_text_exist() {
        assert_eq!(found("`crates/core/src/lib.rs`, `crates/core/src/`, `crates/{core,core/src}`, `docs/b.md`"), 0);
        assert_eq!(found("`crates/core/src/gone.rs` `crates/{core,gone}` `docs/gone.md`"), 3);
        assert_eq!(found("`crates/NAME/src`, `tests/failover.rs` of yours, `gone.rs`, `docs/*`, crates/gone"), 0);
    }

    #[test]
    fn pages_at_the_root_may_shorten_paths() {
        let text = "`src/lib.rs` `lib.rs` `core/gone.rs` `gone.rs` `gone()`";
        let tree = Tree::from_files(&[("A.md", text), ("crates/core/src/lib.rs", "")]);
        assert_eq!(check(&tree), ["A.md:1: there is no `core/gone.rs`", "A.md:1: there is no `gone.rs`"]);
    }

    #[test]
    fn rust_paths_are_left_to_rustdoc() {
        let tree = Tree::from_files(&[("crates/a/src/docs.md", "[a](crate::A) [b](Store) [c](gone.md)")]);
        assert_eq!(check(&tree).len(), 1);
    }
}
