//! The lists of all properties: the tests and [`ALL`] are both made of one, so neither can lack what the other has.

use super::PropertyFn;

/// All properties of elections with their names, for programs that run them in their own way.
pub const ALL: &[(&str, PropertyFn)] = crate::__conformance_properties!([listed]);

/// Every property of messages with its name. A store that has a [mailbox](tenure_store::Store::mailbox) passes these,
/// too, if messages wait in it; one that only passes messages on needs tests of its own.
pub const MESSAGES: &[(&str, PropertyFn)] = crate::__conformance_message_properties!([listed]);

/// The properties of a store without a mailbox, instead of [`MESSAGES`]: that it has none.
pub const NO_MESSAGES: &[(&str, PropertyFn)] = crate::__conformance_no_message_properties!([listed]);

/// Every property of broadcasts with its name. A store that has [pub/sub](tenure_store::Store::pubsub) passes these,
/// too.
pub const BROADCASTS: &[(&str, PropertyFn)] = crate::__conformance_broadcast_properties!([listed]);

/// The properties of a store without pub/sub, instead of [`BROADCASTS`]: that it has none.
pub const NO_BROADCASTS: &[(&str, PropertyFn)] = crate::__conformance_no_broadcast_properties!([listed]);

/// All properties of jobs with their names. A store with a [ledger](tenure_store::Store::ledger) passes these, too.
pub const LEDGER: &[(&str, PropertyFn)] = crate::__conformance_ledger_properties!([listed]);

/// The properties of a store without a ledger, instead of [`LEDGER`]: that it has none.
pub const NO_LEDGER: &[(&str, PropertyFn)] = crate::__conformance_no_ledger_properties!([listed]);

/// Additional properties of a store whose leases end with the handle they were granted through.
pub const SESSIONS: &[(&str, PropertyFn)] = crate::__conformance_session_properties!([listed]);

