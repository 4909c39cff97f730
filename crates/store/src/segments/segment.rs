//! A segment: some thousand consecutive lines in compact form.

use lilt_model::log::{Level, Line, Source};
use lilt_model::{ResourceName, SpanId, Timestamp};
use serde::Serialize;

/// Who wrote the lines of a span.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    /// None: lilt.
    pub(crate) resource: Option<ResourceName>,
    pub(crate) source: Source,
}

/// A span and its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpanOwner {
    pub(crate) id: SpanId,
    pub(crate) owner: Owner,
}

/// Flags and level of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(pub(crate) u8);

impl Marks {
    pub(crate) const CONTINUES: Marks = Marks(4);
    pub(crate) const OPEN: Marks = Marks(8);
    pub(crate) const HEADLINE: Marks = Marks(16);
    pub(crate) fn of(level: Level) -> Marks {
        Marks(level as u8)
    }

    pub(crate) fn level(self) -> Level {
        match self.0 & 3 {
            0 => Level::Info,
            1 => Level::Warn,
            _ => Level::Error,
        }
    }

    pub(crate) fn has(self, mark: Marks) -> bool {
        self.0 & mark.0 != 0
    }

    #[must_use]
    pub(crate) fn and(self, mark: Marks) -> Marks {
        Marks(self.0 | mark.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) time: Timestamp,
    /// The end of the line in the text, after its line end. It begins where the previous one ends.
    pub(crate) end: u32,
    /// Index into the segment's spans.
    pub(crate) span: u16,
    pub(crate) marks: Marks,
}

#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// The number of the first line.
    pub(crate) first: u64,
    pub(crate) entries: Vec<Entry>,
    /// All lines, each with a line end, so that they can be searched at once.
    pub(crate) text: String,
    pub(crate) spans: Vec<SpanOwner>,
}

impl Segment {
    pub(crate) fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    pub(crate) fn begin_of(&self, index: usize) -> usize {
        if index == 0 { 0 } else { self.entries[index - 1].end as usize }
    }

    pub(crate) fn text_of(&self, index: usize) -> &str {
        let end = self.entries[index].end as usize - 1;
        self.text.get(self.begin_of(index)..end).unwrap_or_default()
    }

    pub(crate) fn line(&self, index: usize) -> LineRef<'_> {
        let entry = self.entries[index];
        let span = &self.spans[usize::from(entry.span)];
        LineRef {
            seq: self.first + index as u64,
            time: entry.time,
            resource: span.owner.resource.as_ref(),
            span: &span.id,
            source: span.owner.source,
            level: entry.marks.level(),
            text: self.text_of(index),
            continues: entry.marks.has(Marks::CONTINUES),
            open: entry.marks.has(Marks::OPEN),
            headline: entry.marks.has(Marks::HEADLINE),
        }
    }

    /// Returns its size in bytes.
    pub(crate) fn size(&self) -> usize {
        let spans: usize = self.spans.iter().map(|span| span.id.as_str().len() + 96).sum();
        self.text.len() + self.entries.len() * size_of::<Entry>() + spans
    }

    /// Copies a range of lines.
    pub(crate) fn copy(&self, from: usize, until: usize) -> Segment {
        let begin = self.begin_of(from);
        let text_end = if until == from { begin } else { self.entries[until - 1].end as usize };
        let mut copy = Segment {
            first: self.first + from as u64,
            entries: Vec::with_capacity(until - from),
            text: self.text[begin..text_end].to_owned(),
            spans: Vec::new(),
        };
        // The index of each span in the copy.
        let mut indices: Vec<Option<u16>> = vec![None; self.spans.len()];
        for entry in &self.entries[from..until] {
            let place = &mut indices[usize::from(entry.span)];
            let span = *place.get_or_insert_with(|| {
                copy.spans.push(self.spans[usize::from(entry.span)].clone());
                (copy.spans.len() - 1) as u16
            });
            copy.entries.push(Entry { end: entry.end - begin as u32, span, ..*entry });
        }
        copy
    }
}

/// A line of a segment. Its JSON is that of a [`Line`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LineRef<'s> {
    pub seq: u64,
    pub time: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<&'s ResourceName>,
    pub span: &'s SpanId,
    pub source: Source,
    pub level: Level,
    pub text: &'s str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub headline: bool,
}

impl LineRef<'_> {
    pub fn to_line(&self) -> Line {
        Line {
            seq: self.seq,
            time: self.time,
            resource: self.resource.cloned(),
            span: self.span.clone(),
            source: self.source,
            level: self.level,
            text: self.text.to_owned(),
            continues: self.continues,
            open: self.open,
            headline: self.headline,
        }
    }
}
