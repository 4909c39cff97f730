//! Columns of text, aligned as kubectl aligns them.

use unicode_width::UnicodeWidthStr as _;

/// The narrowest column, with the space behind it.
const NARROWEST: usize = 6;
/// Between columns.
const GAP: usize = 3;

/// How wide each column is; it never becomes narrower, so that later rows stand under earlier ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Widths(Vec<usize>);

impl Widths {
    /// Lines with what is in the columns; the last one is as long as it is.
    pub(crate) fn align(&mut self, rows: &[Vec<String>]) -> String {
        for row in rows {
            let (_, padded) = row.split_last().map_or((None, &[][..]), |(last, padded)| (Some(last), padded));
            for (index, cell) in padded.iter().enumerate() {
                let width = (cell.width() + GAP).max(NARROWEST);
                match self.0.get_mut(index) {
                    Some(known) => *known = width.max(*known),
                    None => self.0.push(width),
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
                let width = self.0.get(index).copied().unwrap_or(NARROWEST);
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
