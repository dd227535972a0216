//! Reads the few plain entries the checks need from TOML files, without a TOML parser: the files are our own.

/// The value of `key` in `[section]` as written, without quotes; `None` when absent or not on one line.
pub(crate) fn value<'a>(toml: &'a str, section: &str, key: &str) -> Option<&'a str> {
    entries(toml, section).find(|(name, _)| *name == key).map(|(_, value)| value.trim_matches('"'))
}

/// The keys of `[section]`, in the order of the file.
pub(crate) fn keys<'a>(toml: &'a str, section: &str) -> Vec<&'a str> {
    entries(toml, section).map(|(name, _)| name).collect()
}

/// True when the file has the table `[section]`.
pub(crate) fn has_section(toml: &str, section: &str) -> bool {
    toml.lines().any(|line| section_of(line) == Some(section))
}

/// A file's lines with its comments removed; good enough as long as no string holds a `#`.
pub(crate) fn without_comments(toml: &str) -> String {
    toml.lines().map(|line| line.split('#').next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The entries before the first table belong to the section with the empty name.
fn entries<'a>(toml: &'a str, section: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let mut inside = section.is_empty();
    toml.lines().filter_map(move |line| {
        if let Some(name) = section_of(line) {
            inside = name == section;
            return None;
        }
        let (name, value) = line.split('#').next().filter(|_| inside)?.split_once('=')?;
        let name = name.trim();
        let is_key = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        is_key.then_some((name, value.trim()))
    })
}

fn section_of(line: &str) -> Option<&str> {
    // A table header starts its line; an array that goes over several lines is indented.
    let name = line.strip_prefix('[')?.split(']').next()?;
    (!name.starts_with('[')).then_some(name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = "msrv = \"1.2\"\n[package]\nname = \"a\" # why\n\n[features]\ndefault = [\n  \"b\",\n]\n# c = []\nd = [\"dep:d\"]\n\n[lints]\nworkspace = true\n";

    #[test]
    fn values_come_from_their_own_section() {
        assert_eq!(value(TOML, "package", "name"), Some("a"));
        assert_eq!(value(TOML, "lints", "workspace"), Some("true"));
        assert_eq!(value(TOML, "features", "name"), None);
        assert_eq!(value(TOML, "", "msrv"), Some("1.2"));
    }

    #[test]
    fn keys_leave_out_comments_and_array_items() {
        assert_eq!(keys(TOML, "features"), ["default", "d"]);
        assert!(keys(TOML, "absent").is_empty());
        assert!(has_section(TOML, "lints") && !has_section(TOML, "absent"));
    }

    #[test]
    fn comments_are_removed() {
        assert_eq!(without_comments("a # b\n# c\nd"), "a \n\nd");
    }
}
