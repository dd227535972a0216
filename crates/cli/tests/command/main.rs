//! The `tenure` command as people and programs meet it: real processes, on a SQLite store unless a test names another.

// The helpers of tests fail like tests do, but clippy takes only the functions marked as tests for such.
#![allow(clippy::panic, clippy::unwrap_used)]

mod bad_input;
mod broadcasts;
mod containment;
mod cron;
mod cron_crashes;
mod cron_ends;
mod cron_orders;
mod cron_reload;
mod crontab;
mod crowd;
mod damaged;
mod default_store;
mod doctor;
mod elect;
mod forget;
mod full_output;
mod gaps;
mod gone_reader;
mod guard_faults;
mod help;
mod history;
mod lock;
mod look;
mod messages;
mod metrics;
mod migrate;
mod mistyped;
mod outages;
mod raise_terms;
mod reference;
mod resign;
mod run;
mod secrets;
mod signals;
mod start;
mod support;
mod tracers;
mod unusable_stores;
mod used_up_terms;

tenure_testkit::roles! { "worker" => tenure_testkit::worker::work }
