//! The list of all properties of jobs, as [`list`](super::list) has the others.

/// Calls the macro in brackets with every property of jobs, as `__conformance_properties` does.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_ledger_properties {
    ([$($then:tt)+] $($argument:tt)*) => {
        $($then)+! {
            $($argument)*
            ledger_open {
                a_new_job_begins_at_the_present
                jobs_are_answered_in_the_order_of_the_request
                opening_again_changes_nothing
                another_schedule_moves_the_mark_to_the_present
                another_schedule_never_moves_the_mark_back
                a_leader_whose_clock_is_ahead_decides_nothing_to_come
                a_job_that_is_left_out_is_kept
                too_many_jobs_change_nothing
                odd_names_and_schedules_are_kept_byte_by_byte_and_apart
            }
            ledger_claim {
                a_tick_beyond_the_mark_is_granted_and_moves_it
                a_tick_up_to_the_mark_is_refused
                a_claim_whose_reply_was_lost_is_granted_again
                a_claim_that_was_given_up_is_repeated
                a_run_that_ended_is_not_granted_again
                a_tick_that_was_passed_over_is_not_run
                ticks_that_were_missed_are_counted_once
                ticks_that_were_skipped_are_counted_apart
                a_job_that_was_not_opened_is_not_claimed
                a_tick_that_is_too_early_waits_for_its_time
                a_tick_may_be_a_little_early
                a_run_tells_who_began_it_and_when
                a_batch_of_claims_is_decided_in_its_order
                a_large_batch_of_claims_keeps_its_order
                claims_of_a_batch_do_not_depend_on_each_other
                an_empty_batch_of_claims_has_no_answers
            }
            ledger_holder {
                opening_needs_nonce_and_term
                claiming_needs_nonce_and_term
                whoever_does_not_lead_opens_and_claims_nothing
                an_expired_holder_opens_and_claims_nothing
                an_earlier_term_of_the_same_nonce_claims_nothing
                a_claim_of_ones_own_run_needs_the_lease_too
                claiming_prolongs_nothing
            }
            ledger_run {
                the_next_leader_learns_of_runs_without_an_end
                a_leader_that_comes_back_learns_of_its_own_runs
                a_run_without_an_end_is_taken_over_once
                a_run_that_was_taken_over_may_be_interrupted_again
                only_who_asks_for_it_takes_a_run_over
                what_was_never_run_is_not_run_again
                a_run_that_ended_is_not_taken_over
            }
            ledger_unbegun {
                the_next_leader_learns_of_ticks_that_were_given_back
                a_tick_that_was_given_back_is_run_again_once
                a_tick_that_was_given_back_has_not_fired
                a_tick_that_was_given_back_is_missed_until_it_is_run
                a_tick_may_be_given_back_again_and_again
                whoever_gave_a_tick_back_may_take_it_under_a_later_term_only
                only_who_asks_for_it_takes_a_tick_that_was_given_back
                giving_back_needs_nonce_and_term_of_the_run
                what_is_told_after_giving_back_or_before_counts_by_which_came_first
            }
            ledger_finish {
                an_end_needs_nonce_and_term_of_the_run
                an_end_may_be_told_when_the_lease_is_lost
                of_ends_told_twice_the_first_counts
                every_outcome_is_kept
                a_very_long_run_is_kept
                odd_failures_are_kept_byte_by_byte
                a_failure_may_say_anything
                a_large_batch_of_ends_is_answered_in_order
            }
            ledger_steer {
                a_job_that_is_paused_decides_nothing_until_it_is_resumed
                a_run_that_was_asked_for_is_remembered_until_one_begins
                orders_need_a_job_and_no_lease_and_concern_no_other
            }
            ledger_report {
                jobs_are_listed_in_order_of_their_names
                runs_are_listed_newest_first_up_to_the_limit
                only_the_latest_runs_are_kept
                a_job_that_was_forgotten_begins_anew
                forgetting_tells_whether_the_job_was_known
                forgetting_concerns_one_job
                looking_and_forgetting_need_no_lease
                jobs_outlive_the_handles_that_opened_them
            }
            ledger_apart {
                elections_and_namespaces_do_not_share_jobs
                a_ledger_disturbs_no_election
                jobs_and_messages_do_not_meet
                a_ledger_alone_makes_no_election
            }
            ledger_concurrency {
                concurrent_claims_of_one_tick_make_one_run
                a_tick_is_granted_once_while_leadership_changes
                concurrent_batches_raise_nothing
            }
        }
    };
}
