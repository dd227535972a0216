//! The pages, typed in: every block of every page is run or compiled, or is a drawing.
//!
//! A block is read out of its page and run where its addresses lead to servers of the test ([`stage`]). What the page says of it
//! is compared. A block that nothing here knows fails [`kinds`].

// The helpers of tests fail like tests do, but clippy takes only the functions marked as tests for such.
#![allow(clippy::panic, clippy::unwrap_used)]

mod checkout;
mod fencing;
mod history;
mod jobs;
mod kinds;
mod locks;
mod messages;
mod metrics;
mod migrating;
mod operations;
mod readme;
mod redis_users;
mod sql;
mod stage;
mod systemd;
mod terminal;
mod tutorial;

/// For each page and language, the walk that runs its blocks, and a test around it.
///
/// A walk takes as many blocks as there are, so that one more does not pass unnoticed.
macro_rules! walks {
    ($($page:literal $language:literal => $name:ident = $walk:path;)*) => {
        /// What is run.
        const WALKED: &[(&str, &str)] = &[$(($page, $language)),*];

        $(#[test]
        fn $name() {
            $walk(kinds::blocks_to_walk($page, $language));
        })*
    };
}

walks! {
    "README.md" "sh" => readme = readme::commands;
    "README.md" "sql" => the_statement_of_the_readme = sql::one_row;
    "docs/guarantees.md" "sql" => the_statement_of_the_guarantees = sql::one_row;
    "docs/fencing.md" "sql" => fencing_in_sql = sql::tables;
    "docs/fencing.md" "sh" => fencing_in_a_shell = fencing::scripts;
    "docs/history.md" "sh" => a_session_with_a_history = history::session;
    "docs/jobs.md" "sh" => jobs = jobs::commands;
    "docs/locks.md" "sh" => locks = locks::commands;
    "docs/messages.md" "sh" => messages = messages::commands;
    "docs/metrics.md" "sh" => metrics = metrics::commands;
    "docs/migrating.md" "sh" => migrating = migrating::commands;
    "docs/operations.md" "sh" => operations = operations::commands;
    "docs/operations.md" "ini" => the_unit_of_systemd = systemd::unit;
    "docs/tutorial.md" "sh" => tutorial = tutorial::lines;
    "docs/tutorial.md" "toml" => the_dependencies_of_the_tutorial = tutorial::dependencies;
    "crates/postgres/src/docs.md" "console" => the_role_of_an_application = migrating::role;
    "crates/sqlite/src/docs.md" "sh" => a_backup_of_sqlite = operations::backup;
}
