//! What a fork does to the metrics, which belong to the whole process.

use std::sync::atomic::{AtomicBool, Ordering};

use super::child::exit_code_of_fork;

/// Enough that some forks fall into a moment in which a thread holds the lock.
const FORKS: usize = 200;

/// Lets the threads end, also when the test fails: the scope waits for them.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_fork_amid_a_refresh_leaves_the_child_free_to_refresh() {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = Over(&is_over);
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    tenure::metrics::refresh();
                }
            });
        }
        for _ in 0..FORKS {
            let code = exit_code_of_fork(|| {
                tenure::metrics::refresh();
                0
            });
            assert_eq!(code, 0);
        }
    });
}
