//! `docs/migrating.md`, and what the documentation of PostgreSQL says of roles.

use tenure_testkit::postgres::{APP, APP_PASSWORD};

use crate::stage::{REDIS, Stage, lines};

pub(crate) fn commands([look, raise, compat, create_leader, leader_service, platformatic]: [String; 6]) {
    let stage = Stage::new();
    stage.does("tenure --store sqlite:old.db lock first -- true");
    assert!(stage.does(&look).contains("\"term\":1,"));

    for line in lines::<2>(&stage.here(&raise)) {
        let said = stage.does(&line);
        assert!(said.contains("above 4711"), "{line}: {said}");
    }
    stage.does(&stage.here(&compat));
    let functions =
        "SELECT count(*) FROM pg_proc WHERE proname IN ('try_become_leader', 'leader_heartbeat', 'step_down')";
    assert_eq!(stage.database().sql(functions), [[Some("3".to_owned())]]);

    for (key, block) in [("leader", &create_leader), ("app:leader:mix", &leader_service)] {
        REDIS.command(&["SET", key, "instance-of-another-library", "PX", "60000"]);
        let seen = stage.does(&stage.here(block));
        assert!(seen.contains("instance-of-another-library"), "{block}: {seen}");
    }

    let mut session = stage.database().session();
    session.run("SET application_name = 'another-library'; SELECT pg_advisory_lock(4242)").unwrap();
    let seen = stage.does(&stage.here(&platformatic));
    assert!(seen.contains("4242") && seen.contains("another-library"), "{seen}");
}

pub(crate) fn role([migrate]: [String; 1]) {
    let stage = Stage::new();
    let said = stage.does(&stage.here(migrate.strip_prefix("$ ").unwrap()));
    assert!(said.contains("; app may use it"), "{said}");
    let tables = "SELECT count(*) FILTER (WHERE has_table_privilege('app', oid, 'SELECT, INSERT, UPDATE, DELETE')), \
                  count(*) > 0 FROM pg_class WHERE relkind = 'r' AND relnamespace = 'tenure'::regnamespace";
    assert_eq!(stage.database().sql(tables), [[Some("0".to_owned()), Some("t".to_owned())]]);
    let store = stage.database().url_as(APP, APP_PASSWORD);
    assert_eq!(stage.does(&format!("tenure --store {store} lock x -- echo led")), "led");
}
