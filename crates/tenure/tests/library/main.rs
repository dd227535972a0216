//! The library as an application sees it, on a store that can be broken and a clock that can be moved.

#![expect(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

mod blocking;
mod broadcasts;
mod callbacks;
mod captures;
mod configuration;
mod consume;
mod cron_schedule;
mod driver;
mod driving;
mod election;
mod events;
mod handover;
mod health;
mod job_clocks;
mod job_failover;
mod job_faults;
mod job_given_back;
mod job_orders;
mod job_policies;
mod job_reload;
mod job_retries;
mod job_support;
mod jobs;
mod leadership;
mod locks;
mod mailless;
mod message_faults;
mod message_handlers;
mod message_sending;
mod metrics;
mod metrics_documents;
mod outage;
mod pausing;
mod runtimes;
mod state;
mod stop;
mod stuck;
mod supervision;
mod support;
mod waiting_for_oneself;
mod work;
