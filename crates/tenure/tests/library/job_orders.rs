//! What somebody wants of a job, whoever leads.

use tenure::cron::Missed;

use crate::job_support::{MINUTE, Notes, SECOND, minutely, pair, report};
use crate::support::{Lab, elected, eventually};

#[test]
fn ticks_of_a_pause_are_missed_and_follow_the_policy_when_it_ends() {
    for (missed, expected) in
        [(Missed::Skip, vec![60]), (Missed::Once, vec![60, 180]), (Missed::All, vec![60, 120, 180])]
    {
        let (lab, notes) = (Lab::new(), Notes::default());
        let _election = elected(lab.candidate("a").job(minutely().missed(missed), notes.handler()));
        lab.pass(MINUTE);
        notes.wait_for(1);
        eventually("the end", || report(&lab).unwrap().runs.iter().all(|run| run.end.is_some()));
        assert!(lab.client.election("x").unwrap().pause_job("report").unwrap());
        lab.pass(MINUTE * 2 + SECOND * 5);
        assert_eq!(notes.ticks(), [60], "{missed}");
        assert!(lab.client.election("x").unwrap().resume_job("report").unwrap());
        lab.pass(SECOND * 15);
        notes.wait_for(expected.len());
        assert_eq!(notes.ticks(), expected, "{missed}");
        eventually("every tick to be counted", || report(&lab).unwrap().missed + expected.len() as u64 == 3);
    }
}

#[test]
fn a_pause_lasts_longer_than_the_leader() {
    let notes = Notes::default();
    let (lab, leader, rival, _follower) = pair(&minutely(), &notes);
    lab.pass(MINUTE);
    notes.wait_for(1);
    assert!(lab.client.election("x").unwrap().pause_job("report").unwrap());
    leader.stop();
    rival.pass(MINUTE * 2);
    assert_eq!(notes.ticks(), [60]);
    assert!(report(&rival).unwrap().paused_at_unix_ms.is_some());
}

#[test]
fn a_run_that_was_asked_for_comes_once_and_moves_no_tick() {
    let (lab, notes) = (Lab::new(), Notes::default());
    let _election = elected(lab.candidate("a").job(minutely(), notes.handler()));
    lab.pass(SECOND * 65);
    notes.wait_for(1);
    assert!(lab.client.election("x").unwrap().run_job_now("report").unwrap());
    assert!(report(&lab).unwrap().requested.is_some());
    lab.pass(SECOND * 20);
    notes.wait_for(2);
    let asked = notes.ticks()[1];
    assert!((65..=85).contains(&asked), "{asked}");
    assert_eq!(report(&lab).unwrap().requested, None);
    lab.pass(SECOND * 40);
    notes.wait_for(3);
    assert_eq!(notes.ticks(), [60, asked, 120]);
    assert!(!lab.client.election("x").unwrap().run_job_now("other").unwrap());
}
