//! Properties that need a feature which not every store has.

use tenure_store::{Capabilities, Feature};

use super::{ALL, PropertyFn};

/// The properties in [`ALL`] that a store with these capabilities has to pass.
pub fn expected_of(capabilities: &Capabilities) -> impl Iterator<Item = &'static (&'static str, PropertyFn)> {
    let lacks = capabilities.lacks;
    ALL.iter().filter(move |(name, _)| missing(name, lacks).is_none())
}

/// The properties in [`ALL`] that a store with these capabilities need not pass, and the missing feature for each.
pub fn left_out(capabilities: &Capabilities) -> impl Iterator<Item = (&'static str, Feature)> {
    let lacks = capabilities.lacks;
    ALL.iter().filter_map(move |(name, _)| Some((*name, missing(name, lacks)?)))
}

fn missing(name: &str, lacks: &[Feature]) -> Option<Feature> {
    let needed = NEEDS.iter().filter(|(_, names)| names.contains(&name)).map(|(feature, _)| *feature);
    needed.into_iter().find(|feature| lacks.contains(feature))
}

/// What is not here needs nothing but the lease itself. A property may need several things.
const NEEDS: &[(Feature, &[&str])] = &[
    (
        Feature::Deadlines,
        &[
            "whoever_is_kept_out_learns_how_long_still",
            "waiting_for_as_long_as_one_is_told_is_enough",
            "an_observer_sees_the_leader_and_its_metadata",
            "an_observer_sees_how_long_the_lease_still_runs",
            "a_patient_challenger_need_not_wait_for_its_own_ttl",
            "a_challenge_does_not_shorten_or_prolong_the_lease",
            "a_very_long_ttl_is_kept",
        ],
    ),
    (Feature::Labels, &["a_large_campaign_is_answered_in_order"]),
    (Feature::Metadata, &["an_observer_sees_the_leader_and_its_metadata", "large_metadata_survives"]),
    (
        Feature::StandBys,
        &[
            "a_repeated_resignation_disturbs_neither_reservation_nor_successor",
            "odd_candidate_ids_are_kept_byte_by_byte",
            "a_successor_is_named_byte_by_byte",
            "an_observer_sees_who_stands_by",
            "whoever_is_kept_out_stands_by",
            "asking_again_is_standing_by_once",
            "ranks_follow_the_order_of_arrival",
            "asking_again_keeps_ones_place",
            "keener_stand_bys_rank_first",
            "a_grant_ends_standing_by",
            "a_withdrawal_ends_standing_by",
            "standing_by_outlasts_a_change_of_leadership",
            "standing_by_ends_when_nothing_more_is_heard",
            "a_stand_by_that_lapsed_joins_at_the_end",
            "a_resignation_reserves_for_the_longest_waiting_stand_by",
            "keener_stand_bys_come_first",
            "a_named_successor_is_preferred",
            "a_named_successor_that_does_not_stand_by_gets_its_window_too",
            "a_named_successor_that_never_comes_costs_only_its_window",
            "a_reservation_is_kept_until_its_last_moment",
            "a_reservation_ends_after_its_window",
            "nobody_else_is_granted_a_reserved_lease",
            "a_reservation_is_not_a_lease",
            "a_reservation_ends_with_its_grant",
            "a_stand_by_that_withdrew_is_not_reserved_for",
            "a_successor_that_leaves_passes_the_lease_on",
            "a_stale_stand_by_is_not_reserved_for",
            "a_successor_may_resign_in_turn",
        ],
    ),
    (
        Feature::Records,
        &[
            "an_election_is_listed_when_nobody_leads_any_more",
            "the_last_term_is_remembered_when_nobody_leads",
            "a_forgotten_election_leaves_nothing_but_the_height_of_its_terms",
            "an_election_in_use_is_not_forgotten",
            "only_what_was_not_used_for_so_long_is_forgotten",
            "what_was_never_led_is_unknown",
            "terms_go_on_above_those_of_another_store",
            "an_election_that_is_yet_to_begin_begins_above",
            "terms_are_raised_in_a_whole_namespace",
            "raising_terms_disturbs_no_leader",
            "raising_terms_never_lowers_them",
            "what_was_raised_is_not_forgotten",
        ],
    ),
    (
        Feature::History,
        &[
            "odd_candidate_ids_are_kept_byte_by_byte",
            "history_tells_the_newest_first",
            "history_tells_why_leadership_began_and_ended",
            "history_tells_of_an_expiry_when_the_next_leader_comes",
            "history_stops_at_its_limit",
            "history_belongs_to_one_election",
            "what_changes_no_leadership_makes_no_history",
        ],
    ),
    (Feature::Handles, &["a_grant_is_found_again_through_another_handle"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_properties_that_exist_need_something() {
        for (feature, names) in NEEDS {
            for name in *names {
                assert!(ALL.iter().any(|(known, _)| known == name), "{feature:?}: {name}");
            }
        }
    }

    #[test]
    fn whoever_lacks_nothing_passes_everything() {
        let lacking = |lacks| ALL.iter().filter(|(name, _)| missing(name, lacks).is_some()).count();
        assert_eq!(lacking(&[]), 0);
        assert_eq!(lacking(&[Feature::Handles]), 1);
    }
}
