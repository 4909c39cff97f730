//! Segment files. This is the only module of the store that accesses files. A file is written once and never changed.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the module through which log segments reach the disk"
)]

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lilt_model::log::Source;
use lilt_model::os_error::is_shortage;
use lilt_model::{ResourceName, SpanId, Timestamp};

use super::segment::{Entry, Marks, Owner, Segment, SpanOwner};

/// How often reading a file is tried during a shortage of this machine, and the pause between two attempts.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

const HEAD: usize = 24;
const ENTRY: usize = 15;

/// Returns the path of the segment that begins with this line.
pub(crate) fn path(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("{first:020}.lines"))
}

/// Writes a segment. Returns the file's size.
pub(crate) fn write(path: &Path, segment: &Segment) -> io::Result<u64> {
    let spans: usize = segment.spans.iter().map(|span| span.id.as_str().len() + 80).sum();
    let mut head = Vec::with_capacity(HEAD + spans + segment.entries.len() * ENTRY);
    head.extend_from_slice(&segment.first.to_le_bytes());
    for length in [segment.spans.len(), segment.entries.len(), segment.text.len()] {
        head.extend_from_slice(&(length as u32).to_le_bytes());
    }
    for span in &segment.spans {
        put_text(&mut head, span.id.as_str());
        // A resource's name is not empty.
        put_text(&mut head, span.owner.resource.as_ref().map_or("", ResourceName::as_str));
        head.push(span.owner.source as u8);
    }
    for entry in &segment.entries {
        head.extend_from_slice(&entry.time.0.to_le_bytes());
        head.extend_from_slice(&entry.end.to_le_bytes());
        head.extend_from_slice(&entry.span.to_le_bytes());
        head.push(entry.marks.0);
    }
    let mut file = File::create(path)?;
    file.write_all(&head)?;
    file.write_all(segment.text.as_bytes())?;
    Ok((head.len() + segment.text.len()) as u64)
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Reads a segment. Retries for a moment if this machine lacks descriptors or memory.
pub(crate) fn read(path: &Path) -> io::Result<Segment> {
    let mut attempts = 1;
    let bytes = loop {
        match std::fs::read(path) {
            Err(error) if is_shortage(&error) && attempts < ATTEMPTS => {
                attempts += 1;
                std::thread::sleep(PAUSE);
            }
            read => break read?,
        }
    };
    parse(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the file is damaged"))
}

fn parse(bytes: &[u8]) -> Option<Segment> {
    let mut rest = bytes;
    let first = u64::from_le_bytes(take(&mut rest)?);
    let [spans, entries, length] =
        [take_length(&mut rest)?, take_length(&mut rest)?, take_length(&mut rest)?];
    let spans = (0..spans).map(|_| take_span(&mut rest)).collect::<Option<Vec<_>>>()?;
    let (table, text) = rest.split_at_checked(entries.checked_mul(ENTRY)?)?;
    let entries = table.chunks_exact(ENTRY).map(entry).collect::<Option<Vec<_>>>()?;
    let sound = |entry: &Entry| usize::from(entry.span) < spans.len() && entry.end as usize <= length;
    if text.len() != length
        || !entries.iter().all(sound)
        || !entries.is_sorted_by(|one, next| one.end < next.end)
    {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?.to_owned();
    Some(Segment { first, entries, text, spans })
}

/// Deletes a file, if it exists.
pub(crate) fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

fn entry(bytes: &[u8]) -> Option<Entry> {
    let mut rest = bytes;
    Some(Entry {
        time: Timestamp(i64::from_le_bytes(take(&mut rest)?)),
        end: u32::from_le_bytes(take(&mut rest)?),
        span: u16::from_le_bytes(take(&mut rest)?),
        marks: Marks(take::<1>(&mut rest)?[0]),
    })
}

fn take_span(rest: &mut &[u8]) -> Option<SpanOwner> {
    let id = SpanId::new(take_text(rest)?);
    let resource = Some(take_text(rest)?).filter(|name| !name.is_empty()).map(ResourceName::new);
    let source = if take::<1>(rest)?[0] == Source::Build as u8 { Source::Build } else { Source::Runtime };
    Some(SpanOwner { id, owner: Owner { resource, source } })
}

fn take_text<'b>(rest: &mut &'b [u8]) -> Option<&'b str> {
    let length = take_length(rest)?;
    let (text, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    std::str::from_utf8(text).ok()
}

fn take_length(rest: &mut &[u8]) -> Option<usize> {
    Some(u32::from_le_bytes(take(rest)?) as usize)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}
