//! What befalls real processes of `tenure`, on every store. The numbers are those of the catalogue of faults, which
//! `cargo xtask faults --case` takes.

// The helpers of tests fail like tests do, but clippy takes only the functions marked as tests for such.
#![allow(clippy::panic, clippy::unwrap_used)]

mod commands;
mod crash_helpers;
mod crash_releases;
mod deaths;
mod limits;
mod line;
mod network;
mod pauses;
mod postgres_moves;
mod postgres_restarts;
mod postgres_sessions;
mod postgres_settings;
mod redis_forgets;
mod redis_moves;
mod redis_refuses;
mod signals;
mod sqlite_files;
mod trees;
mod two_candidates;
mod wall_clocks;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tenure_testkit::bound::boot_ns;
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::running_store::RunningStore;
use tenure_testkit::scenario::Scenario;
use tenure_testkit::stores::{Backend, StoreServer};
use tenure_testkit::test_timing::TestTiming;
use tenure_testkit::worker::WorkerStart;
use tenure_testkit::{eventually, register, worker};

tenure_testkit::fault_cases! {
    pauses {
        case_01_a_stopped_leader_wakes_up_leading_nothing_and_only_a_fence_stops_its_last_write
        case_02_a_leader_that_is_stopped_for_half_a_lease_goes_on_leading
        case_04_the_command_of_a_stopped_supervisor_is_dead_before_the_next_one_starts
        case_04_a_supervisor_that_is_stopped_again_and_again_always_leads_again
    }
    deaths {
        case_03_the_command_of_a_killed_leader_dies_and_the_next_one_starts
        case_21_when_the_guard_is_killed_its_command_dies_and_tenure_campaigns_again
        case_28_killed_in_the_middle_of_a_start_it_leaves_no_command_behind
    }
    crash_releases {
        case_03_the_guard_of_a_killed_leader_ends_its_command_and_releases_the_lease
        case_03_the_guard_of_a_leader_that_is_killed_while_it_leaves_releases_the_lease
        case_03_when_the_guard_is_killed_as_well_the_lease_runs_out
        case_03_the_lock_of_a_killed_holder_is_released
        case_03_while_the_store_is_away_nobody_waits_for_the_guard_of_a_killed_leader
    }
    crash_helpers {
        case_03_the_helper_of_a_killed_process_releases_what_it_led
        case_03_a_process_that_takes_its_leave_is_not_taken_for_one_that_died
        case_03_when_the_helper_is_killed_as_well_the_lease_runs_out
    }
    line {
        case_03_when_the_next_in_line_have_left_a_killed_leader_is_missed_all_the_same
        case_03_when_the_next_in_line_are_dead_a_killed_leader_is_missed_all_the_same
        case_03_leaders_killed_one_after_the_other_are_followed_in_order_of_arrival
        case_16_when_the_next_in_line_are_stopped_a_resignation_costs_no_lease
    }
    wall_clocks {
        case_07_the_wall_clock_of_a_candidate_has_no_say
        case_08_the_wall_clock_of_the_store_has_no_say
        case_08_a_wall_clock_that_is_set_back_behind_a_dead_leader_costs_one_more_lease
        case_08_a_wall_clock_that_is_set_forward_ends_a_leadership_early_or_not_at_all
    }
    signals {
        case_15_asked_to_end_during_a_campaign_it_leaves_no_lease_behind
        case_16_a_leader_asked_to_end_stops_its_command_resigns_and_says_by_which_signal
        case_16_the_next_command_starts_only_after_one_that_takes_its_time_to_end
        case_17_asked_a_second_time_it_does_not_wait_for_the_command
        case_22_a_command_that_ignores_sigterm_is_killed_before_the_next_one_starts
    }
    limits {
        case_20_without_a_file_to_spare_a_leader_leads_on_and_a_stand_by_takes_over
        case_26_a_process_that_cannot_be_forked_gives_the_lease_back_at_once
        case_30_a_command_that_nobody_reads_does_not_stop_the_renewals
        case_30_a_standard_error_that_nobody_reads_stops_neither_the_command_nor_the_end
    }
    trees {
        case_23_the_children_of_a_command_are_dead_before_the_next_one_starts
        case_24_a_command_that_daemonised_is_dead_before_the_next_one_starts
        case_27_no_thread_that_ends_takes_the_command_along
    }
    commands {
        case_25_the_exit_code_and_the_signal_of_the_command_are_passed_on
        case_25_restarting_campaigns_on_with_a_higher_term
        case_26_a_command_that_cannot_be_run_gives_the_lease_back_at_once
        case_29_the_command_inherits_nothing_but_its_three_standard_files
    }
    [over a network:
        network {
            case_31_a_leader_in_a_black_hole_stops_in_time_and_comes_back_as_a_follower
            case_31_a_leader_whose_connections_are_refused_stops_in_time_and_comes_back_as_a_follower
            case_31_an_outage_of_less_than_half_a_lease_costs_nothing
            case_32_a_leader_whose_cable_is_pulled_stops_in_time_and_comes_back_as_a_follower
            case_34_a_grant_that_is_heard_of_too_late_is_not_used
            case_35_renewals_that_are_answered_too_late_extend_nothing
            case_37_a_grant_whose_answer_was_lost_costs_an_attempt_and_not_a_lease
            case_38_a_leader_whose_store_takes_ten_seconds_to_answer_steps_down_and_recovers
            case_39_a_leader_that_hears_nothing_does_not_keep_the_others_out
            case_40_a_flapping_link_changes_leaders_at_most_once_a_lease
        }
    ]
    [sqlite alone:
        sqlite_files {
            case_72_a_file_that_is_deleted_under_a_leader_costs_a_moment_and_makes_no_second_leader
            case_72_a_leader_that_is_stopped_when_its_file_is_deleted_keeps_others_out
            case_72_when_everything_is_deleted_two_lead_for_no_longer_than_it_takes_to_notice
        }
    ]
    [redis alone:
        redis_forgets {
            case_36_answers_that_come_twice_confirm_nothing_twice
            case_36_an_answer_from_before_does_not_confirm_a_lease_that_is_gone
            case_62_after_flushall_two_may_lead_until_the_next_renewal_and_terms_go_on_growing
            case_62_after_a_restart_without_persistence_two_may_lead_until_the_next_renewal
            case_62_a_restart_with_persistence_costs_nothing
            case_62_a_lease_goes_on_running_out_while_the_server_is_away
            case_68_after_subscriptions_were_cut_the_next_leader_is_woken_all_the_same
        }
        redis_moves {
            case_64_when_the_primary_dies_terms_grow_and_two_lead_no_longer_than_admitted
            case_64_when_the_primary_is_paused_and_resumed_terms_grow_and_two_lead_no_longer_than_admitted
            case_64_after_a_failover_to_a_replica_without_the_lease_two_may_lead_until_the_next_renewal
            case_67_a_slot_that_moves_to_another_node_of_a_cluster_costs_nothing
        }
        redis_refuses {
            case_67_a_server_that_is_busy_with_a_script_costs_nothing
            case_67_a_server_that_is_out_of_memory_keeps_the_leader_and_grants_nothing
            case_67_a_server_that_loads_its_data_costs_nothing
            case_67_a_server_that_became_a_replica_for_a_while_costs_nothing
            case_67_a_server_that_misses_its_replicas_costs_nothing
            case_67_a_server_that_cannot_save_costs_nothing
            case_67_a_server_that_forgot_all_scripts_costs_nothing
        }
    ]
    [postgres alone:
        postgres_restarts {
            case_44_a_restart_of_any_kind_costs_nothing
            case_44_a_lease_goes_on_running_out_while_the_server_is_away
            case_44_a_grant_outlives_a_kill_of_the_server_although_the_role_commits_asynchronously
        }
        postgres_moves {
            case_45_after_a_failover_that_forgets_terms_grow_and_two_lead_no_longer_than_admitted
            case_45_a_failover_to_a_synchronous_standby_costs_nothing
            case_45_an_old_primary_that_comes_back_as_it_was_leads_nobody
            case_46_a_standby_is_refused_with_words_that_say_so
        }
        postgres_settings {
            case_49_timeouts_of_the_role_and_the_database_are_not_ours
            case_51_a_database_that_takes_no_writes_ends_leadership_until_it_does
            case_52_what_is_missing_is_named_and_not_asked_for_in_a_hot_loop
            case_53_an_isolation_that_the_database_demands_costs_nothing
        }
        postgres_sessions {
            case_36_an_answer_from_before_does_not_confirm_a_lease_that_is_gone
            case_36_answers_that_come_twice_end_a_connection_and_no_leadership
            case_47_behind_a_pooler_of_transactions_elections_work_and_a_warning_is_given_once
            case_50_sessions_that_are_ended_again_and_again_cost_nothing
            case_56_notifications_that_cannot_be_sent_cost_time_and_nothing_else
            case_57_long_and_odd_names_get_through_channels_and_payloads
            case_61_a_server_without_free_connections_keeps_the_leader_and_lets_others_in_later
        }
    ]
}

