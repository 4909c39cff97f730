//! What lies where a file shall be, read piece by piece: the memory is the container's.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use lilt_agent::Digest;
use lilt_agent::chunks::{self, Chunk};
use lilt_agent::protocol::Has;

use super::Wanted;
use crate::serve::memory::Memory;

/// As much as is held at once.
const BLOCK: usize = 512 << 10;

pub(super) enum Found {
    /// The same content; whether its mode and time can be changed.
    Same { own: bool },
    /// Something else, or nothing.
    Other(Has),
}

/// What cannot be read is as good as not there.
pub(super) fn look(path: &Path, about: Option<&Metadata>, file: &Wanted, memory: &Memory) -> Found {
    let nothing = Found::Other(Has::Nothing);
    let Some(about) = about else { return nothing };
    let big = |size: u64| size >= chunks::WORTH_CUTTING as u64;
    let both_big = big(about.len()) && big(file.size);
    if !about.is_file() || !(about.len() == file.size || both_big) {
        return nothing;
    }
    if let Some(known) = memory.digest(path, about)
        && known != file.digest
    {
        return if both_big { Found::Other(Has::Known(known)) } else { nothing };
    }
    if about.len() == file.size && digest_of(path).is_ok_and(|digest| digest == file.digest) {
        return Found::Same { own: is_own(about) };
    }
    if !both_big {
        return nothing;
    }
    chunks_of(path).map_or(nothing, |chunks| Found::Other(Has::Chunks(chunks)))
}

fn is_own(about: &Metadata) -> bool {
    let user = nix::unistd::geteuid();
    user.is_root() || about.uid() == user.as_raw()
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

/// No more than the file needs: most are small, and there may be thousands.
fn block_for(file: &File) -> io::Result<Vec<u8>> {
    let size = usize::try_from(file.metadata()?.len()).unwrap_or(BLOCK);
    Ok(vec![0; size.clamp(1, BLOCK)])
}

fn chunks_of(path: &Path) -> io::Result<Vec<Chunk>> {
    let mut file = File::open(path)?;
    let mut block = vec![0; BLOCK];
    let (mut begin, mut end, mut ended) = (0, 0, false);
    let mut chunks = Vec::new();
    while !ended || begin < end {
        if !ended && end - begin < chunks::MOST {
            block.copy_within(begin..end, 0);
            (begin, end) = (0, end - begin);
            let length = file.read(&mut block[end..])?;
            ended = length == 0;
            end += length;
            continue;
        }
        let length = chunks::end_of_first(&block[begin..end]);
        chunks.push(Chunk::of(&block[begin..begin + length]));
        begin += length;
    }
    Ok(chunks)
}
