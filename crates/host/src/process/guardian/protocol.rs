//! The protocol between lilt and its guardian: packets over a SEQPACKET socket, with file descriptors attached.
//!
//! Packets are encoded by postcard, without a version: both ends are the same program.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Seek as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::MemfdFlags;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use serde::{Deserialize, Serialize};

use crate::process::Launch;

/// The maximum length of a packet; a longer request is sent as a memfd.
const MAX_PACKET: usize = 32 * 1024;
/// stdin, stdout, stderr, and the memfd of a long request.
const MAX_DESCRIPTORS: usize = 4;

/// Sent by lilt.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Request {
    /// Starts a command; its stdin, stdout and stderr are attached. `keeps_group`: its group is not killed when it ends.
    Start { id: u64, launch: Launch, keeps_group: bool },
    /// Does not kill this command's group when it exits: lilt stops the group itself.
    KeepGroup { id: u64 },
    /// The session is over: stop all remaining processes.
    Shutdown,
}

/// Sent by the guardian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Reply {
    Started {
        id: u64,
        pid: i32,
    },
    /// The command could not be started, with the `errno`.
    Refused {
        id: u64,
        errno: i32,
    },
    /// The command has exited, with the status as from `wait`.
    Ended {
        id: u64,
        status: i32,
    },
}

impl Request {
    /// Blocks while the socket's buffer is full. May be called from several threads: packets are atomic.
    pub(super) fn send(&self, socket: impl AsFd, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let bytes = postcard::to_stdvec(self).map_err(io::Error::other)?;
        if bytes.len() <= MAX_PACKET {
            return send(socket, &bytes, descriptors, SendFlags::empty());
        }
        let mut file = File::from(rustix::fs::memfd_create("lilt-request", MemfdFlags::CLOEXEC)?);
        file.write_all(&bytes)?;
        file.rewind()?;
        let descriptors: Vec<BorrowedFd<'_>> = descriptors.iter().copied().chain([file.as_fd()]).collect();
        send(socket, b"M", &descriptors, SendFlags::empty())
    }

    /// Returns `None` if lilt has exited.
    pub(super) fn receive(socket: impl AsFd) -> io::Result<Option<(Request, Vec<OwnedFd>)>> {
        let mut bytes = vec![0; MAX_PACKET];
        let (length, mut descriptors) = receive(socket, &mut bytes)?;
        bytes.truncate(length);
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes == b"M" {
            let file = descriptors.pop().ok_or(io::ErrorKind::InvalidData)?;
            bytes.clear();
            File::from(file).read_to_end(&mut bytes)?;
        }
        let request = postcard::from_bytes(&bytes).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(Some((request, descriptors)))
    }
}

impl Reply {
    /// The maximum length of an encoded reply: a byte for the variant, ten for an id, five for a number.
    const MAX_LENGTH: usize = 16;

    pub(super) fn send(self, socket: impl AsFd) -> io::Result<()> {
        let mut buffer = [0; Self::MAX_LENGTH];
        let bytes = postcard::to_slice(&self, &mut buffer).map_err(io::Error::other)?;
        send(socket, bytes, &[], SendFlags::empty())
    }

    /// Returns `None` if the guardian has exited.
    pub(super) fn receive(socket: impl AsFd) -> io::Result<Option<Reply>> {
        let mut bytes = [0; Self::MAX_LENGTH];
        let (length, _) = receive(socket, &mut bytes)?;
        if length == 0 {
            return Ok(None);
        }
        postcard::from_bytes(&bytes[..length]).map(Some).map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>], flags: SendFlags) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    loop {
        let flags = flags | SendFlags::NOSIGNAL;
        match rustix::net::sendmsg(&socket, &[IoSlice::new(bytes)], &mut ancillary, flags) {
            Err(rustix::io::Errno::INTR) => {}
            sent => return Ok(sent.map(drop)?),
        }
    }
}

fn receive(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let flags = RecvFlags::CMSG_CLOEXEC;
        match rustix::net::recvmsg(&socket, &mut [IoSliceMut::new(bytes)], &mut ancillary, flags) {
            Err(rustix::io::Errno::INTR) => {}
            // The other end exited with unread packets.
            Err(rustix::io::Errno::CONNRESET) => return Ok((0, Vec::new())),
            received => break received?,
        }
    };
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    Ok((received.bytes, descriptors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_messages_arrive_unchanged() {
        let (lilt_end, guardian_end) = super::super::sockets().expect("sockets");
        for length in [0, MAX_PACKET - 500, MAX_PACKET, 3_000_000] {
            let launch = Launch {
                argv: vec!["sh".into(), "x".repeat(length)],
                dir: "/somewhere".into(),
                env: vec![("A".into(), "1 2".into()), ("B".into(), String::new())],
                unset: vec!["C".into()],
            };
            let request = Request::Start { id: u64::MAX - 1, launch, keeps_group: length == 0 };
            request.send(&lilt_end, &[lilt_end.as_fd()]).expect("it is sent");
            let (received, descriptors) =
                Request::receive(&guardian_end).expect("it comes").expect("it is there");
            assert!(received == request, "{length}");
            assert_eq!(descriptors.len(), 1);
        }
        for reply in [
            Reply::Started { id: 1, pid: i32::MAX },
            Reply::Refused { id: u64::MAX, errno: i32::MIN },
            Reply::Ended { id: 3, status: -1 },
        ] {
            reply.send(&guardian_end).expect("it is sent");
            assert_eq!(Reply::receive(&lilt_end).expect("it comes"), Some(reply));
        }
        drop(lilt_end);
        assert_eq!(Request::receive(&guardian_end).expect("an end").map(drop), None);
    }
}