tenure_testkit::roles! { "worker" => worker::work, "writer" => register::write, "library-leader" => crash_helpers::lead }

fn scenario(store: &dyn Backend) -> Scenario {
    Scenario::new(store, program())
}

/// A scenario on a store that the test keeps a hold on.
fn scenario_at(server: impl StoreServer + 'static) -> Scenario {
    Scenario::at(RunningStore::at(server), program())
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tenure"))
}

/// A lease that outlasts what befalls a server for a few seconds, and renewals that come soon all the same.
const PATIENT_ENOUGH: TestTiming = TestTiming::from_millis(9_000, 1_000, 300);

/// Checks that the first leader leads on, under its first term, with its first command.
fn goes_on(scenario: &Scenario, first: &WorkerStart) {
    let now_ns = boot_ns();
    eventually("two more renewals", || renewals_since(scenario, now_ns) >= 2);
    assert!(!ProcessHandle::open(first.pid).is_dead());
    assert!(scenario.events().iter().all(|event| event["event"] != "lost"), "{:#?}", scenario.events());
    let status = scenario.status();
    assert_eq!((&status["leader"], &status["term"]), (&first.candidate.as_str().into(), &first.term.into()));
}

/// How often leaders have told since then that they renewed.
fn renewals_since(scenario: &Scenario, since_ns: u64) -> usize {
    let is_renewal = |event: &&Value| event["event"] == "renewed" && event["boot_ns"].as_u64().unwrap() > since_ns;
    scenario.events().iter().filter(is_renewal).count()
}

/// How long the work of a leader goes on whose lease the store has forgotten: until the next renewal is answered, and the
/// grace is over.
fn until_told(scenario: &Scenario) -> Duration {
    let timing = scenario.timing().validated();
    timing.renew_every() * 2 + timing.attempt_timeout() + timing.grace() + timing.reaction()
}

/// Whatever one candidate was told of, it is never told of an earlier term afterwards.
fn assert_terms_never_fall(scenario: &Scenario) {
    let mut terms: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for event in scenario.events() {
        let term = [&event["term"], &event["leader_term"]].into_iter().find_map(Value::as_u64);
        let told = terms.entry(event["candidate"].to_string()).or_default();
        told.extend(term.filter(|_| event["event"] != "lost"));
    }
    assert!(terms.values().any(|terms| !terms.is_empty()), "nobody was told of a term");
    assert!(terms.values().all(|terms| terms.is_sorted()), "{terms:?}");
}
