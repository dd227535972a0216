//! A job each second on every store, while whoever leads is killed, paused or cut off every few seconds: each tick fires at
//! most once, and with [`Missed::All`](tenure::cron::Missed) each tick exactly once.
//!
//! It takes some 20 seconds on each store; `cargo xtask endure` lets it go on for as long as wanted. What goes wrong follows
//! from a seed, which is printed and can be given again; when exactly it strikes does not, since time is real.

#![allow(clippy::panic, clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

mod candidacy;
mod contender;
mod events;
mod inside;
mod journal;
mod judge;
mod observed;
mod ordeal;
mod outside;
mod rng;
mod stamp;
mod strike;

use tenure::store::postgres::{Migration, PostgresConfig};
use tenure_testkit::running_store::RunningStore;
use tenure_testkit::stores::{Postgres, Redis, Sqlite};

use crate::ordeal::Ordeal;

/// Threads of one process that share a store in its memory: nobody is killed there, and nobody paused.
#[test]
fn memory() {
    Ordeal::new("memory").endure(inside::contenders);
}

/// Processes that share a file. There is no network to cut.
#[test]
fn sqlite() {
    let store = RunningStore::on(&Sqlite);
    Ordeal::new("sqlite").endure(|files| outside::contenders(&store, files));
}

#[test]
fn redis() {
    let store = RunningStore::on(&Redis);
    Ordeal::new("redis").endure(|files| outside::contenders_over_a_network(&store, files));
}

#[test]
fn postgres() {
    let store = RunningStore::on(&Postgres { tables });
    Ordeal::new("postgres").endure(|files| outside::contenders_over_a_network(&store, files));
}

/// The tables that the library makes.
fn tables(role: &str) -> String {
    let config = PostgresConfig::from_url(&"postgres://owner@127.0.0.1/postgres".parse().unwrap()).unwrap();
    Migration::new(&config).role(role).unwrap().script()
}

tenure_testkit::roles! { "candidate" => outside::stand }
