//! Whatever arrives on the socket between `tenure` and its guard.

use std::fmt::Debug;
use std::os::fd::OwnedFd;

use rustix::net::{SendFlags, send};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure_fuzz::Fuzz;

use super::message::{GuardOrder, GuardReport};
use super::packet::{self, PacketRead, channel, receive};

/// A packet of any bytes is a message or an error, and a message stays what it is when it is passed on.
#[test]
fn fuzz_guard_messages() {
    let (ours, theirs) = channel().unwrap();
    Fuzz::target("guard-messages").words(WORDS).cases(5_000).run(|input| {
        check::<GuardOrder>(&ours, &theirs, input);
        check::<GuardReport>(&ours, &theirs, input);
    });
}

fn check<M: DeserializeOwned + Serialize + PartialEq + Debug>(ours: &OwnedFd, theirs: &OwnedFd, input: &[u8]) {
    send(ours, input, SendFlags::empty()).unwrap();
    match receive::<M>(theirs) {
        Ok(PacketRead::Message(message, files)) => {
            assert!(files.is_empty());
            packet::send(ours, &message, &[]).unwrap();
            let Ok(PacketRead::Message(again, _)) = receive::<M>(theirs) else { panic!("{message:?} got lost") };
            assert_eq!(again, message);
        }
        Ok(PacketRead::Closed) => assert!(input.is_empty()),
        // This one would mean that nothing has come.
        Err(error) => assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}"),
    }
}

const WORDS: &[&str] = &[
    "\"Hold\"",
    "\"Start\"",
    "\"Trust\"",
    "\"Terminate\"",
    "\"Signal\"",
    "\"Store\"",
    "\"Lease\"",
    "\"Goodbye\"",
    "\"place\"",
    "\"Address\"",
    "\"File\"",
    "\"variables\"",
    "\"held\"",
    "\"ttl\"",
    "\"namespace\"",
    "\"election\"",
    "\"nonce\"",
    "\"term\"",
    "\"Starting\"",
    "\"Started\"",
    "\"SpawnFailed\"",
    "\"Ended\"",
    "\"Stopped\"",
    "\"Held\"",
    "\"dead\"",
    "\"Code\"",
    "\"program\"",
    "\"args\"",
    "\"env_set\"",
    "\"env_remove\"",
    "\"directory\"",
    "\"grace\"",
    "\"trust\"",
    "\"stop_at\"",
    "\"kill_at\"",
    "\"secs\"",
    "\"nanos\"",
    "\"pid\"",
    "\"kind\"",
    "\"message\"",
    "\"Other\"",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "true",
    "-1",
    "0",
    "255",
    "256",
    "1e400",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "\"\\u0000\"",
    "\"\\ud800\"",
    " ",
];
