//! Inspects the present file at a target path. It is read in blocks, because the memory is the container's.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use lilt_agent::Digest;
use lilt_agent::chunks::{self, Chunk};
use lilt_agent::protocol::PresentContent;

use super::Wanted;
use crate::serve::written_files::WrittenFiles;

/// The size of the read buffer.
const BLOCK: usize = 512 << 10;

pub(super) enum PresentFile {
    /// The same content; `own`: its mode and time can be changed.
    Same { own: bool },
    /// Another content, or none.
    Other(PresentContent),
}

/// Compares the present file with the desired one. An unreadable file counts as missing.
pub(super) fn inspect(
    path: &Path,
    metadata: Option<&Metadata>,
    file: &Wanted,
    written_files: &WrittenFiles,
) -> PresentFile {
    let nothing = PresentFile::Other(PresentContent::Nothing);
    let Some(metadata) = metadata else { return nothing };
    let big = |size: u64| size >= chunks::MIN_SPLIT_SIZE as u64;
    let both_big = big(metadata.len()) && big(file.size);
    if !metadata.is_file() || !(metadata.len() == file.size || both_big) {
        return nothing;
    }
    if let Some(known) = written_files.digest(path, metadata)
        && known != file.digest
    {
        return if both_big { PresentFile::Other(PresentContent::Known(known)) } else { nothing };
    }
    if metadata.len() == file.size && digest_of(path).is_ok_and(|digest| digest == file.digest) {
        return PresentFile::Same { own: is_own(metadata) };
    }
    if !both_big {
        return nothing;
    }
    chunks_of(path).map_or(nothing, |chunks| PresentFile::Other(PresentContent::Chunks(chunks)))
}

fn is_own(metadata: &Metadata) -> bool {
    let user = nix::unistd::geteuid();
    user.is_root() || metadata.uid() == user.as_raw()
}

pub(super) fn digest_of(path: &Path) -> io::Result<Digest> {
    let mut file = File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut block = block_for(&file)?;
    loop {
        match file.read(&mut block)? {
            0 => return Ok(*hasher.finalize().as_bytes()),
            length => hasher.update(&block[..length]),
        };
    }
}

/// Allocates a buffer no bigger than the file: most are small, and there may be thousands.
fn block_for(file: &File) -> io::Result<Vec<u8>> {
    let size = usize::try_from(file.metadata()?.len()).unwrap_or(BLOCK);
    Ok(vec![0; size.clamp(1, BLOCK)])
}

fn chunks_of(path: &Path) -> io::Result<Vec<Chunk>> {
    let mut file = File::open(path)?;
    let mut block = vec![0; BLOCK];
    let (mut begin, mut end, mut is_at_end) = (0, 0, false);
    let mut chunks = Vec::new();
    while !is_at_end || begin < end {
        if !is_at_end && end - begin < chunks::MAX_CHUNK {
            block.copy_within(begin..end, 0);
            (begin, end) = (0, end - begin);
            let length = file.read(&mut block[end..])?;
            is_at_end = length == 0;
            end += length;
            continue;
        }
        let length = chunks::end_of_first(&block[begin..end]);
        chunks.push(Chunk::of(&block[begin..begin + length]));
        begin += length;
    }
    Ok(chunks)
}
