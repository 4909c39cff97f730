//! Formats figures as a table and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::figure::Figure;
use crate::memory;

pub(crate) fn text(figures: &[Figure]) -> String {
    let mut rows = vec![["work", "at most", "measured", "p95", "least", "samples", "met"].map(String::from)];
    rows.extend(figures.iter().map(row));
    let mut widths = [0; 7];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        line(&mut text, row, &widths);
        if index == 0 {
            line(&mut text, &widths.map(|width| "-".repeat(width)), &widths);
        }
    }
    let missed = figures.iter().filter(|figure| figure.is_met() == Some(false)).count();
    let limited = figures.iter().filter(|figure| figure.limit.is_some()).count();
    let _ = write!(
        text,
        "\n{} of {limited} met. \"measured\" is the median. Load of this machine: {}",
        limited - missed,
        memory::load()
    );
    text
}

fn line(text: &mut String, row: &[String; 7], widths: &[usize; 7]) {
    let cells: Vec<String> = row
        .iter()
        .zip(widths)
        .enumerate()
        .map(|(column, (cell, width))| match column {
            0 | 6 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        })
        .collect();
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn row(figure: &Figure) -> [String; 7] {
    let samples = &figure.samples;
    let many = samples.len() > 1;
    let unit = figure.unit;
    [
        figure.work.clone(),
        figure.limit.map(|limit| format!("{limit} {unit}")).unwrap_or_default(),
        format!("{} {unit}", number(samples.median())),
        if many { number(samples.p95()) } else { String::new() },
        if many { number(samples.min()) } else { String::new() },
        samples.len().to_string(),
        match figure.is_met() {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "",
        }
        .into(),
    ]
}

/// Formats a number with three significant digits.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

pub(crate) fn json(figures: &[Figure], failures: &[String]) -> Value {
    let figures: Vec<Value> = figures
        .iter()
        .map(|figure| {
            json!({
                "key": figure.key,
                "work": figure.work,
                "unit": figure.unit.to_string(),
                "limit": figure.limit,
                "median": figure.samples.median(),
                "p95": figure.samples.p95(),
                "least": figure.samples.min(),
                "samples": figure.samples.len(),
                "met": figure.is_met(),
            })
        })
        .collect();
    json!({"figures": figures, "not_measured": failures, "load": memory::load()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Unit;

    #[test]
    fn missed_figure_is_marked_and_counted() {
        let figures = [
            Figure::new("a", "quick", Unit::Milliseconds, 9.0).at_most(10.0),
            Figure::new("b", "slow", Unit::Milliseconds, 11.0).at_most(10.0),
            Figure::new("c", "whatever", Unit::Times, 3.0),
        ];
        let text = text(&figures);
        let cell = |row: usize, column: usize| {
            text.lines().nth(row + 2).unwrap().split('|').nth(column + 1).unwrap().trim()
        };
        assert_eq!((cell(0, 2), cell(0, 6)), ("9.00 ms", "yes"));
        assert_eq!((cell(1, 1), cell(1, 6)), ("10 ms", "NO"));
        assert_eq!((cell(2, 1), cell(2, 6)), ("", ""));
        assert!(text.contains("1 of 2 met"));
        assert_eq!(json(&figures, &[])["figures"][1]["met"], false);
        assert_eq!(json(&figures, &[])["figures"][2]["met"], Value::Null);
    }
}
