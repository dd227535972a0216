//! `docs/tutorial.md`, walked through to the letter: its lines are typed into shells, and its programs are compiled and run.

use tenure_pages::{blocks_of, root, text_of};
use tenure_testkit::ports::free_port;

use crate::stage::Stage;

/// The one line that is not run: what it installs is what this program was built with.
const INSTALLATION: &str = "cargo install --locked --profile dist --path crates/cli\n";

pub(crate) fn lines(sh: [String; 13]) {
    let [build, choose, alpha, beta, look, crash, alpha_again, resign, stop, history, redis, on_redis, on_postgres] =
        sh;
    let stage = Stage::new();
    let [mut first, mut second, mut third] = [(); 3].map(|()| stage.terminal());

    third.enter(build.strip_prefix(INSTALLATION).unwrap());
    third.shows("all checks passed");

    for terminal in [&mut first, &mut second, &mut third] {
        terminal.enter(&choose);
    }
    first.enter(&alpha);
    first.tells("leading hello, term 1");
    first.shows("leading, term 1");
    second.enter(&beta);
    second.tells("standing by for hello; alpha leads");
    third.enter(&look);
    third.shows("STANDING BY");
    third.shows("hello: alpha leads, term 1");

    first.enter(&crash);
    third.shows("alpha lost term 1: crashed");
    third.shows("beta leads, term 2");
    second.shows("leading, term 2");

    assert_eq!(alpha_again, alpha);
    first.enter(&alpha_again);
    first.tells("standing by for hello; beta leads");
    third.control_c();
    third.enter(&resign);
    first.shows("leading, term 3");
    first.enter(&stop);
    second.shows("leading, term 4");
    third.enter(&history);
    for reason in ["stopped", "requested", "crashed", "granted"] {
        third.shows(reason);
    }
    second.control_c();

    more_than_one_machine(&stage, [&redis, &on_redis, &on_postgres]);
}

/// The server is that of the page, at another port than the usual one, which may be somebody's.
fn more_than_one_machine(stage: &Stage, [redis, on_redis, on_postgres]: [&str; 3]) {
    let port = free_port().to_string();
    let [mut server, mut redis_user, mut postgres_user] = [(); 3].map(|()| stage.terminal());
    server.enter(&replaced(redis, "6379", &port));
    server.shows("Ready to accept connections");
    redis_user.enter(&replaced(on_redis, "6379", &port));
    redis_user.shows("promise: redis");
    redis_user.shows("leading, term ");
    redis_user.control_c();
    postgres_user.enter(&stage.here(on_postgres));
    postgres_user.shows("created the schema, ");
    postgres_user.shows("promise: postgres");
    server.control_c();
}

fn replaced(block: &str, usual: &str, ours: &str) -> String {
    assert_eq!(block.matches(usual).count(), 1, "{usual} in {block}");
    block.replace(usual, ours)
}

pub(crate) fn dependencies(both: [String; 2]) {
    for dependency in both {
        let (_, path) = dependency.split_once("path = \"../tenure/").unwrap();
        let (path, _) = path.split_once('"').unwrap();
        assert!(root().join(path).join("Cargo.toml").is_file(), "{dependency}");
    }
}

/// The programs are run with the documentation of the library, the test is one of the library's.
#[test]
fn its_programs_are_those_that_are_tested() {
    let [_program, _async_program, test]: [String; 3] = blocks_of("docs/tutorial.md", "rust").try_into().unwrap();
    let compiled = text_of("crates/tenure/tests/tutorial.rs");
    let (_, compiled) = compiled.split_once("\n\n").unwrap();
    assert_eq!(test, compiled, "step 6 is not what crates/tenure/tests/tutorial.rs runs");
}
