//! A database file whose bytes are not what they were.

use std::path::Path;

use tenure::store::sqlite::SqliteStore;
use tenure_fuzz::{Fuzz, InputTape};

use crate::database::Pristine;

/// An input is a tape of damage to the file, and to the log beside it.
#[test]
fn fuzz_sqlite_file() {
    let pristine = Pristine::new();
    let intact = std::fs::read(&pristine.path).unwrap();
    Fuzz::target("sqlite-file").cases(100).cost(500).run(|input| {
        let directory = tempfile::tempdir_in(pristine.directory.path()).unwrap();
        let path = directory.path().join("damaged.db");
        damage(&path, intact.clone(), InputTape::new(input));
        if let Ok(store) = SqliteStore::open(&path) {
            pristine.ask_everything(&store);
        }
    });
}

fn damage(path: &Path, mut bytes: Vec<u8>, mut tape: InputTape<'_>) {
    let mut log = Vec::new();
    for _ in 0..MAX_DAMAGES {
        if tape.is_at_end() {
            break;
        }
        let at = usize::try_from(tape.word()).unwrap() % bytes.len().max(1);
        match tape.byte() % 8 {
            0 => bytes.truncate(at),
            1 => swap_pages(&mut bytes, at / PAGE, usize::from(tape.byte())),
            2 => log.extend_from_slice(tape.piece()),
            // The header and the pages that say where the others are have more to go wrong than the rest.
            3 => overwrite(&mut bytes, at % 100, tape.bytes(2)),
            4 => overwrite(&mut bytes, at / PAGE * PAGE + at % 12, tape.bytes(2)),
            _ => overwrite(&mut bytes, at, tape.piece()),
        }
    }
    std::fs::write(path, bytes).unwrap();
    if !log.is_empty() {
        std::fs::write(path.with_extension("db-wal"), log).unwrap();
    }
}

fn overwrite(bytes: &mut [u8], at: usize, with: &[u8]) {
    for (byte, with) in bytes.iter_mut().skip(at).zip(with) {
        *byte = *with;
    }
}

fn swap_pages(bytes: &mut [u8], one: usize, other: usize) {
    let pages = bytes.len() / PAGE;
    if one < pages && pages > 0 {
        for offset in 0..PAGE {
            bytes.swap(one * PAGE + offset, other % pages * PAGE + offset);
        }
    }
}

const PAGE: usize = 4096;
const MAX_DAMAGES: usize = 8;
