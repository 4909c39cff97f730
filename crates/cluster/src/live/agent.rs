//! The channel to lilt's agent, which is part of the pod or was uploaded. It needs no program in the image.

use std::fmt;
use std::sync::Arc;

use bytes::BytesMut;
use lilt_agent::chunks::Chunk;
use lilt_agent::protocol::{Entry, Kind, MissingFile, Piece, PresentContent, Reply, Request, Update};
use lilt_agent::{PROGRAM, VERSION, frame, transfer};
use lilt_model::Failure;
use lilt_model::cluster::PodRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::changes::Fingerprint;
use super::exec::{Exec, Streams};
use super::recent::RecentMap;
use super::{Changes, Content, FileBytes, Output, Put};
use crate::connect::Cluster;

/// Requests are batched up to this size: each message passes through several processes.
const BATCH_SIZE: usize = 128 << 10;
/// How many big files are remembered. Others are sent completely.
const MAX_KNOWN_FILES: usize = 256;

pub(super) struct AgentChannel {
    exec: Exec,
    streams: Streams,
    buffer: BytesMut,
    /// A request is incomplete: what arrives next belongs to it.
    busy: bool,
    /// The big files that were sent, by path: the agent has their content.
    known: RecentMap<Fingerprint>,
    /// The big files of the update in flight.
    sent: Vec<(String, Fingerprint)>,
    /// The removals of the update in flight.
    removed: Vec<String>,
    /// It was uploaded to a running container, so that it is not the parent of its process.
    uploaded: bool,
}

impl fmt::Debug for AgentChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentChannel").field("target", &self.exec.target).finish_non_exhaustive()
    }
}

impl AgentChannel {
    pub(super) async fn open(cluster: &Cluster, pod: &PodRef, container: &str) -> Result<Self, Failure> {
        let (exec, streams) = Exec::open(cluster, pod, container, &[PROGRAM, "serve"]).await?;
        let mut channel = Self::new(exec, streams, BytesMut::new(), false);
        channel.greet().await?;
        Ok(channel)
    }

    /// Takes over the connection of the shell with what is buffered of it.
    pub(super) async fn uploaded(exec: Exec, streams: Streams, buffered: BytesMut) -> Result<Self, Failure> {
        let mut channel = Self::new(exec, streams, buffered, true);
        channel.greet().await?;
        Ok(channel)
    }

    fn new(exec: Exec, streams: Streams, buffer: BytesMut, uploaded: bool) -> Self {
        Self {
            exec,
            streams,
            buffer,
            busy: false,
            known: RecentMap::new(MAX_KNOWN_FILES),
            sent: Vec::new(),
            removed: Vec::new(),
            uploaded,
        }
    }

