//! Classes of elections: a label that takes few values, whatever elections are called.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use tenure_core::ElectionName;

use super::per_process::PerProcess;
use super::{CandidacyPurpose, list};

/// Maximum number of classes in a process; later ones become [`OTHER`].
pub const MAX_CLASSES: usize = 64;

/// The class of all elections that found no room, or whose name begins with a colon.
pub const OTHER: &str = "other";

/// A longer class is cut.
const MAX_CHARS: usize = 64;

/// A class that was admitted: the values of the labels `key_class` and `key_kind`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Class {
    text: Arc<str>,
    purpose: CandidacyPurpose,
}

/// Classes are never given up: counters that were once shown must not vanish, or become others.
static KNOWN: PerProcess<BTreeSet<Class>> = PerProcess::new();

/// All classes that were admitted.
pub(super) fn known() -> BTreeSet<Class> {
    KNOWN.lock().clone()
}

impl Class {
    fn admit(text: &str, purpose: CandidacyPurpose) -> Self {
        let printable = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
        let text: String = text.chars().take(MAX_CHARS).map(printable).collect();
        let mut known = KNOWN.lock();
        let class = Self::among(&known, &text, purpose);
        if known.insert(class.clone()) {
            list::begin(&class);
        }
        class
    }

    /// An empty label is the same as none, and the last place is kept for all that find none. Locks and elections of one class
    /// share its place.
    fn among(known: &BTreeSet<Self>, text: &str, purpose: CandidacyPurpose) -> Self {
        let others: BTreeSet<&str> = known.iter().map(|class| &*class.text).filter(|text| *text != OTHER).collect();
        let has_room = others.contains(text) || others.len() < MAX_CLASSES - 1;
        let text = if text.is_empty() || !has_room { OTHER } else { text };
        Self { text: Arc::from(text), purpose }
    }

    /// As the value of the label `key_class`.
    pub(super) fn label(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// As the value of the label `key_kind`.
    pub(super) fn kind(&self) -> &'static str {
        self.purpose.as_str()
    }
}

/// Finds the class of an election, as the application says or by the part of its name before the first colon.
#[derive(Clone)]
pub(crate) struct Classifier(Option<Arc<Rule>>);

type Rule = dyn Fn(&ElectionName) -> String + Send + Sync;

impl Classifier {
    pub(crate) fn by_name() -> Self {
        Self(None)
    }

    pub(crate) fn by(rule: impl Fn(&ElectionName) -> String + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(rule)))
    }

    pub(crate) fn class_of(&self, name: &ElectionName, purpose: CandidacyPurpose) -> Class {
        match &self.0 {
            Some(rule) => Class::admit(&rule(name), purpose),
            None => Class::admit(name.as_str().split(':').next().unwrap_or_default(), purpose),
        }
    }
}

impl fmt::Debug for Classifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Classifier(of the application)" } else { "Classifier(by name)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(class: &Class) -> &str {
        &class.text
    }

    #[test]
    fn the_class_is_what_comes_before_the_first_colon() {
        let class =
            |name: &str| Classifier::by_name().class_of(&ElectionName::new(name).unwrap(), CandidacyPurpose::Election);
        assert_eq!(text(&class("mail:7:a")), "mail");
        assert_eq!(text(&class("nightly-report")), "nightly-report");
        assert_eq!(text(&class(":7")), OTHER);
        assert_eq!(text(&class(&"é".repeat(100))).chars().count(), MAX_CHARS);
    }

    #[test]
    fn an_application_may_have_a_rule_of_its_own() {
        let classifier = Classifier::by(|name| format!("{}\n", name.as_str().len()));
        assert_eq!(text(&classifier.class_of(&ElectionName::new("abc").unwrap(), CandidacyPurpose::Lock)), "3\u{fffd}");
    }

    #[test]
    fn there_are_only_so_many_classes() {
        let mut known = BTreeSet::new();
        for number in 0..1_000 {
            for purpose in [CandidacyPurpose::Election, CandidacyPurpose::Lock] {
                known.insert(Class::among(&known, &number.to_string(), purpose));
            }
        }
        assert_eq!(known.len(), 2 * MAX_CLASSES);
        assert_eq!(text(&Class::among(&known, "1000", CandidacyPurpose::Lock)), OTHER);
        assert_eq!(
            text(&Class::among(&known, "5", CandidacyPurpose::Election)),
            "5",
            "a class that is known keeps its place"
        );
    }
}
