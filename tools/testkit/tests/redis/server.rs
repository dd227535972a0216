//! One server alone.

use std::net::TcpListener;
use std::time::Duration;

use redis::Value;
use tenure_testkit::eventually;
use tenure_testkit::redis::{Flavour, RedisOptions, RedisServer};

#[test]
fn it_answers_on_its_port() {
    let server = RedisServer::start();
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let pong: String = redis::cmd("PING").query(&mut connection).unwrap();
    assert_eq!(pong, "PONG");
    assert_eq!(server.url(), format!("redis://127.0.0.1:{}", server.port()));
    assert_eq!(server.address().port(), server.port());
}

#[test]
fn two_servers_know_nothing_of_each_other() {
    let [first, second] = [RedisServer::start(), RedisServer::start()];
    first.command(&["SET", "a", "1"]);
    assert_eq!(second.command(&["GET", "a"]), Value::Nil);
    assert_ne!(first.directory(), second.directory());
}

#[test]
fn while_it_is_paused_it_does_not_answer_and_then_it_does() {
    let server = RedisServer::start();
    let mut connection = server.connection();
    connection.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let pause = server.pause();
    let error = redis::cmd("PING").query::<String>(&mut connection).unwrap_err();
    assert!(error.is_timeout(), "{error}");
    drop(pause);
    assert_eq!(server.command(&["PING"]), Value::SimpleString("PONG".into()));
}

#[test]
fn after_a_kill_it_restarts_on_the_same_port_without_its_data() {
    let server = RedisServer::start();
    server.command(&["SET", "a", "1"]);
    let killed = server.process();
    server.kill();
    assert!(killed.is_dead());
    assert!(server.try_command(&["PING"]).is_err());
    server.restart();
    assert_ne!(server.process().pid, killed.pid);
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    assert_eq!(redis::cmd("GET").arg("a").query::<Value>(&mut connection).unwrap(), Value::Nil);
}

#[test]
fn it_waits_for_its_port_if_somebody_has_taken_it_meanwhile() {
    for flavour in [Flavour::Redis, Flavour::Valkey] {
        let server = RedisServer::start_with(RedisOptions::new(flavour));
        server.kill();
        let thief = TcpListener::bind(server.address()).unwrap();
        std::thread::scope(|scope| {
            let restart = scope.spawn(|| server.restart());
            eventually("a server that cannot have its port", || server.log().contains("Address already in use"));
            drop(thief);
            restart.join().unwrap();
        });
        assert_eq!(server.command(&["PING"]), Value::SimpleString("PONG".into()));
    }
}

#[test]
fn a_persistent_one_has_its_data_after_a_kill() {
    let server = RedisServer::start_with(RedisOptions::default().persistent());
    server.command(&["SET", "a", "1"]);
    server.restart();
    eventually("the data", || server.try_command(&["GET", "a"]).is_ok());
    assert_eq!(server.command(&["GET", "a"]), Value::BulkString(b"1".to_vec()));
}

#[test]
fn only_the_password_opens_it_and_the_kit_comes_in_anyhow() {
    let password = "p@ss:/word";
    let server = RedisServer::start_with(RedisOptions::default().password(password).user("reader on >r ~* +get"));
    let ping = |url: String| redis::cmd("PING").query::<String>(&mut redis::Client::open(url)?.get_connection()?);
    assert_eq!(ping(server.url()).unwrap(), "PONG");
    let refused = ping(format!("redis://{}", server.address())).unwrap_err();
    assert_eq!(refused.code(), Some("NOAUTH"), "{refused}");
    let forbidden = ping(server.url_as("reader", "r")).unwrap_err();
    assert_eq!(forbidden.code(), Some("NOPERM"), "{forbidden}");
    assert_eq!(server.command(&["PING"]), Value::SimpleString("PONG".into()));
}

#[test]
fn a_default_user_can_be_taken_away() {
    let server = RedisServer::start_with(RedisOptions::default().user("default off"));
    let client = redis::Client::open(server.url()).unwrap();
    let refused = redis::cmd("PING").query::<String>(&mut client.get_connection().unwrap()).unwrap_err();
    assert_eq!(refused.code(), Some("NOAUTH"), "{refused}");
    server.command(&["PING"]);
}

#[test]
fn further_lines_of_configuration_count() {
    let server = RedisServer::start_with(RedisOptions::default().line("maxmemory 5mb").line("databases 3"));
    let values: Vec<String> = redis::from_redis_value(server.command(&["CONFIG", "GET", "databases"])).unwrap();
    assert_eq!(values, ["databases", "3"]);
}

#[test]
fn it_counts_what_it_was_asked() {
    let server = RedisServer::start();
    let mut connection = server.connection();
    let before = server.total_commands();
    for _ in 0..7 {
        redis::cmd("ECHO").arg("x").query::<String>(&mut connection).unwrap();
    }
    assert_eq!(server.calls("echo"), 7);
    assert_eq!(server.calls("get"), 0);
    // The looks at the total and at two commands come on top.
    assert_eq!(server.total_commands(), before + 7 + 3);
}

#[test]
fn what_it_uses_can_be_seen() {
    let server = RedisServer::start();
    let process = server.process();
    let before = (process.cpu_time(), process.resident_bytes());
    // Some hundred steps of the kernel's clock, and memory that is written to.
    server.command(&["EVAL", "for i = 1, 50000000 do end", "0"]);
    server.command(&["SETRANGE", "big", "50000000", "x"]);
    assert!(process.cpu_time() > before.0);
    assert!(process.resident_bytes() > before.1 + 40_000_000);
}

#[test]
fn its_log_tells_why_it_did_not_start() {
    let start = || RedisServer::start_with(RedisOptions::default().line("no-such-setting yes"));
    let panic = std::panic::catch_unwind(start).err().unwrap();
    assert!(panic.downcast_ref::<String>().unwrap().contains("no-such-setting"));
}

#[test]
fn it_logs() {
    let server = RedisServer::start();
    assert!(server.log().contains("Ready to accept connections"), "{}", server.log());
}