    async fn greet(&mut self) -> Result<(), Failure> {
        match self.answer().await? {
            Reply::Hello { version: VERSION } => Ok(()),
            Reply::Hello { version } => Err(Failure::user(format!(
                "the agent in the pod {} speaks version {version}, and this lilt version {VERSION}",
                self.exec.target.pod
            ))
            .hint("it was made by another lilt: trigger an update of the resource to have it made anew")),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Sends what the container lacks, without changing files yet.
    pub(super) async fn send(&mut self, changes: &Changes) -> Result<(), Failure> {
        let update = Update {
            removals: changes.removals().to_vec(),
            entries: changes.puts().iter().map(entry).collect(),
        };
        self.begin()?;
        self.send_request(&Request::Update(update)).await?;
        let missing = match self.answer().await? {
            Reply::Missing(missing) => missing,
            other => return Err(self.unexpected(&other)),
        };
        let mut batch = Vec::new();
        for file in &missing {
            let Some((path, content)) = content(changes, file) else {
                return Err(Failure::internal(format!(
                    "the agent wants a file that is none: {}",
                    file.entry
                )));
            };
            let has = self.parts(path, &file.present);
            if let Some(packed) = content.packed().filter(|_| has.is_empty()) {
                let piece = Piece::Data { entry: file.entry, packed: packed.to_vec() };
                batch.extend(frame::encode(&Request::Piece(piece).encode()));
                self.write_if_enough(&mut batch).await?;
                continue;
            }
            for piece in transfer::pieces(file.entry, content.get(), &content.fingerprint().chunks, &has) {
                batch.extend(frame::encode(&Request::Piece(piece).encode()));
                self.write_if_enough(&mut batch).await?;
            }
        }
        let files = changes.puts().iter().filter_map(|put| match &put.content {
            Content::File { bytes, .. } => Some((put.path.clone(), bytes.fingerprint().clone())),
            Content::Directory { .. } | Content::Link { .. } => None,
        });
        self.sent = files.filter(|(_, fingerprint)| !fingerprint.chunks.is_empty()).collect();
        self.removed = changes.removals().to_vec();
        if batch.is_empty() { Ok(()) } else { self.write(&batch).await }
    }

    /// Returns the chunks that the container's file has.
    fn parts(&self, path: &str, has: &PresentContent) -> Arc<[Chunk]> {
        match has {
            PresentContent::Nothing => Vec::new().into(),
            PresentContent::Chunks(chunks) => chunks.clone().into(),
            PresentContent::Known(digest) => match self.known.get(path) {
                Some(fingerprint) if fingerprint.digest == *digest => Arc::clone(&fingerprint.chunks),
                // Two updates of the file overlapped: send all of it.
                _ => Vec::new().into(),
            },
        }
    }

    /// Replaces the files by what was sent.
    pub(super) async fn commit(&mut self) -> Result<(), Failure> {
        self.send_request(&Request::Commit).await?;
        let outcome = self.outcome().await?;
        outcome.map_err(|(what, cause)| self.exec.target.not_written(&format!("{what}: {cause}")))?;
        let removed = std::mem::take(&mut self.removed);
        let is_below = |path: &str, folder: &str| {
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.known.retain(|path| !removed.iter().any(|it| is_below(path, it)));
        for (path, fingerprint) in self.sent.drain(..) {
            self.known.set(path, fingerprint);
        }
        Ok(())
    }

    pub(super) async fn run(
        &mut self,
        argv: &[String],
        mut on_output: impl FnMut(Output<'_>) + Send,
    ) -> Result<i32, Failure> {
        self.begin()?;
        self.send_request(&Request::Run(argv.to_vec())).await?;
        loop {
            match self.answer().await? {
                Reply::Stdout(bytes) => on_output(Output::Stdout(&bytes)),
                Reply::Stderr(bytes) => on_output(Output::Stderr(&bytes)),
                Reply::Exited(code) => {
                    self.busy = false;
                    return Ok(code);
                }
                other => return Err(self.unexpected(&other)),
            }
        }
    }

    pub(super) async fn restart(&mut self) -> Result<(), Failure> {
        if self.uploaded {
            return Err(self.exec.target.cannot_restart());
        }
        self.begin()?;
        self.send_request(&Request::Restart).await?;
        let outcome = self.outcome().await?;
        outcome.map_err(|(what, cause)| self.exec.target.not_restarted(format!("{what}: {cause}")))
    }

    fn begin(&mut self) -> Result<(), Failure> {
        if self.busy {
            return Err(self.exec.target.channel_lost("an earlier request was not finished"));
        }
        self.busy = true;
        Ok(())
    }

    async fn outcome(&mut self) -> Result<Result<(), (String, String)>, Failure> {
        let outcome = match self.answer().await? {
            Reply::Done => Ok(()),
            Reply::Failed { what, cause } => Err((what, cause)),
            other => return Err(self.unexpected(&other)),
        };
        self.busy = false;
        Ok(outcome)
    }

    async fn send_request(&mut self, request: &Request) -> Result<(), Failure> {
        self.write(&frame::encode(&request.encode())).await
    }

    async fn write_if_enough(&mut self, batch: &mut Vec<u8>) -> Result<(), Failure> {
        if batch.len() >= BATCH_SIZE {
            self.write(batch).await?;
            batch.clear();
        }
        Ok(())
    }

    async fn write(&mut self, frames: &[u8]) -> Result<(), Failure> {
        let stdin = &mut self.streams.stdin;
        let write = async {
            stdin.write_all(frames).await?;
            stdin.flush().await
        };
        let written = tokio::select! {
            biased;
            written = write => written.is_ok(),
            () = self.exec.end.reached() => false,
        };
        if written { Ok(()) } else { Err(self.ended().await) }
    }

    async fn answer(&mut self) -> Result<Reply, Failure> {
        loop {
            let malformed = |error: lilt_agent::protocol::Malformed| Failure::internal(error.to_string());
            if let Some((message, length)) = frame::decode(&self.buffer).map_err(malformed)? {
                let answer = Reply::decode(message).map_err(malformed)?;
                let _ = self.buffer.split_to(length);
                return Ok(answer);
            }
            let read = tokio::select! {
                biased;
                read = self.streams.stdout.read_buf(&mut self.buffer) => read.unwrap_or(0),
                () = self.exec.end.reached() => 0,
            };
            if read == 0 {
                return Err(self.ended().await);
            }
        }
    }

    /// The agent has exited; its stderr says more than the status.
    async fn ended(&mut self) -> Failure {
        let status = self.exec.final_status().await.to_owned();
        let mut words = BytesMut::new();
        let read = self.streams.stderr.read_buf(&mut words);
        let _ = tokio::time::timeout(std::time::Duration::from_millis(100), read).await;
        let words = String::from_utf8_lossy(&words);
        self.exec.target.channel_lost(if words.trim().is_empty() { &status } else { words.trim() })
    }

    fn unexpected(&self, answer: &Reply) -> Failure {
        Failure::internal(format!("the agent in the pod {} answered {answer:?}", self.exec.target.pod))
    }
}

fn entry(put: &Put) -> Entry {
    let modified = put.modified.0;
    let kind = match &put.content {
        Content::File { mode, bytes } => Kind::File {
            mode: *mode,
            modified,
            size: bytes.get().len() as u64,
            digest: bytes.fingerprint().digest,
        },
        Content::Directory { mode } => Kind::Directory { mode: *mode, modified },
        Content::Link { target } => Kind::Link { target: target.clone(), modified },
    };
    Entry { path: put.path.clone(), kind }
}

fn content<'a>(changes: &'a Changes, file: &MissingFile) -> Option<(&'a str, &'a FileBytes)> {
    let put = changes.puts().get(usize::try_from(file.entry).ok()?)?;
    match &put.content {
        Content::File { bytes, .. } => Some((&put.path, bytes)),
        Content::Directory { .. } | Content::Link { .. } => None,
    }
}
