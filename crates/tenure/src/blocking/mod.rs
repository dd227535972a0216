//! The same API for plain threads: types and methods are named as their async counterparts and block the calling thread.
//!
//! No async runtime is needed, neither around these types nor beside them. Each type wraps its counterpart: `From` and
//! `into_inner` convert between the two, and `as_ref` and `as_mut` borrow the async one.
//!
//! [`Leadership`](crate::Leadership), [`JobRun`](crate::cron::JobRun) and [`Delivery`](crate::Delivery) are shared by both,
//! because callbacks run on threads of their own in both.
//!
//! ```
//! use tenure::blocking::Client;
//!
//! let client = Client::open("memory:")?; // sqlite:PATH lets the processes of one machine meet
//! let candidacy = client.election("nightly-report")?.candidate().start()?;
//! let report = candidacy.run_while_leader(|leadership| {
//!     // Ask leadership.is_cancelled() between two steps of longer work.
//!     format!("report of term {}", leadership.term())
//! })?;
//! assert_eq!(report, "report of term 1");
//! candidacy.stop();
//! # Ok::<(), tenure::Error>(())
//! ```
//!
//! Where an async caller would put a timeout around a future, there is a method with a limit: `elected_timeout` of a candidacy,
//! and `next_timeout` of everything that is read. Two things are async only: `Stream`, whose place iterators take; and
//! [`consume`](crate::Candidacy::consume) with [`consume_up_to`](crate::Candidacy::consume_up_to), which stop fetching the moment
//! leadership ends by dropping the fetch: a call that blocks a thread cannot be dropped. Plain threads fetch and handle in a
//! loop inside [`run_while_leader`](Candidacy::run_while_leader), and ask `leadership.is_cancelled()` before each item.
//!
//! Do not wait for a candidacy inside its own work: [`resign`](Candidacy::resign) and [`stop`](Candidacy::stop) notice that,
//! as their counterparts do.

/// Defines methods that call the async method of the same name and block until it completes.
macro_rules! wait_for {
    ($inner:path: $($(#[$meta:meta])* fn $name:ident(&self $(, $arg:ident: $type:ty)*) -> $output:ty;)+) => {
        $(
            #[doc = concat!("[`", stringify!($name), "`](", stringify!($inner), "::", stringify!($name), ") for plain threads.")]
            ///
            /// # Errors
            /// As there.
            $(#[$meta])*
            pub fn $name(&self $(, $arg: $type)*) -> $output {
                $crate::block_on::block_on(self.0.$name($($arg),*))
            }
        )+
    };
}

/// Defines methods that never wait and forward to the async type.
macro_rules! forward {
    ($inner:path: $($(#[$meta:meta])* fn $name:ident(&self $(, $arg:ident: $type:ty)*) $(-> $output:ty)?;)+) => {
        $(
            #[doc = concat!("The same as [`", stringify!($name), "`](", stringify!($inner), "::", stringify!($name), ").")]
            $(#[$meta])*
            pub fn $name(&self $(, $arg: $type)*) $(-> $output)? {
                self.0.$name($($arg),*)
            }
        )+
    };
}

/// Defines the conversions between a blocking type and its async counterpart.
macro_rules! wraps {
    ($name:ident, $inner:path) => {
        impl $name {
            /// Returns the async counterpart.
            #[must_use = "the async side is gone when it is dropped"]
            pub fn into_inner(self) -> $inner {
                self.0
            }
        }

        impl From<$inner> for $name {
            fn from(inner: $inner) -> Self {
                Self(inner)
            }
        }

        impl AsRef<$inner> for $name {
            fn as_ref(&self) -> &$inner {
                &self.0
            }
        }

        impl AsMut<$inner> for $name {
            fn as_mut(&mut self) -> &mut $inner {
                &mut self.0
            }
        }
    };
}

mod candidacy;
mod client;
mod election;
mod lock;
mod readers;
mod store_handle;

pub use self::candidacy::{Candidacy, CandidacyBuilder};
pub use self::client::{Client, ClientBuilder};
pub use self::election::Election;
pub use self::lock::{Lock, LockGuard};
pub use self::readers::{Broadcasts, Channel, Events, Hints};
pub use self::store_handle::StoreHandle;
pub use crate::block_on::ReadTimedOut;
