//! BuildKit's file sync: sends the list of files with their metadata, then the content of those that the engine
//! requests.
#![expect(clippy::disallowed_methods, reason = "the files of the build context are read here")]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use bollard_buildkit_proto::fsutil::types::packet::PacketType;
use bollard_buildkit_proto::fsutil::types::{Packet, Stat};
use bollard_buildkit_proto::moby::filesync::v1::file_sync_server::FileSync;
use futures_util::stream::BoxStream;
use lilt_model::ignore::Matcher;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, Streaming};

use super::selection::Selection;
use super::{Counters, walk};

/// The maximum content of a packet.
const CHUNK_SIZE: usize = 64 * 1024;
/// Packets between the file reader and the connection: at most 2 MiB, enough to keep both busy.
const PACKETS_BUFFERED: usize = 32;

/// The files of a build.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) context: PathBuf,
    pub(crate) ignores: Arc<Matcher>,
    /// The Dockerfile's text, which need not exist as a file.
    pub(crate) dockerfile: Arc<str>,
    /// Until it is cancelled, the context is not read.
    pub(crate) hold: Option<CancellationToken>,
}

pub(super) struct FileSender {
    source: Source,
    counters: Arc<Counters>,
    session: CancellationToken,
}

/// A list of files and the source of their content.
struct Listing {
    stats: Vec<Stat>,
    content: Content,
}

enum Content {
    Below(PathBuf),
    Texts(BTreeMap<&'static str, Arc<str>>),
}

type Packets = mpsc::Sender<Result<Packet, Status>>;

impl FileSender {
    pub(super) fn new(source: Source, counters: Arc<Counters>, session: CancellationToken) -> Self {
        Self { source, counters, session }
    }

    fn list(source: &Source, directory: &str, paths: &[String]) -> Result<Listing, String> {
        match directory {
            "dockerfile" => Ok(texts(BTreeMap::from([
                ("Dockerfile", Arc::clone(&source.dockerfile)),
                // Its presence keeps BuildKit from applying the context's .dockerignore: ignoring is done here.
                ("Dockerfile.dockerignore", Arc::from("# The sender has left out what is ignored.\n")),
            ]))),
            "context" => {
                let selection = Selection::follow(&source.context, paths);
                let stats = walk::walk(&source.context, &source.ignores, &selection)?;
                Ok(Listing { stats, content: Content::Below(source.context.clone()) })
            }
            other => Err(format!("no directory {other:?} is shared with this build")),
        }
    }
}

#[tonic::async_trait]
impl FileSync for FileSender {
    type DiffCopyStream = BoxStream<'static, Result<Packet, Status>>;
    type TarStreamStream = futures_util::stream::Pending<Result<Packet, Status>>;

    async fn diff_copy(
        &self,
        request: Request<Streaming<Packet>>,
    ) -> Result<Response<Self::DiffCopyStream>, Status> {
        let directory = values(request.metadata(), "dir-name").into_iter().next().unwrap_or_default();
        let paths = values(request.metadata(), "followpaths");
        let (source, counters) = (self.source.clone(), Arc::clone(&self.counters));
        let (packets, mut stream) = mpsc::channel(PACKETS_BUFFERED);
        let work = async move {
            if let Some(hold) = source.hold.as_ref().filter(|_| directory == "context") {
                hold.cancelled().await;
            }
            let listing =
                tokio::task::spawn_blocking(move || FileSender::list(&source, &directory, &paths)).await;
            let sent = match listing {
                Ok(Ok(listing)) => send(listing, request.into_inner(), &packets, counters).await,
                Ok(Err(cause)) => Err(cause),
                Err(error) => Err(format!("internal error while listing files: {error}")),
            };
            if let Err(cause) = sent {
                // The engine may have disconnected already.
                let _ = packets.send(Ok(packet(PacketType::PacketErr, 0, cause.clone().into_bytes()))).await;
                let _ = packets.send(Err(Status::aborted(cause))).await;
            }
        };
        // A task of its own, because requests must be read while the connection does not accept packets.
        let session = self.session.clone();
        tokio::spawn(async move { session.run_until_cancelled(work).await });
        let stream = futures_util::stream::poll_fn(move |context| stream.poll_recv(context));
        Ok(Response::new(Box::pin(stream)))
    }

