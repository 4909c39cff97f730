//! What lilt and its guardian say to one another: packets over a socket, file descriptors along with them.

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

/// Packets are small; what is longer goes by way of a file in memory.
const LONGEST: usize = 32 * 1024;
/// Input, output, errors, and the file of a long request.
const MOST_DESCRIPTORS: usize = 4;

/// From lilt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Start a command; input, output and errors come along.
    /// `spared`: its group is not killed when it ends.
    Start { id: u64, launch: Launch, spared: bool },
    /// Someone else sees to the end of this command's group.
    Spare { id: u64 },
    /// The session is over: end what is left, soon.
    Farewell,
}

/// From the guardian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Started {
        id: u64,
        pid: i32,
    },
    /// With the operating system's number for the reason.
    Refused {
        id: u64,
        errno: i32,
    },
    /// With what the kernel says of its end.
    Ended {
        id: u64,
        status: i32,
    },
}

impl Request {
    fn encode(&self) -> Vec<u8> {
        let mut text = Vec::new();
        match self {
            Request::Farewell => text.push(b'F'),
            Request::Spare { id } => {
                text.push(b'L');
                text.extend(id.to_le_bytes());
            }
            Request::Start { id, launch, spared } => {
                text.push(if *spared { b'T' } else { b'S' });
                text.extend(id.to_le_bytes());
                put_list(&mut text, launch.argv.iter());
                put_list(&mut text, [launch.dir.to_string_lossy().into_owned()].iter());
                put_list(&mut text, launch.env.iter().flat_map(|(name, value)| [name, value]));
                put_list(&mut text, launch.unset.iter());
            }
        }
        text
    }

    fn decode(mut text: &[u8]) -> Option<Request> {
        match take(&mut text, 1)? {
            b"F" => Some(Request::Farewell),
            b"L" => Some(Request::Spare { id: take_number(&mut text)? }),
            kind @ (b"S" | b"T") => {
                let id = take_number(&mut text)?;
                let argv = take_list(&mut text)?;
                let dir = PathBuf::from(take_list(&mut text)?.pop()?);
                let mut pairs = take_list(&mut text)?.into_iter();
                let env = std::iter::from_fn(|| Some((pairs.next()?, pairs.next()?))).collect();
                let unset = take_list(&mut text)?;
                let launch = Launch { argv, dir, env, unset };
                Some(Request::Start { id, launch, spared: kind == b"T" })
            }
            _ => None,
        }
    }

    /// Waits if the guardian is behind. From several threads at once: a packet arrives whole or not at all.
    pub(super) fn send(&self, socket: impl AsFd, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let text = self.encode();
        if text.len() <= LONGEST {
            return send(socket, &text, descriptors, SendFlags::empty());
        }
        let mut file = File::from(rustix::fs::memfd_create("lilt-request", MemfdFlags::CLOEXEC)?);
        file.write_all(&text)?;
        file.rewind()?;
        let descriptors: Vec<BorrowedFd<'_>> = descriptors.iter().copied().chain([file.as_fd()]).collect();
        send(socket, b"M", &descriptors, SendFlags::empty())
    }

    /// None: lilt is gone.
    pub(super) fn receive(socket: impl AsFd) -> io::Result<Option<(Request, Vec<OwnedFd>)>> {
        let mut text = vec![0; LONGEST];
        let (length, mut descriptors) = receive(socket, &mut text)?;
        text.truncate(length);
        if text.is_empty() {
            return Ok(None);
        }
        if text == b"M" {
            let file = descriptors.pop().ok_or(io::ErrorKind::InvalidData)?;
            text.clear();
            File::from(file).read_to_end(&mut text)?;
        }
        let request = Request::decode(&text).ok_or(io::ErrorKind::InvalidData)?;
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
        let mut text = [kind; Self::LENGTH];
        text[1..9].copy_from_slice(&id.to_le_bytes());
        text[9..].copy_from_slice(&number.to_le_bytes());
        text
    }

