//! The protocol between lilt and its guardian: packets over a SEQPACKET socket, with file descriptors attached.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Seek as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::MemfdFlags;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

use crate::process::Launch;

/// The maximum length of a packet; a longer request is sent as a memfd.
const MAX_PACKET: usize = 32 * 1024;
/// stdin, stdout, stderr, and the memfd of a long request.
const MAX_DESCRIPTORS: usize = 4;
/// Sent by lilt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Starts a command; its stdin, stdout and stderr are attached. `keeps_group`: its group is not killed when it ends.
    Start { id: u64, launch: Launch, keeps_group: bool },
    /// Does not kill this command's group when it exits: lilt stops the group itself.
    KeepGroup { id: u64 },
    /// The session is over: stop all remaining processes.
    Shutdown,
}

/// Sent by the guardian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Request::Shutdown => bytes.push(b'F'),
            Request::KeepGroup { id } => {
                bytes.push(b'L');
                bytes.extend(id.to_le_bytes());
            }
            Request::Start { id, launch, keeps_group } => {
                bytes.push(if *keeps_group { b'T' } else { b'S' });
                bytes.extend(id.to_le_bytes());
                put_list(&mut bytes, launch.argv.iter());
                put_list(&mut bytes, [launch.dir.to_string_lossy().into_owned()].iter());
                put_list(&mut bytes, launch.env.iter().flat_map(|(name, value)| [name, value]));
                put_list(&mut bytes, launch.unset.iter());
            }
        }
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Option<Request> {
        match take(&mut bytes, 1)? {
            b"F" => Some(Request::Shutdown),
            b"L" => Some(Request::KeepGroup { id: take_number(&mut bytes)? }),
            kind @ (b"S" | b"T") => {
                let id = take_number(&mut bytes)?;
                let argv = take_list(&mut bytes)?;
                let dir = PathBuf::from(take_list(&mut bytes)?.pop()?);
                let mut pairs = take_list(&mut bytes)?.into_iter();
                let env = std::iter::from_fn(|| Some((pairs.next()?, pairs.next()?))).collect();
                let unset = take_list(&mut bytes)?;
                let launch = Launch { argv, dir, env, unset };
                Some(Request::Start { id, launch, keeps_group: kind == b"T" })
            }
            _ => None,
        }
    }

    /// Blocks while the socket's buffer is full. May be called from several threads: packets are atomic.
    pub(super) fn send(&self, socket: impl AsFd, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let bytes = self.encode();
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
        let request = Request::decode(&bytes).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Some((request, descriptors)))
    }
}

impl Reply {
    const LENGTH: usize = 13;

    fn encode(self) -> [u8; Self::LENGTH] {
        let (kind, id, number) = match self {
            Reply::Started { id, pid } => (b'S', id, pid),
            Reply::Refused { id, errno } => (b'R', id, errno),
            Reply::Ended { id, status } => (b'E', id, status),
        };
        let mut bytes = [kind; Self::LENGTH];
        bytes[1..9].copy_from_slice(&id.to_le_bytes());
        bytes[9..].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Reply> {
        let id = u64::from_le_bytes(bytes.get(1..9)?.try_into().ok()?);
        let number = i32::from_le_bytes(bytes.get(9..13)?.try_into().ok()?);
        match bytes.first()? {
            b'S' => Some(Reply::Started { id, pid: number }),
            b'R' => Some(Reply::Refused { id, errno: number }),
            b'E' => Some(Reply::Ended { id, status: number }),
            _ => None,
        }
    }

    pub(super) fn send(self, socket: impl AsFd) -> io::Result<()> {
        send(socket, &self.encode(), &[], SendFlags::empty())
    }

    /// Returns `None` if the guardian has exited.
    pub(super) fn receive(socket: impl AsFd) -> io::Result<Option<Reply>> {
        let mut bytes = [0; Self::LENGTH];
        let (length, _) = receive(socket, &mut bytes)?;
        if length == 0 {
            return Ok(None);
        }
        Reply::decode(&bytes[..length]).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
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

fn put_list<'a>(bytes: &mut Vec<u8>, list: impl Iterator<Item = &'a String>) {
    let list: Vec<&String> = list.collect();
    put_length(bytes, list.len());
    for item in list {
        put_length(bytes, item.len());
        bytes.extend(item.as_bytes());
    }
}

fn put_length(bytes: &mut Vec<u8>, length: usize) {
    bytes.extend(u64::try_from(length).unwrap_or(u64::MAX).to_le_bytes());
}

fn take_list(bytes: &mut &[u8]) -> Option<Vec<String>> {
    let count = take_length(bytes)?;
    (0..count)
        .map(|_| {
            let length = take_length(bytes)?;
            String::from_utf8(take(bytes, length)?.to_vec()).ok()
        })
        .collect()
}

fn take_length(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(take_number(bytes)?).ok()
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take(bytes, 8)?.try_into().ok()?))
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
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
            Reply::Started { id: 1, pid: 2 },
            Reply::Refused { id: u64::MAX, errno: 13 },
            Reply::Ended { id: 3, status: -1 },
        ] {
            reply.send(&guardian_end).expect("it is sent");
            assert_eq!(Reply::receive(&lilt_end).expect("it comes"), Some(reply));
        }
        drop(lilt_end);
        assert_eq!(Request::receive(&guardian_end).expect("an end").map(drop), None);
    }
}
