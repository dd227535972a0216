//! What befalls an application that leads through the library, on every store. The numbers are those of the catalogue of
//! faults, which `cargo xtask faults --case` takes.

#![allow(clippy::panic, clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

mod blocked;
mod callbacks;
mod herd;
mod pauses;
mod postgres_crowd;
mod postgres_locks;
mod support;
mod unwell;

tenure_testkit::fault_cases! {
    pauses {
        case_01_the_first_answer_after_a_pause_is_no
        case_05_a_suspend_that_outlasts_the_lease_ends_leadership_before_anything_runs
        case_05_a_suspend_that_the_lease_outlasts_ends_nothing
    }
    blocked {
        case_10_a_runtime_whose_only_thread_is_blocked_keeps_its_lease_and_knows_when_it_has_lost_it
        case_19_an_application_that_is_blocked_keeps_its_lease_and_knows_when_it_has_lost_it
    }
    callbacks {
        case_11_a_panic_in_the_work_is_passed_on_and_gives_the_lease_back_at_once
        case_11_a_panic_in_a_callback_is_told_and_does_not_end_leadership
        case_12_work_that_does_not_stop_keeps_the_lease_until_it_has_run_out
        case_14_leadership_is_over_before_a_slow_lost_callback_begins
    }
    unwell {
        case_13_a_leader_that_hangs_and_still_renews_gives_the_lease_back
    }
    [redis alone:
        herd {
            case_43_of_a_thousand_followers_one_is_woken_by_a_resignation_and_wins
        }
    ]
    [postgres alone:
        postgres_crowd {
            case_43_of_three_hundred_followers_with_few_connections_one_is_woken_and_wins
            case_47_those_who_come_and_go_behind_a_pooler_leave_no_answers_to_others
        }
        postgres_locks {
            case_55_a_row_that_somebody_keeps_locked_costs_one_election_and_no_other
            case_55_a_table_that_is_locked_for_a_while_costs_nothing
        }
    ]
}

tenure_testkit::roles! { "witness" => pauses::witness }
