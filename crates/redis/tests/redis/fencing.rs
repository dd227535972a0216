//! A fence in front of a real server.

use redis::{Connection, RedisResult, cmd};
use tenure::Term;
use tenure::fencing::{RedisFence, is_stale};
use tenure_testkit::redis::{RedisCluster, RedisServer};

fn fence(key: &str, term: u64) -> RedisFence {
    RedisFence::around(key, Term::new(term).expect("a term"))
}

fn write(connection: &mut Connection, term: u64, value: &str) -> RedisResult<Vec<String>> {
    let set = cmd("SET").arg("report").arg(value).clone();
    let append = cmd("GETRANGE").arg("report").arg(0).arg(-1).clone();
    fence("report", term).guard(&[set, append]).query(connection)
}

#[test]
fn only_the_newest_term_writes() {
    let server = RedisServer::start();
    let mut connection = server.connection();
    assert_eq!(write(&mut connection, 7, "seven").unwrap(), ["OK", "seven"]);
    assert_eq!(write(&mut connection, 7, "seven again").unwrap(), ["OK", "seven again"]);
    assert_eq!(write(&mut connection, (1 << 53) - 1, "far ahead").unwrap(), ["OK", "far ahead"]);
    let error = write(&mut connection, 8, "stale").unwrap_err();
    assert!(is_stale(&error), "{error}");
    assert!(error.to_string().contains("term 9007199254740991 was here"), "{error}");
    let kept: String = cmd("GET").arg("report").query(&mut connection).unwrap();
    assert_eq!(kept, "far ahead");
}

#[test]
fn fences_do_not_meet_and_words_are_only_words() {
    let server = RedisServer::start();
    let mut connection = server.connection();
    let odd = "]] .. redis.call('FLUSHALL') --\r\n\0🦀";
    let set = |key: &str| [cmd("SET").arg(key).arg(odd).clone()];
    fence("one", 9).guard(&set("one")).exec(&mut connection).unwrap();
    fence("other", 2).guard(&set("other")).exec(&mut connection).unwrap();
    let kept: Vec<String> = cmd("MGET").arg("one").arg("other").query(&mut connection).unwrap();
    assert_eq!(kept, [odd, odd]);
}

#[test]
fn another_error_is_not_taken_for_a_stale_term() {
    let server = RedisServer::start();
    let mut connection = server.connection();
    let nonsense = [cmd("NO-SUCH-COMMAND").clone()];
    let error = fence("report", 1).guard(&nonsense).exec(&mut connection).unwrap_err();
    assert!(!is_stale(&error), "{error}");
}

#[test]
fn in_a_cluster_the_fence_is_on_the_node_of_its_key() {
    let cluster = RedisCluster::start();
    let mut connection = cluster.owner_of("report").connection();
    assert_eq!(write(&mut connection, 3, "three").unwrap(), ["OK", "three"]);
    assert!(is_stale(&write(&mut connection, 2, "two").unwrap_err()));
}
