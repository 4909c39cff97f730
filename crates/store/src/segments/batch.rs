//! A batch of lines to append to the log.

use super::segment::Marks;

/// Lines of one span that arrived together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The lines, each with its line end.
    pub(crate) text: String,
    /// The marks of lines that have any, with the offset of the line, in order.
    pub(crate) marks: Vec<(usize, Marks)>,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Appends one line or piece, given without its line end.
    pub(crate) fn push(&mut self, line: &str, marks: Marks) {
        if marks != Marks::default() {
            self.marks.push((self.text.len(), marks));
        }
        self.text.push_str(line);
        self.text.push('\n');
    }
}
