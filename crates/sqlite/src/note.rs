//! The note that a process leaves beside its pipes for processes that find other files at the same path.

use std::time::Duration;

use super::access::Inode;
use super::identity::FileIdentity;

/// The files that a process uses, and how long a lease that it holds in them may outlast them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Note {
    database: u64,
    log: u64,
    index: u64,
    /// The longest ttl that it may have been granted; zero if none.
    pub(super) hold: Duration,
}

impl Note {
    pub(super) fn new(identity: &FileIdentity, hold: Duration) -> Self {
        let [database, log, index] = [identity.database, identity.log, identity.index].map(|inode| inode.number);
        Self { database, log, index, hold }
    }

    pub(super) fn is_of(&self, identity: &FileIdentity) -> bool {
        Self::new(identity, self.hold) == *self
    }

    /// Whether all of its files exist; missing ones are `None`.
    pub(super) fn is_of_all(&self, database: Inode, [log, index]: [Option<Inode>; 2]) -> bool {
        let is_this = |number: u64, inode: Option<Inode>| inode.is_some_and(|inode| inode.number == number);
        self.database == database.number && is_this(self.log, log) && is_this(self.index, index)
    }

    /// Whether it uses this index with another log.
    pub(super) fn strays_in(&self, [log, index]: [Option<Inode>; 2]) -> bool {
        index.is_some_and(|index| index.number == self.index) && log.is_none_or(|log| log.number != self.log)
    }

    pub(super) fn text(&self) -> String {
        let Self { database, log, index, hold } = self;
        // Always of the same length, so that it can be written over another.
        format!("database {database:020}\nlog {log:020}\nindex {index:020}\nhold-ns {:020}\n", hold.as_nanos())
    }

    pub(super) fn understand(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut number = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
        let (database, log, index) = (number("database")?, number("log")?, number("index")?);
        Some(Self { database, log, index, hold: Duration::from_nanos(number("hold-ns")?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_understood() {
        let note = Note { database: 1, log: u64::MAX, index: 3, hold: Duration::from_millis(30_001) };
        assert_eq!(Note::understand(&note.text()), Some(note));
        for text in ["", "database 1\n", "database x\nlog 1\nindex 1\nhold-ns 1\n", "hold-ns 1\n"] {
            assert_eq!(Note::understand(text), None, "{text}");
        }
    }
}
