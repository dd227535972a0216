//! What `tenure doctor` is told about a server.

use super::super::Finding;
use super::desk::Desk;

pub(super) async fn examine(desk: &Desk) -> Vec<Finding> {
    vec![Finding::good("reach", desk.place())]
}
