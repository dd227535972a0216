//! Those who listen to broadcasts through one handle, by election.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::Stream;
use tokio::sync::mpsc;

use super::{Broadcast, ElectionKey, Heard, StoreError};

/// All of them.
#[derive(Debug, Default)]
pub struct Audience {
    rooms: Mutex<BTreeMap<ElectionKey, Room>>,
}

/// Those who listen to one election.
#[derive(Debug, Default)]
struct Room {
    seats: Vec<Seat>,
    state: State,
}

/// Whether anything is heard in a room, as whoever comes in later has to know.
#[derive(Debug, Default, Clone)]
enum State {
    #[default]
    Waiting,
    Listening,
    Deaf(StoreError),
}

#[derive(Debug)]
struct Seat {
    sender: mpsc::Sender<Heard>,
    missed: u64,
}

/// What waits for a listener that does not keep up.
const WAITING_MAX: usize = 256;

impl Audience {
    /// Comes in. `on_leave` is dropped with the stream, after the seat is empty.
    pub fn join<T: Send + Unpin + 'static>(self: &Arc<Self>, key: &ElectionKey, on_leave: T) -> Listener<T> {
        let (sender, heard) = mpsc::channel(WAITING_MAX);
        let mut seat = Seat { sender, missed: 0 };
        let mut rooms = self.rooms();
        let room = rooms.entry(key.clone()).or_default();
        match &room.state {
            State::Waiting => {}
            State::Listening => seat.tell(Heard::Listening),
            State::Deaf(why) => seat.tell(Heard::Deaf(why.clone())),
        }
        room.seats.push(seat);
        Listener { heard: Some(heard), key: key.clone(), audience: Arc::clone(self), _on_leave: on_leave }
    }

    /// The elections that somebody listens to.
    pub fn elections(&self) -> Vec<ElectionKey> {
        self.rooms().keys().cloned().collect()
    }

    /// From now on everything that is broadcast to this election is [told](Self::tell).
    pub fn now_heard(&self, key: &ElectionKey) {
        let is_known = |state: &State| matches!(state, State::Listening);
        self.change(key, is_known, State::Listening, &Heard::Listening);
    }

    /// Nothing is heard of this election, until it is said [otherwise](Self::now_heard).
    pub fn deafened(&self, key: &ElectionKey, why: &StoreError) {
        let is_known = |state: &State| matches!(state, State::Deaf(known) if known.to_string() == why.to_string());
        self.change(key, is_known, State::Deaf(why.clone()), &Heard::Deaf(why.clone()));
    }

    /// The connection is gone. Whoever comes in now has to wait for another one.
    pub fn interrupted(&self) {
        for room in self.rooms().values_mut() {
            if matches!(room.state, State::Listening) {
                room.state = State::Waiting;
            }
        }
    }

    /// Somebody has said something.
    pub fn tell(&self, broadcast: Broadcast) {
        if let Some(room) = self.rooms().get_mut(&broadcast.key) {
            room.tell(&Heard::Broadcast(broadcast));
        }
    }

    /// What everybody knows already is not said again.
    fn change(&self, key: &ElectionKey, is_known: impl FnOnce(&State) -> bool, state: State, heard: &Heard) {
        if let Some(room) = self.rooms().get_mut(key)
            && !is_known(&room.state)
        {
            room.state = state;
            room.tell(heard);
        }
    }

    fn leave(&self, key: &ElectionKey) {
        let mut rooms = self.rooms();
        if let Some(room) = rooms.get_mut(key) {
            room.seats.retain(|seat| !seat.sender.is_closed());
            if room.seats.is_empty() {
                rooms.remove(key);
            }
        }
    }

    /// A panic elsewhere cannot have left it half changed: every step is made of plain assignments.
    fn rooms(&self) -> MutexGuard<'_, BTreeMap<ElectionKey, Room>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    fn tell(&mut self, heard: &Heard) {
        self.seats.iter_mut().for_each(|seat| seat.tell(heard.clone()));
    }
}

impl Seat {
    /// Never waits for a slow listener: it is told how much it has missed as soon as there is room.
    fn tell(&mut self, heard: Heard) {
        let needed = 1 + usize::from(self.missed > 0);
        if self.sender.capacity() < needed {
            self.missed += u64::from(matches!(heard, Heard::Broadcast(_)));
            return;
        }
        if self.missed > 0 {
            let _ = self.sender.try_send(Heard::Missed(std::mem::take(&mut self.missed)));
        }
        let _ = self.sender.try_send(heard);
    }
}

/// The stream of one listener, which never ends.
#[derive(Debug)]
pub struct Listener<T> {
    /// Gone when the seat is given up.
    heard: Option<mpsc::Receiver<Heard>>,
    key: ElectionKey,
    audience: Arc<Audience>,
    _on_leave: T,
}

impl<T: Unpin> Stream for Listener<T> {
    type Item = Heard;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Heard>> {
        match self.get_mut().heard.as_mut() {
            Some(heard) => heard.poll_recv(context),
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for Listener<T> {
    fn drop(&mut self) {
        self.heard = None;
        self.audience.leave(&self.key);
    }
}