    fn decode(text: &[u8]) -> Option<Reply> {
        let id = u64::from_le_bytes(text.get(1..9)?.try_into().ok()?);
        let number = i32::from_le_bytes(text.get(9..13)?.try_into().ok()?);
        match text.first()? {
            b'S' => Some(Reply::Started { id, pid: number }),
            b'R' => Some(Reply::Refused { id, errno: number }),
            b'E' => Some(Reply::Ended { id, status: number }),
            _ => None,
        }
    }

    pub(super) fn send(self, socket: impl AsFd) -> io::Result<()> {
        send(socket, &self.encode(), &[], SendFlags::empty())
    }

    /// None: the guardian is gone.
    pub(super) fn receive(socket: impl AsFd) -> io::Result<Option<Reply>> {
        let mut text = [0; Self::LENGTH];
        let (length, _) = receive(socket, &mut text)?;
        if length == 0 {
            return Ok(None);
        }
        Reply::decode(&text[..length]).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

fn send(socket: impl AsFd, text: &[u8], descriptors: &[BorrowedFd<'_>], flags: SendFlags) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut along = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !along.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    loop {
        let flags = flags | SendFlags::NOSIGNAL;
        match rustix::net::sendmsg(&socket, &[IoSlice::new(text)], &mut along, flags) {
            Err(rustix::io::Errno::INTR) => {}
            sent => return Ok(sent.map(drop)?),
        }
    }
}

fn receive(socket: impl AsFd, text: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut along = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let flags = RecvFlags::CMSG_CLOEXEC;
        match rustix::net::recvmsg(&socket, &mut [IoSliceMut::new(text)], &mut along, flags) {
            Err(rustix::io::Errno::INTR) => {}
            // The other end died with something unread.
            Err(rustix::io::Errno::CONNRESET) => return Ok((0, Vec::new())),
            received => break received?,
        }
    };
    let mut descriptors = Vec::new();
    for message in along.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    Ok((received.bytes, descriptors))
}

fn put_list<'a>(text: &mut Vec<u8>, list: impl Iterator<Item = &'a String>) {
    let list: Vec<&String> = list.collect();
    put_length(text, list.len());
    for item in list {
        put_length(text, item.len());
        text.extend(item.as_bytes());
    }
}

fn put_length(text: &mut Vec<u8>, length: usize) {
    text.extend(u64::try_from(length).unwrap_or(u64::MAX).to_le_bytes());
}

fn take_list(text: &mut &[u8]) -> Option<Vec<String>> {
    let count = take_length(text)?;
    (0..count)
        .map(|_| {
            let length = take_length(text)?;
            String::from_utf8(take(text, length)?.to_vec()).ok()
        })
        .collect()
}

fn take_length(text: &mut &[u8]) -> Option<usize> {
    usize::try_from(take_number(text)?).ok()
}

fn take_number(text: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take(text, 8)?.try_into().ok()?))
}

fn take<'a>(text: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = text.split_at_checked(length)?;
    *text = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_arrives_short_and_long() {
        let (ours, theirs) = super::super::sockets().expect("sockets");
        for length in [0, LONGEST - 500, LONGEST, 3_000_000] {
            let launch = Launch {
                argv: vec!["sh".into(), "x".repeat(length)],
                dir: "/somewhere".into(),
                env: vec![("A".into(), "1 2".into()), ("B".into(), String::new())],
                unset: vec!["C".into()],
            };
            let request = Request::Start { id: u64::MAX - 1, launch, spared: length == 0 };
            request.send(&ours, &[ours.as_fd()]).expect("it is sent");
            let (received, descriptors) = Request::receive(&theirs).expect("it comes").expect("it is there");
            assert!(received == request, "{length}");
            assert_eq!(descriptors.len(), 1);
        }
        for reply in [
            Reply::Started { id: 1, pid: 2 },
            Reply::Refused { id: u64::MAX, errno: 13 },
            Reply::Ended { id: 3, status: -1 },
        ] {
            reply.send(&theirs).expect("it is sent");
            assert_eq!(Reply::receive(&ours).expect("it comes"), Some(reply));
        }
        drop(ours);
        assert_eq!(Request::receive(&theirs).expect("an end").map(drop), None);
    }
}
