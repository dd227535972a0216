//! A process that has no descriptor left cannot open a store, and is told so.

use std::fs::File;

use rustix::process::{Resource, getrlimit, setrlimit};
use tenure::Client;

#[test]
fn opening_without_descriptors_is_an_error_inside_a_runtime_too() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(128);
    setrlimit(Resource::Nofile, limit).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let mut taken: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        let mut failed = 0;
        // One more is free each time, so that they run out at every step of opening.
        while let Err(error) = Client::open("memory:") {
            assert!(error.to_string().contains("Too many open files"), "{error}");
            failed += 1;
            taken.pop().expect("with so many descriptors it can be opened");
        }
        assert!(failed > 1, "{failed}");
    });
}
