//! A cluster.

use redis::Value;
use tenure_testkit::eventually;
use tenure_testkit::redis::{RedisCluster, RedisOptions, RedisServer};

use crate::support::set_everywhere;

#[test]
fn each_key_has_an_owner_and_others_tell_who() {
    let cluster = RedisCluster::start();
    let ports: Vec<_> = cluster.nodes().iter().map(RedisServer::port).collect();
    let [a, b, c] = ports[..3] else { panic!("{ports:?}") };
    assert_eq!(cluster.url(), format!("redis+cluster://127.0.0.1:{a},127.0.0.1:{b},127.0.0.1:{c}"));
    assert_eq!(cluster.slot_of("{tag}x"), cluster.slot_of("tag"));
    // Their slots are 15495, 3300 and 7365.
    for (key, index) in [("a", 2), ("b", 0), ("c", 1)] {
        let owner = cluster.owner_of(key);
        assert_eq!(owner.port(), ports[index], "{key}");
        owner.command(&["SET", key, "value"]);
        let other = &cluster.nodes()[(index + 1) % 3];
        let moved = other.try_command(&["GET", key]).unwrap_err();
        assert_eq!(moved.redirect_node().unwrap(), (&*owner.address().to_string(), cluster.slot_of(key)), "{moved}");
    }
}

#[test]
fn a_slot_that_is_on_its_way_answers_as_clusters_do() {
    let cluster = RedisCluster::start_with(RedisOptions::default().password("secret"));
    let (from, to) = (cluster.owner_of("{a}"), cluster.owner_of("{b}"));
    from.command(&["MSET", "{a}1", "x", "{a}2", "y"]);
    let moving = cluster.move_slot(cluster.slot_of("{a}"), from, to);
    assert_eq!(from.command(&["GET", "{a}1"]), Value::BulkString(b"x".to_vec()));
    assert_eq!(moving.move_keys(1), 1);
    let is_there = |key: &str| from.try_command(&["GET", key]).is_ok();
    let (here, gone) = if is_there("{a}1") { ("{a}1", "{a}2") } else { ("{a}2", "{a}1") };
    assert!(is_there(here));
    assert_eq!(from.try_command(&["GET", gone]).unwrap_err().code(), Some("ASK"));
    assert_eq!(from.try_command(&["MGET", here, gone]).unwrap_err().code(), Some("TRYAGAIN"));
    assert_eq!(to.try_command(&["GET", gone]).unwrap_err().code(), Some("MOVED"));
    assert_eq!(cluster.owner_of("{a}").port(), from.port());
    moving.finish();
    assert_eq!(cluster.owner_of("{a}").port(), to.port());
    let both: Vec<String> = redis::from_redis_value(to.command(&["MGET", "{a}1", "{a}2"])).unwrap();
    assert_eq!(both, ["x", "y"]);
    assert_eq!(from.try_command(&["GET", "{a}1"]).unwrap_err().code(), Some("MOVED"));
}

#[test]
fn a_primary_that_hangs_is_replaced_by_its_replica() {
    let cluster = RedisCluster::start();
    let (old, replica) = (&cluster.nodes()[1], &cluster.nodes()[4]);
    set_everywhere(old, "c", 1);
    let _pause = old.pause();
    eventually("a new owner", || cluster.owner_of("c").port() == replica.port());
    eventually("an answer", || replica.try_command(&["GET", "c"]).is_ok());
    assert_eq!(replica.command(&["GET", "c"]), Value::BulkString(b"value".to_vec()));
}
