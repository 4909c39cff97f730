//! Draws the visible rows of the log.

use lilt_model::log::{Level, Source};
use ratatui::style::{Color, Modifier, Style};

use super::{Canvas, Paint};
use crate::screen::model::{Focus, Model, PREFIX};
use crate::screen::window::LoadedLine;
use crate::stream::{self, NAME_WIDTH};

pub(super) fn draw(model: &Model, paint: &Paint, canvas: &mut Canvas<'_>) {
    if canvas.height() == 0 {
        return;
    }
    canvas.title(&title(model), model.focus == Focus::Log, paint);
    let pane = &model.pane;
    if pane.window.lines.is_empty() {
        canvas.put(1, 1, "No lines yet.", paint.dim());
    }
    let text = if model.has_prefix() { PREFIX + 1 } else { 1 };
    for (row, (line, part, first)) in (1..canvas.height()).zip(pane.visible()) {
        mark(model, line, first, paint, canvas, row);
        if model.has_prefix() {
            let name = line.resource.as_ref().map_or("", |name| name.as_str());
            let label = if first { line.label.as_str() } else { "" };
            let after = canvas.put(1, row, &format!("{label:>NAME_WIDTH$}"), name_style(name, paint));
            canvas.put(after, row, " │ ", paint.dim());
        }
        let mut column = text;
        for (piece, style) in pieces(model, line, part, paint) {
            column = canvas.put(column, row, piece, style);
        }
    }
}

fn title(model: &Model) -> String {
    let whose = match model.list.selected() {
        Some(name) if !model.all => name.to_string(),
        _ => "all resources".to_owned(),
    };
    let mut words = vec![format!("Log of {whose}")];
    words.extend(model.source.map(|source| match source {
        Source::Build => "updates only".to_owned(),
        Source::Runtime => "runtime only".to_owned(),
    }));
    words.extend((!model.pane.pattern.is_empty()).then(|| format!("/{}", model.pane.pattern)));
    words.push(if model.pane.follow { "following" } else { "not following" }.to_owned());
    words.join(" · ")
}

/// Draws the mark of the cursor or the level, which does not depend on colour.
fn mark(model: &Model, line: &LoadedLine, first: bool, paint: &Paint, canvas: &mut Canvas<'_>, row: u16) {
    let (mark, style) = match line.level {
        _ if model.focus == Focus::Log && line.seq == model.pane.cursor => ("▸", paint.strong()),
        Level::Error if first => ("✗", level_style(Level::Error, paint)),
        Level::Warn if first => ("!", level_style(Level::Warn, paint)),
        _ => return,
    };
    canvas.put(0, row, mark, style);
}

fn level_style(level: Level, paint: &Paint) -> Style {
    match level {
        Level::Info => Style::new(),
        Level::Warn => paint.colour(Color::Yellow),
        Level::Error => paint.colour(Color::Red),
    }
}

fn name_style(name: &str, paint: &Paint) -> Style {
    paint.colour(Color::Indexed(stream::colour_of(name)))
}

/// Splits a row into parts of one style: the line's own, that of its level, and search matches.
fn pieces<'a>(
    model: &Model,
    line: &'a LoadedLine,
    part: std::ops::Range<usize>,
    paint: &Paint,
) -> Vec<(&'a str, Style)> {
    let text = &line.styled.text;
    let matches = model.pane.matches(text);
    let base = level_style(line.level, paint);
    // All positions where the style may change.
    let ends = line.styled.runs.iter().map(|(end, _)| *end);
    let edges = matches.iter().flat_map(|found| [found.start, found.end]);
    let mut places: Vec<usize> = ends.chain(edges).filter(|at| *at > part.start && *at < part.end).collect();
    places.push(part.end);
    places.sort_unstable();
    places.dedup();
    let mut begin = part.start;
    let mut pieces = Vec::new();
    for end in places {
        let mut style = base.patch(line.styled.style_at(begin));
        if matches.iter().any(|found| found.contains(&begin)) {
            style = style.add_modifier(Modifier::REVERSED);
        }
        pieces.push((&text[begin..end], style));
        begin = end;
    }
    pieces
}
