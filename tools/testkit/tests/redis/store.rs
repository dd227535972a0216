//! Redis as a store to the fault cases.

use std::time::Duration;

use redis::Client;
use tenure_testkit::running_store::RunningStore;
use tenure_testkit::stores::{Backend, Redis};

#[test]
fn it_answers_nothing_while_it_stalls_and_forgets_nothing() {
    let store = RunningStore::on(&Redis);
    let mut connection = Client::open(store.url()).unwrap().get_connection().unwrap();
    redis::cmd("SET").arg("key").arg("value").exec(&mut connection).unwrap();
    let mut impatient = Client::open(store.url()).unwrap().get_connection().unwrap();
    impatient.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let stall = store.stall();
    assert!(redis::cmd("SET").arg("other").arg("value").exec(&mut impatient).unwrap_err().is_timeout());
    drop(stall);
    assert_eq!(redis::cmd("GET").arg("key").query::<String>(&mut connection).unwrap(), "value");
}

#[test]
fn its_wall_clock_is_that_of_the_place() {
    let store = RunningStore::on(&Redis);
    let mut connection = Client::open(store.url()).unwrap().get_connection().unwrap();
    let mut seconds = || redis::cmd("TIME").query::<[i64; 2]>(&mut connection).unwrap()[0];
    let before = seconds();
    store.wall_clock().jump_to(3_600);
    assert!((seconds() - before - 3_600).abs() < 600);
}

#[test]
fn each_place_has_a_store_of_its_own_which_does_not_see_death() {
    let [first, second] = [RunningStore::on(&Redis), RunningStore::on(&Redis)];
    assert_ne!(first.url(), second.url());
    assert!(first.path("redis").exists());
    let abilities = Redis.abilities();
    assert!(!abilities.sees_death && !abilities.embedded);
}
