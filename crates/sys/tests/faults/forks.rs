//! What a forked child believes of the elections of its parent.

use std::time::Duration;

use tenure::Error;
use tenure::blocking::Client;
use tenure_testkit::running_store::RunningStore;
use tenure_testkit::stores::Backend;

use super::child::exit_code_of_fork;

/// One bit per statement that should hold and does not.
fn broken(statements: &[bool]) -> u8 {
    statements.iter().enumerate().map(|(bit, holds)| u8::from(!holds) << bit).sum()
}

pub(crate) fn case_18_a_forked_child_never_leads_and_never_waits(store: &dyn Backend) {
    never_leads_and_never_waits(&RunningStore::on(store)).unwrap();
}

fn never_leads_and_never_waits(store: &RunningStore) -> Result<(), Error> {
    let tenure = Client::open(&store.url())?;
    let candidacy = tenure.election("x")?.candidate().start()?;
    let leadership = candidacy.elected()?;
    let work = leadership.begin_work();
    assert!(candidacy.is_leader() && leadership.is_valid() && work.is_some());

    let code = exit_code_of_fork(|| {
        broken(&[!candidacy.is_leader(), !leadership.is_valid(), leadership.begin_work().is_none()])
    });
    assert_eq!(code, 0, "it believes that it leads");

    let code = exit_code_of_fork(|| {
        leadership.wait_cancelled();
        candidacy.stop();
        broken(&[
            leadership.is_cancelled(),
            leadership.remaining() == Duration::ZERO,
            candidacy.leadership().is_none(),
            candidacy.run_if_leader(|_| ()).is_none(),
            matches!(candidacy.elected(), Err(Error::Stopped)),
            matches!(candidacy.resign(), Err(Error::NotLeading)),
            matches!(candidacy.current_leader(), Err(Error::Driver(_))),
            matches!(tenure.election("y").and_then(|builder| builder.candidate().start()), Err(Error::Driver(_))),
        ])
    });
    assert_eq!(code, 0, "it waits for what cannot come");

    assert!(candidacy.is_leader() && leadership.is_valid(), "the parent goes on");
    let leader = candidacy.current_leader()?;
    assert_eq!(leader.map(|leader| leader.term), Some(leadership.term()));
    Ok(())
}

pub(crate) fn case_18_dropping_what_a_forked_child_inherited_changes_nothing_for_the_parent(store: &dyn Backend) {
    dropping_changes_nothing(&RunningStore::on(store)).unwrap();
}

fn dropping_changes_nothing(store: &RunningStore) -> Result<(), Error> {
    let tenure = Client::open(&store.url())?;
    let candidacy = tenure.election("x")?.candidate().start()?;
    let leadership = candidacy.elected()?;
    let inherited = std::cell::RefCell::new(Some((candidacy, leadership.begin_work())));
    assert_eq!(exit_code_of_fork(|| u8::from(inherited.take().is_none())), 0);
    let (candidacy, _work) = inherited.take().ok_or(Error::Stopped)?;
    assert!(candidacy.is_leader());
    assert_eq!(candidacy.current_leader()?.map(|leader| leader.term), Some(leadership.term()));
    Ok(())
}
