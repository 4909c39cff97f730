//! Sends a build context as a tar archive, for builders without file sync. It is sent completely, each time.
#![expect(clippy::disallowed_methods, reason = "the files of the build context are read here")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use bollard_buildkit_proto::fsutil::types::Stat;
use bytes::Bytes;
use tar::{EntryType, Header};
use tokio::sync::mpsc;

use crate::session::{Source, has_content, is_directory, list_all};

/// The Dockerfile's name in the archive, which no project uses.
pub(super) const DOCKERFILE: &str = ".lilt.Dockerfile";
const IGNORE_FILE: &str = ".dockerignore";

/// Writes the archive in chunks. Blocks; ends early when the receiver is dropped.
pub(super) fn send(source: &Source, chunks: mpsc::Sender<Bytes>) -> Result<(), String> {
    let stats = list_all(source)?;
    let mut archive = tar::Builder::new(io::BufWriter::with_capacity(64 * 1024, ChunkWriter(chunks)));
    let sent = append_all(&mut archive, source, &stats).and_then(|()| archive.into_inner()?.flush());
    match sent {
        // The engine's response says why it stopped reading.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        sent => sent.map_err(|error| error.to_string()),
    }
}

type Archive = tar::Builder<io::BufWriter<ChunkWriter>>;

fn append_all(archive: &mut Archive, source: &Source, stats: &[Stat]) -> io::Result<()> {
    let mut ignored = IGNORE_FILE.to_owned();
    for stat in stats {
        if stat.path == IGNORE_FILE && has_content(stat) {
            ignored = String::from_utf8_lossy(&std::fs::read(source.context.join(IGNORE_FILE))?).into_owned();
        } else {
            append(archive, &source.context, stat)?;
        }
    }
    // The engine removes an ignored Dockerfile from the context. It evaluates no other rule, because ignored files
    // are not sent.
    text(archive, IGNORE_FILE, &format!("{ignored}\n{DOCKERFILE}\n"))?;
    text(archive, DOCKERFILE, &source.dockerfile)
}

fn append(archive: &mut Archive, root: &Path, stat: &Stat) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_mode(unix_mode(stat.mode));
    header.set_mtime(u64::try_from(stat.mod_time / 1_000_000_000).unwrap_or(0));
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    if is_directory(stat) {
        header.set_entry_type(EntryType::Directory);
        return archive.append_data(&mut header, format!("{}/", stat.path), io::empty());
    }
    if !stat.linkname.is_empty() {
        header.set_entry_type(EntryType::Symlink);
        return archive.append_link(&mut header, &stat.path, &stat.linkname);
    }
    if !has_content(stat) {
        header.set_entry_type(EntryType::Fifo);
        return archive.append_data(&mut header, &stat.path, io::empty());
    }
    let path = root.join(&stat.path);
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let size = u64::try_from(stat.size).unwrap_or(0);
    let file: Box<dyn Read> = match File::open(&path) {
        // Deleted since it was listed; that triggers the next update.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Box::new(io::empty()),
        file => Box::new(file.map_err(named)?),
    };
    header.set_entry_type(EntryType::Regular);
    header.set_size(size);
    // The size is in the header: a file that has grown is truncated, one that has shrunk is padded.
    archive.append_data(&mut header, &stat.path, file.chain(io::repeat(0)).take(size)).map_err(named)
}

fn text(archive: &mut Archive, name: &str, text: &str) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_mode(0o644);
    header.set_entry_type(EntryType::Regular);
    header.set_size(u64::try_from(text.len()).unwrap_or(0));
    archive.append_data(&mut header, name, text.as_bytes())
}

/// Converts a mode: Go stores the three special bits elsewhere.
fn unix_mode(go: u32) -> u32 {
    let special = [(1 << 23, 0o4000), (1 << 22, 0o2000), (1 << 20, 0o1000)];
    special.iter().filter(|(bit, _)| go & bit != 0).fold(go & 0o777, |mode, (_, unix)| mode | unix)
}

struct ChunkWriter(mpsc::Sender<Bytes>);

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let chunk = Bytes::copy_from_slice(bytes);
        self.0.blocking_send(chunk).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
