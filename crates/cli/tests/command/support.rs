//! A place for one test of the command, on the store that needs nothing to be installed.

use std::path::Path;

use tenure_testkit::site::Site;
use tenure_testkit::stores::Sqlite;

pub(crate) fn site() -> Site {
    Site::new(&Sqlite, tenure())
}

pub(crate) fn tenure() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tenure"))
}
