//! Namespaces as other hosts: what a cut link does to real connections, and what is left of a namespace.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod cleaning;
mod link;
mod roles;
mod support;

tenure_testkit::roles! {
    "server" => roles::serve,
    "owner of a namespace" => roles::make_a_namespace,
    "asker" => roles::ask_whether_it_is_available,
}
