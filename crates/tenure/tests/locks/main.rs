//! What is promised of locks, on every store: one function per property, which runs unchanged on each of them.

#![allow(clippy::panic, clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

mod empty_store;
mod exclusion;
mod line;
mod loss;

/// Makes one test of each property on each store. Those in `[in a line: …]` need a store that knows who stands by.
macro_rules! on_every_store {
    (
        $($file:ident { $($property:ident)+ })+
        [in a line: $($line_file:ident { $($line_property:ident)+ })+]
    ) => {
        on_every_store! { @lists [memory sqlite redis postgres]
            [$($($file $property,)+)+ $($($line_file $line_property,)+)+] }
        on_every_store! { @lists [advisory] [$($($file $property,)+)+] }
    };
    (@lists [$($store:ident)+] $properties:tt) => {
        $(on_every_store! { @store $store $properties })+
    };
    (@store $store:ident [$($file:ident $property:ident,)+]) => {
        mod $store {
            $(
                #[test]
                fn $property() {
                    super::$file::$property(&super::empty_store::$store());
                }
            )+
        }
    };
}

on_every_store! {
    exclusion {
        one_holder_at_a_time_and_terms_that_grow
        trying_takes_what_is_free_and_never_waits
        a_release_lets_the_next_one_in_long_before_the_lease_would_have_run_out
        locks_of_other_names_and_namespaces_are_others
    }
    line {
        a_wait_has_a_limit
    }
    loss {
        work_is_told_when_the_lock_is_lost_and_dropped_when_it_does_not_end
        a_lost_lock_is_somebody_elses_only_after_its_guard_is_gone
    }
    [in a line:
        line {
            waiters_are_served_in_order_of_arrival
            whoever_stops_waiting_is_not_served
            whoever_tries_stands_in_no_line
            whoever_gives_up_leaves_the_line_however_many_do
        }
    ]
}
