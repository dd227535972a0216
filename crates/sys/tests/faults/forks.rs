//! What a forked child believes of the elections of its parent.

use std::time::Duration;

use tenure::{Client, Error};
use tenure_testkit::place::TestPlace;
use tenure_testkit::stores::Backend;

use super::child::exit_code_of_fork;

/// One bit per statement that should hold and does not.
fn broken(statements: &[bool]) -> u8 {
    statements.iter().enumerate().map(|(bit, holds)| u8::from(!holds) << bit).sum()
}

pub(crate) fn case_18_a_forked_child_never_leads_and_never_waits(store: &dyn Backend) {
    never_leads_and_never_waits(&TestPlace::on(store)).unwrap();
}

fn never_leads_and_never_waits(place: &TestPlace) -> Result<(), Error> {
    let tenure = Client::open(&place.url())?;
    let election = tenure.election("x")?.candidate().start()?;
    let leadership = election.wait_elected()?;
    let work = leadership.begin_work();
    assert!(election.is_leader() && leadership.is_valid() && work.is_some());

    let code = exit_code_of_fork(|| {
        broken(&[!election.is_leader(), !leadership.is_valid(), leadership.begin_work().is_none()])
    });
    assert_eq!(code, 0, "it believes that it leads");

    let code = exit_code_of_fork(|| {
        leadership.wait_cancelled();
        election.stop_blocking();
        broken(&[
            leadership.is_cancelled(),
            leadership.remaining() == Duration::ZERO,
            election.leadership().is_none(),
            election.run_if_leader(|_| ()).is_none(),
            matches!(election.wait_elected(), Err(Error::Stopped)),
            matches!(election.resign_blocking(), Err(Error::NotLeading)),
            matches!(election.current_leader_blocking(), Err(Error::Driver(_))),
            matches!(tenure.election("y").and_then(|builder| builder.candidate().start()), Err(Error::Driver(_))),
        ])
    });
    assert_eq!(code, 0, "it waits for what cannot come");

    assert!(election.is_leader() && leadership.is_valid(), "the parent goes on");
    let leader = election.current_leader_blocking()?;
    assert_eq!(leader.map(|leader| leader.term), Some(leadership.term()));
    Ok(())
}

pub(crate) fn case_18_dropping_what_a_forked_child_inherited_changes_nothing_for_the_parent(store: &dyn Backend) {
    dropping_changes_nothing(&TestPlace::on(store)).unwrap();
}

fn dropping_changes_nothing(place: &TestPlace) -> Result<(), Error> {
    let tenure = Client::open(&place.url())?;
    let election = tenure.election("x")?.candidate().start()?;
    let leadership = election.wait_elected()?;
    let inherited = std::cell::RefCell::new(Some((election, leadership.begin_work())));
    assert_eq!(exit_code_of_fork(|| u8::from(inherited.take().is_none())), 0);
    let (election, _work) = inherited.take().ok_or(Error::Stopped)?;
    assert!(election.is_leader());
    assert_eq!(election.current_leader_blocking()?.map(|leader| leader.term), Some(leadership.term()));
    Ok(())
}
