//! The variables that addresses are read with.

use std::collections::BTreeMap;
use std::{env, fmt};

/// The environment variables of this process, some of them replaced or added.
///
/// A process that opens the store of another one is handed the variables that its own environment does not have. They
/// may be passwords, so printing them shows their names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables {
    replaced: BTreeMap<String, String>,
}

impl Variables {
    /// The variables of this process, with these in place of its own.
    #[must_use]
    pub fn with(replaced: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { replaced: replaced.into_iter().collect() }
    }

    /// The value of a variable, unless it is empty or no text.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        let value = self.replaced.get(name).cloned().or_else(|| env::var(name).ok());
        value.filter(|value| !value.is_empty())
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.replaced.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_handed_over_comes_first_and_is_not_printed() {
        let variables = Variables::with([("PATH".to_owned(), "canary".to_owned()), ("HOME".to_owned(), String::new())]);
        assert_eq!(variables.get("PATH").as_deref(), Some("canary"));
        assert_eq!(variables.get("HOME"), None);
        assert_eq!(Variables::default().get("PATH"), env::var("PATH").ok());
        let shown = format!("{variables:?}");
        assert!(shown.contains("PATH") && !shown.contains("canary"), "{shown}");
    }
}
