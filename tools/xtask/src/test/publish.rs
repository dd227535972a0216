//! Proves that the crates for users can be published as they are: packaged together, complete in what they say of
//! themselves, and in the order of the page about releasing.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::job::RunningPart;
use crate::process;

/// Packages what is not kept back, without building it, and names everything that is missing.
pub(crate) fn run(job: &mut RunningPart<'_>) -> Result<(), String> {
    let mut metadata = process::cargo();
    let metadata = job.messages(metadata.args(["metadata", "--locked", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let crates = published(&metadata);
    let names: Vec<&str> = crates.iter().map(|package| name(package)).collect();
    // Nothing has to be fetched: the lock file says what they depend on, and cargo gives them each other.
    job.cargo(&format!("package --locked --offline --no-verify --allow-dirty -p {}", names.join(" -p ")))?;

    let (page, changelog) = (read(job.root(), PAGE)?, read(job.root(), "CHANGELOG.md")?);
    let mut missing = out_of_order(&page, &crates);
    missing.extend(in_the_wrong_place(job.root(), &metadata));
    for package in crates {
        missing.extend(unsaid(package, is_release(&changelog)));
        let mut list = process::cargo();
        list.args(["package", "--locked", "--offline", "--allow-dirty", "--list", "-p", name(package)]);
        missing.extend(absent_files(name(package), &job.messages(&mut list)?));
    }
    missing.iter().for_each(|line| job.say(line));
    match missing.len() {
        0 => Ok(()),
        count => Err(format!("{count} thing(s) to mend before the crates can be published")),
    }
}

const PAGE: &str = "docs/releasing.md";

fn read(root: &Path, path: &str) -> Result<String, String> {
    fs::read_to_string(root.join(path)).map_err(|error| format!("cannot read {path}: {error}"))
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap_or_default()
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

/// Those that do not say `publish = false`.
fn published(metadata: &Value) -> Vec<&Value> {
    packages(metadata).filter(|package| package["publish"].is_null()).collect()
}

/// What users depend on is in `crates/`, and nothing else is.
fn in_the_wrong_place(root: &Path, metadata: &Value) -> Vec<String> {
    let is_for_users = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        manifest.starts_with(root.join("crates"))
    };
    let wrong = packages(metadata).filter(|package| package["publish"].is_null() != is_for_users(package));
    wrong.map(|package| format!("{}: crates in crates/ are published, and no others", name(package))).collect()
}

/// True if the newest entry of the changelog is finished.
fn is_release(changelog: &str) -> bool {
    let newest = changelog.lines().find(|line| line.starts_with("## "));
    newest.is_some_and(|heading| !heading.contains("unreleased"))
}

/// What a crate does not say of itself. Where the project lives must be known when it is released, and not earlier.
fn unsaid(package: &Value, is_release: bool) -> Vec<String> {
    let fields = ["description", "license", "readme", "rust_version", "keywords", "categories"];
    let fields = fields.into_iter().chain(is_release.then_some("repository"));
    let mut unsaid: Vec<String> = fields
        .filter(|field| match &package[field] {
            Value::String(text) => text.is_empty(),
            // A registry takes five of each at most.
            Value::Array(words) => !(1..=5).contains(&words.len()),
            _ => true,
        })
        .map(|field| format!("{}: `{}` is missing or too long", name(package), field.replace('_', "-")))
        .collect();
    if package["metadata"]["docs"]["rs"]["all-features"] != true {
        unsaid.push(format!("{}: [package.metadata.docs.rs] must say all-features = true", name(package)));
    }
    unsaid
}

/// The files that must be in every package and are not in this list of them.
fn absent_files(name: &str, list: &str) -> Vec<String> {
    let is_absent = |file: &&str| !list.lines().any(|line| line == *file);
    let absent = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"].into_iter().filter(is_absent);
    absent.map(|file| format!("{name}: the package has no {file}")).collect()
}

/// What is wrong with the order that the page gives: each crate stands there once, after those that it depends on.
fn out_of_order(page: &str, crates: &[&Value]) -> Vec<String> {
    let block = page.split_once("## Order").and_then(|(_, section)| section.split("```").nth(1)).unwrap_or_default();
    let order: Vec<&str> = block.split_whitespace().skip(1).collect();
    let place = |name: &str| order.iter().position(|other| *other == name);
    let mut wrong = Vec::new();
    if order.len() != crates.len() {
        wrong.push(format!("{PAGE}: the order has {} crates, but {} are published", order.len(), crates.len()));
    }
    for package in crates {
        let Some(own) = place(name(package)) else {
            wrong.push(format!("{PAGE}: the order lacks {}", name(package)));
            continue;
        };
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        // Those of tests alone are left out of the package if they have no version.
        let dependencies = dependencies.filter(|dependency| dependency["kind"] != "dev");
        let late = dependencies.map(name).filter(|dependency| place(dependency).is_some_and(|place| place > own));
        wrong.extend(late.map(|late| format!("{PAGE}: {} depends on {late}, which comes later", name(package))));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn complete() -> Value {
        json!({
            "name": "a", "publish": null, "manifest_path": "/x/crates/a/Cargo.toml",
            "description": "d", "license": "MIT", "readme": "README.md", "rust_version": "1.95",
            "keywords": ["k"], "categories": ["c"], "repository": null, "dependencies": [],
            "metadata": { "docs": { "rs": { "all-features": true } } },
        })
    }

    #[test]
    fn what_a_crate_does_not_say_is_named() {
        assert!(unsaid(&complete(), false).is_empty());
        assert!(unsaid(&complete(), true)[0].contains("`repository`"));
        for (field, value) in
            [("license", Value::Null), ("keywords", json!([])), ("keywords", json!([1, 2, 3, 4, 5, 6]))]
        {
            let mut package = complete();
            package[field] = value;
            let unsaid = unsaid(&package, false);
            assert!(unsaid.len() == 1 && unsaid[0].contains(field), "{unsaid:?}");
        }
        let mut package = complete();
        package["metadata"] = Value::Null;
        assert!(unsaid(&package, false)[0].contains("docs.rs"));
    }

    #[test]
    fn only_a_finished_entry_is_a_release() {
        assert!(!is_release("# Changelog\n\n## 0.1.0, unreleased\n"));
        assert!(is_release("# Changelog\n\n## 0.1.0, 2030-01-02\n\n## 0.0.1, unreleased\n"));
        assert!(!is_release(""));
    }

    #[test]
    fn files_are_absent_unless_they_stand_at_the_top_of_the_package() {
        assert!(absent_files("a", "Cargo.toml\nLICENSE-APACHE\nLICENSE-MIT\nREADME.md\n").is_empty());
        assert_eq!(absent_files("a", "LICENSE-APACHE\ndocs/README.md\n").len(), 2);
    }

    #[test]
    fn crates_are_published_from_their_folder_alone() {
        let with = |path: &str, publish: Value| {
            let mut package = complete();
            package["manifest_path"] = json!(path);
            package["publish"] = publish;
            in_the_wrong_place(Path::new("/x"), &json!({ "packages": [package] })).len()
        };
        assert_eq!(with("/x/crates/a/Cargo.toml", Value::Null), 0);
        assert_eq!(with("/x/tools/a/Cargo.toml", json!([])), 0);
        assert_eq!(with("/x/tools/a/Cargo.toml", Value::Null), 1);
        assert_eq!(with("/x/crates/a/Cargo.toml", json!([])), 1);
    }

    #[test]
    fn a_crate_before_its_dependency_is_found() {
        let first = complete();
        let mut second = complete();
        second["name"] = json!("b");
        second["dependencies"] = json!([{ "name": "a", "kind": null }, { "name": "b", "kind": "dev" }]);
        let crates = [&first, &second];
        let page = |order: &str| format!("## Order\n\n```text\n{order}\n```\n");
        assert!(out_of_order(&page("a\nb"), &crates).is_empty());
        assert_eq!(out_of_order(&page("b a"), &crates).len(), 1);
        assert_eq!(out_of_order(&page("a"), &crates).len(), 2);
        assert_eq!(out_of_order(&page("a b c"), &crates).len(), 1);
    }
}
