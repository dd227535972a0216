//! Facts that SQLite reveals only through its C interface.

use rusqlite::{Connection, ffi};

/// Whether the open file of a connection is no longer, or not certainly, the one at its path.
#[must_use]
pub fn has_moved(connection: &Connection) -> bool {
    let mut moved: std::ffi::c_int = 0;
    // SAFETY: the handle is that of a connection that is borrowed, and so open; nothing here closes it. SQLite writes one
    // `int` to where the last argument points, during the call, for this operation.
    let answer = unsafe {
        let (name, into) = (c"main".as_ptr(), (&raw mut moved).cast());
        ffi::sqlite3_file_control(connection.handle(), name, ffi::SQLITE_FCNTL_HAS_MOVED, into)
    };
    answer != ffi::SQLITE_OK || moved != 0
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::*;

    #[test]
    fn a_file_that_is_replaced_has_moved() {
        let path = env::temp_dir().join(format!("tenure-sys-moved-{}.db", process::id()));
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE a (b)").unwrap();
        assert!(!has_moved(&connection));
        fs::remove_file(&path).unwrap();
        assert!(has_moved(&connection));
        fs::write(&path, "").unwrap();
        assert!(has_moved(&connection), "another file is at its path");
        fs::remove_file(&path).unwrap();
    }
}
