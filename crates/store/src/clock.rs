//! The clock every trust window is counted on.

use std::fmt;
use std::os::fd::OwnedFd;
use std::pin::pin;
#[cfg(feature = "testing")]
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::{Either, select};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_create,
    timerfd_settime,
};
use tenure_core::Instant;
use tokio::io::unix::AsyncFd;

#[cfg(feature = "testing")]
use crate::testing::{Deadline, VirtualClock};

/// A clock that shows the time and waits for deadlines.
///
/// Outside of tests this is `CLOCK_BOOTTIME`, which goes on counting while the machine is suspended: a lease runs out
/// in a closed laptop, too.
#[derive(Clone, Default)]
pub struct Clock(ClockSource);

#[derive(Clone, Default)]
enum ClockSource {
    #[default]
    Boottime,
    #[cfg(feature = "testing")]
    Virtual(Arc<VirtualClock>),
}

impl Clock {
    /// The machine's own clock.
    #[must_use]
    pub fn boottime() -> Self {
        Self(ClockSource::Boottime)
    }

    /// A virtual clock, which stands still until a test moves it.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn controlled_by(clock: &Arc<VirtualClock>) -> Self {
        Self(ClockSource::Virtual(Arc::clone(clock)))
    }

    /// The clock that a test moves, if this is controlled by one.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn virtual_clock(&self) -> Option<&Arc<VirtualClock>> {
        match &self.0 {
            ClockSource::Boottime => None,
            ClockSource::Virtual(clock) => Some(clock),
        }
    }

    /// Returns the time now.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Instant {
        match &self.0 {
            ClockSource::Boottime => boottime(),
            #[cfg(feature = "testing")]
            ClockSource::Virtual(clock) => clock.now(),
        }
    }

    /// The wall clock in milliseconds since the Unix epoch. It may be set forward or back; no lease depends on it.
    #[must_use]
    pub fn unix_ms(&self) -> u64 {
        match &self.0 {
            ClockSource::Boottime => unix_ms(),
            #[cfg(feature = "testing")]
            ClockSource::Virtual(clock) => clock.unix_ms(),
        }
    }

    /// Returns whether this is the machine's own clock.
    #[must_use]
    pub fn is_boottime(&self) -> bool {
        match &self.0 {
            ClockSource::Boottime => true,
            #[cfg(feature = "testing")]
            ClockSource::Virtual(_) => false,
        }
    }

    /// Completes when the time has come. Safe to cancel.
    pub async fn sleep_until(&self, at: Instant) {
        match &self.0 {
            ClockSource::Boottime => tokio::time::sleep(at.saturating_since(boottime())).await,
            #[cfg(feature = "testing")]
            ClockSource::Virtual(clock) => clock.sleep_until(at).await,
        }
    }

    /// Waits for a future, up to this long. Cancel safe if the future is.
    pub async fn within<T>(&self, limit: Duration, future: impl Future<Output = T>) -> Option<T> {
        match select(pin!(future), pin!(self.sleep_until(self.now() + limit))).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => None,
        }
    }

    /// A timer for deadlines on this clock. It must be created on a runtime with I/O.
    ///
    /// # Errors
    /// When the system has no timer or no descriptor left.
    pub fn alarm(&self) -> std::io::Result<Alarm> {
        Ok(Alarm(match &self.0 {
            ClockSource::Boottime => {
                let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
                AlarmSource::Timer(tenure_sys::async_fd(timerfd_create(TimerfdClockId::Boottime, flags)?)?)
            }
            #[cfg(feature = "testing")]
            ClockSource::Virtual(clock) => AlarmSource::Virtual(Deadline::new(clock)),
        }))
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            ClockSource::Boottime => "Clock(boottime)",
            #[cfg(feature = "testing")]
            ClockSource::Virtual(_) => "Clock(virtual)",
        })
    }
}

/// The wall clock in milliseconds since the Unix epoch; no lease ever depends on it.
pub fn unix_ms() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}

/// Waits for deadlines that must not be missed because of a suspend.
///
/// Timers of the async runtime count `CLOCK_MONOTONIC`, which stands still in a suspend: a deadline that passed in
/// there would come late by all the time slept. A timerfd on `CLOCK_BOOTTIME` fires at once on resume.
#[derive(Debug)]
pub struct Alarm(AlarmSource);

#[derive(Debug)]
enum AlarmSource {
    Timer(AsyncFd<OwnedFd>),
    #[cfg(feature = "testing")]
    Virtual(Deadline),
}

impl Alarm {
    /// Completes when the time has come; never if there is no deadline. Safe to cancel.
    pub async fn wait_until(&mut self, at: Option<Instant>) {
        match &mut self.0 {
            AlarmSource::Timer(timer) => {
                let Some(at) = at else { return std::future::pending().await };
                if timerfd_settime(&*timer, TimerfdTimerFlags::ABSTIME, &once_at(at)).is_ok()
                    && let Ok(mut ready) = timer.readable().await
                {
                    ready.clear_ready();
                }
            }
            #[cfg(feature = "testing")]
            AlarmSource::Virtual(deadline) => deadline.wait_until(at).await,
        }
    }
}

#[inline]
fn boottime() -> Instant {
    let time = clock_gettime(ClockId::Boottime);
    let (seconds, nanos) = (time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs());
    Instant::from_nanos(seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos))
}

fn once_at(at: Instant) -> Itimerspec {
    // A timer set to zero would be disarmed instead of firing.
    let nanos = at.as_nanos().max(1);
    let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let at = Timespec { tv_sec: seconds.try_into().unwrap_or(i64::MAX), tv_nsec: rest.try_into().unwrap_or(0) };
    Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at }
}