    async fn tar_stream(
        &self,
        _: Request<Streaming<Packet>>,
    ) -> Result<Response<Self::TarStreamStream>, Status> {
        Err(Status::unimplemented("contexts are not sent as tar"))
    }
}

/// Serves one file sync to its end.
async fn send(
    listing: Listing,
    mut requests: Streaming<Packet>,
    packets: &Packets,
    counters: Arc<Counters>,
) -> Result<(), String> {
    let listing = Arc::new(listing);
    Counters::add(&counters.listed, listing.stats.len());
    // Unbounded: at most one number per listed file, and reading requests must never wait for files.
    let (wanted, queue) = mpsc::unbounded_channel();
    let reader = {
        let (listing, packets) = (Arc::clone(&listing), packets.clone());
        tokio::task::spawn_blocking(move || send_content(&listing, queue, &packets, &counters))
    };
    let stats = async {
        for stat in &listing.stats {
            let mut packet = packet(PacketType::PacketStat, 0, Vec::new());
            packet.stat = Some(stat.clone());
            deliver(packets, packet).await?;
        }
        deliver(packets, packet(PacketType::PacketStat, 0, Vec::new())).await
    };
    let count = listing.stats.len();
    // Owns `wanted`, so that the reader's queue ends after the last request.
    let answers = async move {
        while let Some(request) = requests.message().await.map_err(|status| status.message().to_owned())? {
            match request.r#type() {
                PacketType::PacketReq => {
                    let known = usize::try_from(request.id).is_ok_and(|id| id < count);
                    if !known {
                        return Err(format!("the engine asked for the unknown file {}", request.id));
                    }
                    // The reader has failed or the stream has ended; both are reported elsewhere.
                    let _ = wanted.send(request.id);
                }
                PacketType::PacketFin => {
                    return deliver(packets, packet(PacketType::PacketFin, 0, Vec::new())).await;
                }
                PacketType::PacketErr => return Err(String::from_utf8_lossy(&request.data).into_owned()),
                PacketType::PacketStat | PacketType::PacketData => {}
            }
        }
        Ok(())
    };
    let reading =
        async { reader.await.map_err(|error| format!("internal error while reading files: {error}"))? };
    tokio::try_join!(stats, answers, reading).map(|_| ())
}

/// Blocks. Ends when there are no more requests or the receiver is dropped.
fn send_content(
    listing: &Listing,
    mut queue: mpsc::UnboundedReceiver<u32>,
    packets: &Packets,
    counters: &Counters,
) -> Result<(), String> {
    let mut chunk = vec![0; CHUNK_SIZE];
    while let Some(id) = queue.blocking_recv() {
        let stat = &listing.stats[id as usize];
        if !walk::has_content(stat) {
            return Err(format!("the engine asked for the content of {}, which is no file", stat.path));
        }
        Counters::add(&counters.files, 1);
        let mut push = |data: &[u8]| {
            Counters::add(&counters.bytes, data.len());
            packets.blocking_send(Ok(packet(PacketType::PacketData, id, data.to_vec()))).is_ok()
        };
        match &listing.content {
            Content::Texts(texts) => {
                let text = texts.get(stat.path.as_str()).map(AsRef::as_ref).unwrap_or_default();
                if !text.as_bytes().chunks(CHUNK_SIZE).all(&mut push) {
                    return Ok(());
                }
            }
            Content::Below(root) => {
                let path = root.join(&stat.path);
                let unreadable = |error| {
                    lilt_model::os_error::plain(&format!(
                        "cannot read {} for the build: {error}",
                        path.display()
                    ))
                };
                // A file deleted since it was listed arrives empty; its deletion triggers the next update.
                let mut file = match std::fs::File::open(&path) {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                    file => Some(file.map_err(unreadable)?),
                };
                while let Some(file) = &mut file {
                    let length = file.read(&mut chunk).map_err(unreadable)?;
                    if length == 0 {
                        break;
                    }
                    if !push(&chunk[..length]) {
                        return Ok(());
                    }
                }
            }
        }
        if packets.blocking_send(Ok(packet(PacketType::PacketData, id, Vec::new()))).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

async fn deliver(packets: &Packets, packet: Packet) -> Result<(), String> {
    packets.send(Ok(packet)).await.map_err(|_| "the engine closed the file sync".to_owned())
}

fn packet(kind: PacketType, id: u32, data: Vec<u8>) -> Packet {
    Packet { r#type: kind.into(), stat: None, id, data }
}

fn texts(texts: BTreeMap<&'static str, Arc<str>>) -> Listing {
    let stats = texts
        .iter()
        .map(|(name, text)| Stat {
            path: (*name).to_owned(),
            mode: 0o644,
            size: i64::try_from(text.len()).unwrap_or(i64::MAX),
            mod_time: time_from(text),
            ..Stat::default()
        })
        .collect();
    Listing { stats, content: Content::Texts(texts) }
}

/// Returns a time that changes with the text, because the receiver compares files by size and time.
fn time_from(text: &str) -> i64 {
    let digest = Sha256::digest(text.as_bytes());
    let start = digest.first_chunk::<8>().expect("invariant: a SHA-256 digest has 32 bytes");
    i64::from_be_bytes(*start) & (i64::MAX >> 3)
}

/// Returns the values of a key. BuildKit escapes non-ASCII values and marks that in a second key.
fn values(metadata: &MetadataMap, key: &str) -> Vec<String> {
    let escaped = metadata.get(format!("{key}-encoded")).is_some();
    let plain = metadata.get_all(key).iter().filter_map(|value| value.to_str().ok());
    plain.map(|value| if escaped { unescape(value) } else { value.to_owned() }).collect()
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, tail @ ..]) => {
                let digit =
                    |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                match (digit(high), digit(low)) {
                    (Some(high), Some(low)) => {
                        bytes.push(high * 16 + low);
                        rest = tail;
                    }
                    _ => bytes.push(b'%'),
                }
            }
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_metadata_is_decoded() {
        assert_eq!(unescape("src%2F%C3%A4+b%"), "src/ä b%");
    }

    #[test]
    fn different_texts_have_different_times() {
        assert_ne!(time_from("FROM a\n"), time_from("FROM b\n"));
        assert!(time_from("FROM a\n") >= 0);
    }
}
