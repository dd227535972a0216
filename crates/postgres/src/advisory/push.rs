//! Hints and broadcasts: what the session hears, and what the watchman sees.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tenure_core::record::RESERVATION;
use tenure_store::remote::hub::{Ear, Hub, Source};
use tenure_store::{ElectionKey, Hint, Interest};

use super::super::bulletin::Attendance;
use super::bulletin::PLACE;
use super::notice::Notice;
use super::office::Office;
use super::session::{Heard, LockSession};
use super::watchman;

/// Those who watch.
pub(super) type Push = Hub<Voice>;

/// Where hints come from. It does not keep the session: that ends with the handle.
pub(super) struct Voice {
    office: Weak<Office>,
}

/// All who stand by look who leads, after a change, but not all at once.
const SPREAD: Duration = Duration::from_secs(1);
/// How long those who were not woken by the end of a leader wait for the word of the next one, before they look for
/// themselves: longer than it takes to lead for whoever was woken, and not all of them equally long.
const MISSED: Duration = Duration::from_millis(500);
/// A server that takes longer to confirm that it will tell of broadcasts is asked again.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// How long those who stand by let the one of them go first that the server has woken. It is less than what a priority counts.
const COURTESY: Duration = Duration::from_millis(15);

impl Voice {
    pub(super) fn new(office: Weak<Office>) -> Self {
        Self { office }
    }
}

impl Source for Voice {
    async fn listen(&self, ear: &Ear) -> bool {
        let Some(office) = self.office.upgrade() else { return false };
        let Ok(session) = office.session().await else { return false };
        drop(office);
        ear.now_heard(Interest::Own);
        tokio::select! {
            () = self.hear(&session, ear) => {}
            () = watchman::watch(&self.office, ear) => {}
        }
        // Whatever the session held is lost, and whoever trusts in it must hear of it now.
        ear.deafened();
        ear.tell(Interest::Own, Hint::anywhere());
        true
    }
}

impl Voice {
    /// Until the session ends, or nobody watches.
    async fn hear(&self, session: &Arc<LockSession>, ear: &Ear) {
        let mut wanted = ear.wanted();
        let mut told = Vec::new();
        let mut broadcasts = Attendance::default();
        let mut missed = Missed::default();
        loop {
            let now_wanted = *wanted.borrow_and_update();
            for interest in [Interest::All, Interest::Messages] {
                if now_wanted.wants(interest) && !told.contains(&interest) {
                    ear.now_heard(interest);
                }
            }
            told = [Interest::All, Interest::Messages].into_iter().filter(|what| now_wanted.wants(*what)).collect();
            if !attend(session, ear, &mut broadcasts).await {
                return;
            }
            tokio::select! {
                heard = session.hear() => match heard {
                    Some(Heard::Notice(from, notice)) => self.pass_on(session, ear, from, &notice, &mut missed),
                    Some(Heard::Letter(key)) => ear.tell(Interest::Messages, Hint::at(key)),
                    Some(Heard::Broadcast(channel, payload)) => {
                        broadcasts.pass_on(&channel, &payload, ear.audience());
                    }
                    None => return,
                },
                (holder, key) = missed.next() => self.look_after(ear, holder, &key),
                changed = wanted.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Nobody has told that it leads, and somebody here still waits for whoever is gone.
    fn look_after(&self, ear: &Ear, holder: i32, key: &ElectionKey) {
        let Some(office) = self.office.upgrade() else { return };
        if office.standing().waiting_for(holder, office.clock.now()).contains(key) {
            ear.tell(Interest::Own, Hint::at(key.clone()));
        }
    }

    fn pass_on(&self, session: &LockSession, ear: &Ear, from: i32, notice: &Notice, missed: &mut Missed) {
        let Some(office) = self.office.upgrade() else { return };
        if let Some(key) = notice.key() {
            office.standing().heard_of(key);
        }
        let waits = |key, successor| office.standing().waits(key, successor, office.clock.now());
        match notice {
            Notice::Freed(key, successor) => {
                if office.standing().given_back(key, from) {
                    ear.tell(Interest::Own, Hint::at(key.clone()));
                }
                if let Some(is_first) = waits(key, successor.as_ref()) {
                    let is_others = office.standing().was_watched(key) && !office.posts.is_waiting_for(from);
                    let after = match (is_first, successor) {
                        (false, _) => RESERVATION,
                        // One of all who stand by was woken by the server: it goes first, and the others see who leads.
                        (true, None) if is_others => COURTESY.mul_f64(1.0 + part()),
                        (true, _) => Duration::ZERO,
                    };
                    ear.tell(Interest::Own, Hint { key: Some(key.clone()), after });
                }
                ear.tell(Interest::All, Hint::at(key.clone()));
            }
            Notice::Led(key) => {
                missed.forget(key);
                if waits(key, None).is_some() {
                    let after = SPREAD.mul_f64(part().max(0.01));
                    ear.tell(Interest::Own, Hint { key: Some(key.clone()), after });
                }
                ear.tell(Interest::All, Hint::at(key.clone()));
            }
            Notice::Gone(holder) => {
                let keys = office.standing().waiting_for(*holder, office.clock.now());
                missed.add(*holder, keys);
            }
            Notice::Unwatched(holder) => {
                let lock = office.standing().lock_of(*holder, office.clock.now());
                if let Some((id, ttl)) = lock {
                    office.posts.add(*holder, id, ttl, SPREAD);
                }
            }
            Notice::Asked(key, ..) => {
                let id = super::super::identifier::lock_id(key);
                let is_held_here = session.book().holder(id, session.now()).is_some();
                if is_held_here {
                    ear.tell(Interest::Own, Hint::at(key.clone()));
                }
            }
        }
    }
}

/// Elections whose leader is gone, and when to look for the next one if it has not told by then.
#[derive(Default)]
struct Missed {
    due: Vec<(tokio::time::Instant, i32, ElectionKey)>,
}

impl Missed {
    /// Each of those who waited tells of it; once is enough.
    fn add(&mut self, holder: i32, keys: Vec<ElectionKey>) {
        let at = tokio::time::Instant::now() + MISSED.mul_f64(1.0 + part());
        for key in keys {
            if !self.due.iter().any(|(_, known, known_key)| *known == holder && *known_key == key) {
                self.due.push((at, holder, key));
            }
        }
    }

    fn forget(&mut self, key: &ElectionKey) {
        self.due.retain(|(.., known)| known != key);
    }

    /// The next one that is due; never while there is none. Cancel safe.
    async fn next(&mut self) -> (i32, ElectionKey) {
        let Some(place) = (0..self.due.len()).min_by_key(|place| self.due[*place].0) else {
            return std::future::pending().await;
        };
        tokio::time::sleep_until(self.due[place].0).await;
        let (_, holder, key) = self.due.swap_remove(place);
        (holder, key)
    }
}

/// Any number from 0 to 1.
pub(super) fn part() -> f64 {
    f64::from(getrandom::u32().unwrap_or_default()) / f64::from(u32::MAX)
}

/// Asks for the broadcasts that somebody listens to, and for no others. Returns whether the session can still be used.
async fn attend(session: &LockSession, ear: &Ear, broadcasts: &mut Attendance) -> bool {
    while let Some(change) = broadcasts.change(PLACE, ear.audience()) {
        let made = tokio::time::timeout(ANSWER_TIMEOUT, session.run(&change.sql)).await;
        if !matches!(made, Ok(Ok(()))) {
            return false;
        }
        broadcasts.changed(change, ear.audience());
    }
    true
}
