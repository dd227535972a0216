//! What `Debug` prints of a type begins with the name of that type, and not with one that it had before.

use super::source::{code_only, is_word_char};
use super::tree::Tree;

const HELPERS: &[&str] = &["debug_struct(\"", "debug_tuple(\""];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.ending(".rs").flat_map(|(path, text)| violations(path, text)).collect()
}

fn violations(path: &str, text: &str) -> Vec<String> {
    let code = code_only(text);
    let mut implementing = None;
    let mut found = Vec::new();
    for (index, (line, code)) in text.lines().zip(code.lines()).enumerate() {
        implementing = implemented_for(code).or(implementing);
        for (helper, printed) in HELPERS.iter().filter_map(|helper| Some((helper, printed(line, code, helper)?))) {
            let name = implementing.unwrap_or_default();
            if printed != name {
                let helper = helper.trim_end_matches("(\"");
                found.push(format!("{path}:{}: {helper} calls {name} by the name {printed}", index + 1));
            }
        }
    }
    found
}

/// The type for which `Debug` is implemented from this line on.
fn implemented_for(code: &str) -> Option<&str> {
    let rest = code.split_once("Debug for ")?.1;
    rest.split(|c| !is_word_char(c)).next()
}

/// The name that is given to one of the helpers in this line.
fn printed<'a>(line: &'a str, code: &str, helper: &str) -> Option<&'a str> {
    // In comments and strings there is no call.
    let is_call = code.contains(helper.trim_end_matches('"'));
    line.split_once(helper).filter(|_| is_call)?.1.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        check(&Tree::from_files(&[("a.rs", text)]))
    }

    #[test]
    fn another_name_is_found() {
        let text = "impl fmt::Debug for Subscriptions {\n    f.debug_struct(\"Hearing\").finish()\n}\n\
                    impl<T> Debug for Pending<T> {\n    f.debug_tuple(\"Pending\").finish()\n}\n";
        assert_eq!(found(text), ["a.rs:2: debug_struct calls Subscriptions by the name Hearing"]);
    }

    #[test]
    fn every_type_counts_by_itself() {
        let text = "impl Debug for A {\n    f.debug_tuple(\"A\")\n}\nimpl Debug for B {\n    f.debug_tuple(\"A\")\n}\n";
        assert_eq!(found(text), ["a.rs:5: debug_tuple calls B by the name A"]);
    }

    #[test]
    fn comments_and_strings_call_nothing() {
        assert!(found("// f.debug_struct(\"B\")\nconst A: &str = r#\"f.debug_struct(\"B\")\"#;\n").is_empty());
    }
}
