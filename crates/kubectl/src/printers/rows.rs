//! Columns of text, aligned as kubectl aligns them.

use unicode_width::UnicodeWidthStr as _;

/// The narrowest column of a table, with the space behind it.
const NARROWEST: usize = 6;
/// Between the columns of a table.
const GAP: usize = 3;
/// Between what is told and its value, where there is no table.
const CLOSE_GAP: usize = 2;

/// How wide each column is; it never becomes narrower, so that later rows stand under earlier ones.
#[derive(Clone, Debug)]
pub(crate) struct Widths {
    columns: Vec<usize>,
    narrowest: usize,
    gap: usize,
}

impl Default for Widths {
    fn default() -> Self {
        Self { columns: Vec::new(), narrowest: NARROWEST, gap: GAP }
    }
}

impl Widths {
    /// Lines with what is in the columns; the last one is as long as it is.
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

/// The rows of one table.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    Widths::default().align(rows)
}

/// Pairs, each with its value behind it.
pub(crate) fn paired(rows: &[Vec<String>]) -> String {
    Widths { columns: Vec::new(), narrowest: 0, gap: CLOSE_GAP }.align(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_one_another() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let mut widths = Widths::default();
        let text = widths.align(&[row(&["NAME", "A", "AGE"]), row(&["grün", "1", "5s"])]);
        assert_eq!(text, "NAME   A     AGE\ngrün   1     5s\n");
        assert_eq!(widths.align(&[row(&["x", "2", "6s"])]), "x      2     6s\n");
    }
}
