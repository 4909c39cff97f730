//! Aligns columns of text as kubectl does.

use unicode_width::UnicodeWidthStr as _;

/// The minimum width of a table column, with the gap after it.
const MIN_COLUMN_WIDTH: usize = 6;
/// The gap between columns of a table.
const GAP: usize = 3;
/// The gap between a label and its value.
const CLOSE_GAP: usize = 2;

/// The widths of the columns. They never shrink, so that later rows align with earlier ones.
#[derive(Clone, Debug)]
pub(crate) struct Widths {
    columns: Vec<usize>,
    narrowest: usize,
    gap: usize,
}

impl Default for Widths {
    fn default() -> Self {
        Self { columns: Vec::new(), narrowest: MIN_COLUMN_WIDTH, gap: GAP }
    }
}

impl Widths {
    /// Pads the columns of each row; the last column is not padded.
    pub(crate) fn align(&mut self, rows: &[Vec<String>]) -> String {
        for row in rows {
            let (_, padded) = row.split_last().map_or((None, &[][..]), |(last, padded)| (Some(last), padded));
            for (index, cell) in padded.iter().enumerate() {
                let width = (cell.width() + self.gap).max(self.narrowest);
                match self.columns.get_mut(index) {
                    Some(known) => *known = width.max(*known),
                    None => self.columns.push(width),
                }
            }
        }
        rows.iter().map(|row| self.line(row)).collect()
    }

    fn line(&self, row: &[String]) -> String {
        let mut line = String::new();
        for (index, cell) in row.iter().enumerate() {
            line.push_str(cell);
            if index + 1 < row.len() {
                let width = self.columns.get(index).copied().unwrap_or_default();
                line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width())));
            }
        }
        line.push('\n');
        line
    }
}

/// Aligns the rows of one table.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    Widths::default().align(rows)
}

/// Aligns pairs of labels and values.
pub(crate) fn paired(rows: &[Vec<String>]) -> String {
    Widths { columns: Vec::new(), narrowest: 0, gap: CLOSE_GAP }.align(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let mut widths = Widths::default();
        let text = widths.align(&[row(&["NAME", "A", "AGE"]), row(&["grün", "1", "5s"])]);
        assert_eq!(text, "NAME   A     AGE\ngrün   1     5s\n");
        assert_eq!(widths.align(&[row(&["x", "2", "6s"])]), "x      2     6s\n");
    }
}