/// Calls the macro in brackets with the arguments that follow and with every property by file and name. A function that
/// is missing here is dead code, and the compiler says so.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_properties {
    ([$($then:tt)+] $($argument:tt)*) => {
        $($then)+! {
            $($argument)*
            ambiguity {
                a_campaign_that_was_given_up_is_resolved_by_the_next
                a_campaign_that_was_given_up_can_be_withdrawn
                a_renewal_that_was_given_up_does_no_harm
                a_resignation_that_was_given_up_can_be_repeated
                a_repeated_resignation_disturbs_neither_reservation_nor_successor
                a_late_renewal_does_not_revive_a_resigned_term
                a_late_campaign_never_gets_a_term_back
            }
            batch {
                an_empty_batch_has_no_answers
                a_large_campaign_is_answered_in_order
                a_large_renewal_is_answered_in_order
                a_large_resignation_releases_each_lease
                rivals_in_one_batch_get_one_grant
                the_same_request_twice_in_one_batch_is_answered_twice
            }
            campaign {
                a_free_lease_is_granted
                a_held_lease_is_not_granted_to_another
                two_candidates_on_one_handle_are_rivals
                whoever_is_kept_out_learns_how_long_still
                waiting_for_as_long_as_one_is_told_is_enough
                a_lease_is_kept_until_its_last_moment
                an_expired_lease_is_granted_under_a_higher_term
                elections_do_not_disturb_each_other
                a_lease_outlives_the_handles_of_others
            }
            capabilities {
                capabilities_are_stated_in_a_sentence
                a_store_that_works_is_found_well
                an_examination_disturbs_no_election
            }
            concurrency {
                concurrent_campaigns_give_exactly_one_grant
                concurrent_first_campaigns_raise_nothing
                concurrent_take_overs_give_exactly_one_grant
                a_renewal_amid_campaigns_is_kept
            }
            elections {
                elections_are_listed_per_namespace_in_order
                an_election_is_listed_when_nobody_leads_any_more
                only_a_candidate_makes_an_election
                namespaces_do_not_meet
                no_name_reaches_into_another_namespace
            }
            forget {
                a_forgotten_election_leaves_nothing_but_the_height_of_its_terms
                an_election_in_use_is_not_forgotten
                only_what_was_not_used_for_so_long_is_forgotten
                what_was_never_led_is_unknown
            }
            handover {
                a_hand_over_request_reaches_the_next_renewal
                a_hand_over_request_tells_the_successor
                a_hand_over_request_takes_nothing_away
                a_hand_over_request_says_whether_there_is_a_leader
                a_hand_over_request_is_forgotten_with_the_term
                a_hand_over_request_without_a_leader_is_not_kept_for_the_next
                a_hand_over_request_concerns_one_election
            }
            history {
                history_tells_the_newest_first
                history_tells_why_leadership_began_and_ended
                history_tells_of_an_expiry_when_the_next_leader_comes
                history_stops_at_its_limit
                history_is_empty_before_the_first_leader
                history_belongs_to_one_election
                what_changes_no_leadership_makes_no_history
            }
            names {
                odd_election_names_are_kept_byte_by_byte_and_apart
                odd_namespaces_are_kept_byte_by_byte_and_apart
                odd_candidate_ids_are_kept_byte_by_byte
                a_successor_is_named_byte_by_byte
                large_metadata_survives
            }
            nonce {
                a_campaign_under_the_same_nonce_finds_its_grant
                finding_a_grant_again_prolongs_it
                a_grant_is_found_again_through_another_handle
                the_same_nonce_gets_a_new_term_once_its_lease_ran_out
                the_same_candidate_id_under_another_nonce_is_a_rival
                all_bits_of_a_nonce_count
                the_smallest_and_the_largest_nonce_are_kept
            }
            observe {
                an_unknown_election_is_observed_as_empty
                an_observer_sees_the_leader_and_its_metadata
                an_observer_sees_how_long_the_lease_still_runs
                an_observer_sees_who_stands_by
                observing_changes_nothing
                observations_keep_the_order_of_the_batch
            }
            raise_terms {
                terms_go_on_above_those_of_another_store
                an_election_that_is_yet_to_begin_begins_above
                terms_are_raised_in_a_whole_namespace
                raising_terms_disturbs_no_leader
                raising_terms_never_lowers_them
                what_was_raised_is_not_forgotten
                terms_are_not_raised_to_their_end
            }
            renew {
                a_renewed_lease_runs_from_its_renewal
                renewal_needs_nonce_and_term
                a_renewal_that_fails_prolongs_nothing
                an_expired_lease_is_not_renewed
                a_lease_that_another_took_is_not_renewed
                a_resigned_lease_is_not_renewed
                an_older_term_of_the_same_nonce_is_not_renewed
                renewing_in_an_unknown_election_is_no_error
                a_renewal_changes_nothing_but_the_time
            }
            resign {
                a_resigned_lease_is_free_at_once
                a_resignation_needs_nonce_and_term
                resigning_what_is_not_held_is_no_error_and_changes_nothing
                a_resignation_without_term_releases_what_the_nonce_owns
                a_resignation_without_term_releases_nothing_of_others
                a_stale_resignation_does_not_release_a_newer_term
                a_late_resignation_does_not_release_the_next_leader
                resigning_a_lease_that_ran_out_is_no_error
            }
            stand_by {
                whoever_is_kept_out_stands_by
                whoever_only_asks_does_not_stand_by
                asking_again_is_standing_by_once
                ranks_follow_the_order_of_arrival
                asking_again_keeps_ones_place
                keener_stand_bys_rank_first
                a_grant_ends_standing_by
                a_withdrawal_ends_standing_by
                standing_by_outlasts_a_change_of_leadership
                standing_by_ends_when_nothing_more_is_heard
                a_stand_by_that_lapsed_joins_at_the_end
            }
            successor {
                a_resignation_reserves_for_the_longest_waiting_stand_by
                keener_stand_bys_come_first
                a_named_successor_is_preferred
                a_named_successor_that_does_not_stand_by_gets_its_window_too
                a_named_successor_that_never_comes_costs_only_its_window
                a_reservation_is_kept_until_its_last_moment
                a_reservation_ends_after_its_window
                nobody_else_is_granted_a_reserved_lease
                a_reservation_is_not_a_lease
                a_reservation_ends_with_its_grant
                nothing_is_reserved_when_nobody_stands_by
                a_stand_by_that_withdrew_is_not_reserved_for
                a_successor_that_leaves_passes_the_lease_on
                a_stale_stand_by_is_not_reserved_for
                an_expiry_reserves_for_nobody
                a_successor_may_resign_in_turn
            }
            term {
                terms_grow_across_resign_and_expiry
                terms_grow_although_every_handle_is_closed
                the_last_term_is_remembered_when_nobody_leads
                a_campaign_in_vain_raises_no_term
            }
            ttl {
                the_holders_ttl_rules_not_the_challengers
                a_patient_challenger_need_not_wait_for_its_own_ttl
                a_challenge_does_not_shorten_or_prolong_the_lease
                a_very_long_ttl_is_kept
            }
            watch {
                a_resignation_is_hinted_to_the_successor
                a_resignation_is_hinted_to_the_third_in_line_too
                a_hand_over_request_is_hinted_to_the_leader
                a_grant_is_hinted_to_those_who_watch_everything
                a_resignation_is_hinted_to_those_who_watch_everything
                watching_takes_no_part
            }
        }
    };
}

