//! A place for one test of the command, on the store that needs nothing to be installed.

use std::path::Path;

use tenure_testkit::site::{ELECTION, Site};
use tenure_testkit::stores::Sqlite;

pub(crate) fn site() -> Site {
    Site::new(&Sqlite, tenure())
}

pub(crate) fn tenure() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tenure"))
}

/// What `tenure run` or `tenure lock` is given to run this command.
pub(crate) fn arguments(site: &Site, subcommand: &str, options: &[&str], command: &[&str]) -> Vec<String> {
    let words = [options, &["--"], command].concat();
    [subcommand, ELECTION]
        .map(str::to_owned)
        .into_iter()
        .chain(site.pace().options())
        .chain(words.into_iter().map(str::to_owned))
        .collect()
}
