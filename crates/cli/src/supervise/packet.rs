//! How messages travel: one packet each on a socket that keeps packets apart, with open files attached.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What one look at the socket found.
#[derive(Debug)]
pub(crate) enum PacketRead<M> {
    /// A message, and the open files that came with it.
    Message(M, Vec<OwnedFd>),
    /// The other side is gone.
    Closed,
}

/// Two connected ends. Neither ever blocks, and neither is inherited by programs.
pub(crate) fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    // A packet must fit into the buffer whole, and the machine's default may be smaller than our limit.
    for end in [&ours, &theirs] {
        set_socket_send_buffer_size(end, MAX_PACKET)?;
    }
    Ok((ours, theirs))
}

/// Sends one message with open files attached.
///
/// Fails with `WouldBlock` when the other side has not read for so long that the buffer is full.
pub(crate) fn send<M: Serialize>(socket: impl AsFd, message: &M, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let packet = serde_json::to_vec(message)?;
    if packet.len() > MAX_PACKET {
        return Err(too_long(packet.len()));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many files attached to one message"));
    }
    match sendmsg(socket, &[IoSlice::new(&packet)], &mut ancillary, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
        Ok(_) => Ok(()),
        Err(rustix::io::Errno::MSGSIZE) => Err(too_long(packet.len())),
        Err(error) => Err(error.into()),
    }
}

/// Receives one message, or fails with `WouldBlock` when there is none.
pub(crate) fn receive<M: DeserializeOwned>(socket: impl AsFd) -> io::Result<PacketRead<M>> {
    let mut packet = vec![0; MAX_PACKET];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let mut look = || recvmsg(&socket, &mut [IoSliceMut::new(&mut packet)], &mut ancillary, flags);
    let received = match look() {
        // The other side died with messages of ours unread. The kernel says so once, before it hands out what the other side
        // had sent.
        Err(rustix::io::Errno::CONNRESET) => look(),
        received => received,
    };
    let received = match received {
        Ok(received) => received,
        Err(rustix::io::Errno::CONNRESET) => return Ok(PacketRead::Closed),
        Err(error) => return Err(error.into()),
    };
    // No message is empty, so an empty packet is the end.
    if received.bytes == 0 {
        return Ok(PacketRead::Closed);
    }
    if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message was cut short"));
    }
    let mut files = Vec::new();
    for attached in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(attached) = attached {
            files.extend(attached);
        }
    }
    let message = packet.get(..received.bytes).map(serde_json::from_slice).transpose()?;
    message.map(|message| PacketRead::Message(message, files)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn too_long(length: usize) -> io::Error {
    let message = format!(
        "the command with its arguments and variables takes {length} bytes to hand over, more than the {MAX_PACKET} \
         allowed: put long arguments into a file"
    );
    io::Error::new(io::ErrorKind::ArgumentListTooLong, message)
}

/// Below the usual default of the socket buffer (208 KiB), and above the longest single argument (128 KiB).
const MAX_PACKET: usize = 192 * 1024;
/// The standard input, two ends of a pipe and the life line.
const MAX_FILES: usize = 4;
