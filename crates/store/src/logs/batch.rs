//! Lines on their way into the store.

use crate::segments::segment::Marks;

/// Lines of one span that came at once.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Each with its line end.
    pub(crate) text: String,
    /// Of the lines that have any, by where they begin in the text, in order.
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
