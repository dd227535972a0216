//! Unsafe code lives in one crate.

use super::source::{code_only, line_of, words};
use super::tree::Tree;

const HOME: &str = "crates/sys/";

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.ending(".rs").filter(|(path, _)| !path.starts_with(HOME)).flat_map(|(path, text)| find(path, text)).collect()
}

fn find(path: &str, text: &str) -> Vec<String> {
    let code = code_only(text);
    let report = |at| format!("{path}:{}: the keyword `unsafe` belongs in {HOME} only", line_of(&code, at));
    words(&code, "unsafe").map(report).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keyword_is_found_outside_of_its_crate() {
        let block = "fn a() {\n    unsafe { b() }\n}\n";
        let tree = Tree::from_files(&[("crates/tenure/src/a.rs", block), ("crates/sys/src/a.rs", block)]);
        assert_eq!(check(&tree), ["crates/tenure/src/a.rs:2: the keyword `unsafe` belongs in crates/sys/ only"]);
    }

    #[test]
    fn speaking_of_it_is_fine() {
        let text = "#![forbid(unsafe_code)]\n// unsafe\nconst A: &str = \"unsafe\";\n";
        assert!(check(&Tree::from_files(&[("crates/core/src/a.rs", text)])).is_empty());
    }
}
