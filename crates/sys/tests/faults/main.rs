//! What befalls a process that forks, on every store. It stands here because forking takes unsafe code.

#![allow(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

mod child;
mod forks;
mod gauges;

tenure_testkit::fault_cases! {
    forks {
        case_18_a_forked_child_never_leads_and_never_waits
        case_18_dropping_what_a_forked_child_inherited_changes_nothing_for_the_parent
    }
}