/// The same for messages.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_message_properties {
    ([$($then:tt)+] $($argument:tt)*) => {
        $($then)+! {
            $($argument)*
            message_send {
                a_mailbox_is_described_in_a_sentence
                a_message_waits_until_somebody_leads
                a_message_reaches_whoever_leads_already
                a_message_outlives_the_handle_that_sent_it
                the_same_id_is_the_same_message
                the_same_id_in_another_election_is_another_message
                an_empty_batch_of_messages_has_no_answers
                messages_keep_their_order
                a_batch_of_messages_keeps_its_order
                a_batch_goes_to_several_elections
                concurrent_senders_lose_nothing
                elections_and_namespaces_do_not_share_messages
                a_full_line_refuses_more
                messages_alone_make_no_election
                an_election_that_messages_wait_for_is_not_forgotten
                messages_disturb_no_election
            }
            message_text {
                odd_payloads_are_kept_byte_by_byte
                the_largest_payload_is_kept_and_a_larger_one_refused
                odd_channels_are_kept_byte_by_byte_and_apart
                odd_senders_are_kept_byte_by_byte_and_apart
                odd_reasons_are_kept
                all_bits_of_an_id_count
            }
            message_receive {
                only_the_channels_asked_for_are_received
                lines_that_are_held_back_are_left_out
                a_line_that_is_held_back_leaves_room_for_others
                receiving_stops_at_its_limit
                receiving_takes_nothing_away
                receiving_needs_nonce_and_term
                whoever_does_not_lead_receives_nothing
                an_expired_holder_receives_nothing
                receiving_prolongs_nothing
            }
            message_settle {
                a_message_that_was_handled_is_gone
                settling_needs_nonce_and_term
                an_expired_holder_settles_nothing
                a_stale_leader_settles_nothing
                an_earlier_term_of_the_same_nonce_settles_nothing
                the_next_leader_receives_what_was_not_settled
                a_failed_message_keeps_its_place
                attempts_and_reasons_outlast_the_leader
                a_failure_told_twice_counts_once
                settling_what_is_gone_changes_nothing
                many_messages_are_settled_at_once
            }
            message_dead_letters {
                a_dead_letter_is_kept_but_not_received
                a_dead_letter_is_not_sent_again
                dead_letters_are_listed_in_the_order_of_their_acks
                what_is_put_back_goes_to_the_end_as_new
                some_may_be_put_back_by_id
                putting_back_concerns_one_election
                lists_stop_at_their_limit
                only_the_newest_dead_letters_are_kept
            }
            message_count {
                messages_to_elections_that_nobody_led_are_counted
                dead_letters_are_counted_and_what_was_handled_is_not
            }
            message_watch {
                a_message_is_hinted_to_the_leader
                a_message_put_back_is_hinted_to_the_leader
                watching_messages_takes_no_part
            }
        }
    };
}

/// The same for stores without a mailbox.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_no_message_properties {
    ([$($then:tt)+] $($argument:tt)*) => {
        $($then)+! {
            $($argument)*
            no_messages {
                there_is_no_mailbox
            }
        }
    };
}

/// The same for broadcasts.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_broadcast_properties {
    ([$($then:tt)+] $($argument:tt)*) => {
        $($then)+! {
            $($argument)*
            broadcast {
                pubsub_states_its_promises_in_a_sentence
                a_broadcast_reaches_every_listener
                whoever_says_it_hears_it_too
                leaders_and_followers_hear_it
                a_broadcast_stays_in_its_election
                nothing_is_kept_for_those_who_come_later
                whoever_has_left_hears_nothing_of_what_was_said_meanwhile
                a_batch_of_broadcasts_is_heard_in_order
                one_after_the_other_is_heard_in_order
                each_broadcast_is_heard_once
                the_same_said_twice_is_heard_twice
                that_nobody_listens_is_no_error
                broadcasts_alone_make_no_election
                broadcasts_disturb_no_election
                listening_takes_no_part
            }
            broadcast_text {
                odd_payloads_are_heard_byte_by_byte
                the_largest_broadcast_is_heard_and_a_larger_one_refused
                odd_channels_and_senders_are_heard_byte_by_byte
                odd_elections_are_listened_to_apart
                all_bits_of_the_id_of_a_broadcast_count
            }
        }
    };
}

/// The same for stores without pub/sub.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_no_broadcast_properties {
    ([$($then:tt)+] $($argument:tt)*) => {
        $($then)+! {
            $($argument)*
            no_broadcasts {
                there_is_no_pubsub
            }
        }
    };
}

/// The same for stores without a ledger.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_no_ledger_properties {
    ([$($then:tt)+] $($argument:tt)*) => {
        $($then)+! {
            $($argument)*
            no_ledger {
                there_is_no_ledger
            }
        }
    };
}

/// The same for stores whose leases end with their handle.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_session_properties {
    ([$($then:tt)+] $($argument:tt)*) => {
        $($then)+! {
            $($argument)*
            session {
                a_handle_that_is_gone_frees_its_leases
                a_handle_that_is_gone_takes_nothing_from_others
                terms_grow_when_handles_come_and_go
            }
        }
    };
}

/// One test per property.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_test {
    (($fixture:expr) $($file:ident { $($property:ident)+ })+) => {
        $($(
            #[test]
            fn $property() {
                $crate::run(stringify!($property), || $fixture);
            }
        )+)+
    };
}

macro_rules! listed {
    ($($file:ident { $($property:ident)+ })+) => {
        &[$($(
            (stringify!($property), |fixture| Box::pin(super::$file::$property(fixture))),
        )+)+]
    };
}

use listed;
