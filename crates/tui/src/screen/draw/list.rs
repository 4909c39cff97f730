//! Draws the list of resources with both of their statuses.

use ratatui::style::Style;

use super::{Canvas, Paint};
use crate::screen::list::Row;
use crate::screen::model::{Focus, Mode, Model};
use crate::status::{self, Kind, Shape, is_manual, messages};
use crate::wrap::cut;

/// `✓ Changes waiting`
const STATUS: u16 = 18;
const MIN_NAME_WIDTH: u16 = 12;
/// With less room than this, no message is shown.
const MIN_MESSAGE_WIDTH: u16 = 12;

pub(super) fn draw(model: &Model, paint: &Paint, canvas: &mut Canvas<'_>) {
    let columns = Columns::of(canvas.width());
    titles(model, paint, canvas, &columns);
    let list = &model.list;
    if list.rows.is_empty() {
        let words = match (model.overview.len(), list.filter.is_empty()) {
            (0, _) => "Waiting for the Tiltfile …",
            (_, false) => "Nothing matches the filter.",
            (_, true) => "The Tiltfile has no resources yet.",
        };
        canvas.put(2, 1, words, paint.dim());
        return;
    }
    let room = usize::from(canvas.height().saturating_sub(1));
    for (row, (at, it)) in (1..).zip(list.rows.iter().enumerate().skip(list.top).take(room)) {
        match it {
            Row::Heading { label, count } => {
                canvas.cell(
                    1,
                    row,
                    canvas.width().saturating_sub(2),
                    &format!("{label} ({count})"),
                    paint.strong(),
                );
            }
            Row::Resource { name, .. } => {
                resource(model, name, paint, canvas, row, &columns);
                if list.is_selected(at) {
                    canvas.put(0, row, "▸", paint.strong());
                    let style = if model.focus == Focus::List { paint.selected() } else { paint.strong() };
                    canvas.style_row(row, style);
                }
            }
        }
    }
}

/// The positions of the columns; 0 for a hidden one.
struct Columns {
    name: u16,
    update: u16,
    runtime: u16,
    message: u16,
    /// Only the symbols of the statuses, no words.
    marks: bool,
}

impl Columns {
    fn of(width: u16) -> Columns {
        let statuses = 2 * STATUS + 2;
        if width < statuses + MIN_NAME_WIDTH {
            // Two symbols at the end of the row.
            let name = width.saturating_sub(8);
            return Columns { name, update: 3 + name, runtime: 5 + name, message: 0, marks: true };
        }
        let name = (width / 3).clamp(MIN_NAME_WIDTH, 40).min(width - statuses);
        let update = 3 + name;
        let runtime = update + STATUS;
        let message = runtime + STATUS;
        let message = if message + MIN_MESSAGE_WIDTH <= width { message } else { 0 };
        Columns { name, update, runtime, message, marks: false }
    }
}

fn titles(model: &Model, paint: &Paint, canvas: &mut Canvas<'_>, columns: &Columns) {
    let typing = model.mode == Mode::Filter;
    let (words, style) = match model.list.filter.as_str() {
        "" if !typing => ("Resource".to_owned(), paint.dim()),
        filter => (format!("Resource /{filter}"), paint.strong()),
    };
    canvas.cell(2, 0, columns.name, &words, style);
    if !columns.marks {
        canvas.cell(columns.update, 0, STATUS, "Update", paint.dim());
        canvas.cell(columns.runtime, 0, STATUS, "Runtime", paint.dim());
    }
}

fn resource(
    model: &Model,
    name: &lilt_model::ResourceName,
    paint: &Paint,
    canvas: &mut Canvas<'_>,
    row: u16,
    columns: &Columns,
) {
    let Some(it) = model.overview.resource(name) else { return };
    canvas.cell(2, row, columns.name, name.as_str(), Style::new());
    let (update, runtime) = (status::update(it), status::runtime(it));
    for (column, status) in [(columns.update, update), (columns.runtime, runtime)] {
        let style = paint.shape(status.shape);
        let after = canvas.put(column, row, status.shape.mark(), style);
        if !columns.marks {
            canvas.cell(after + 1, row, STATUS - 3, status.word, style);
        }
    }
    if columns.message == 0 {
        return;
    }
    let room = canvas.width() - columns.message;
    match messages(it).first() {
        Some((kind, text)) => {
            let shape = match kind {
                Kind::Error => Shape::Error,
                Kind::Warning | Kind::Hold => Shape::Waiting,
                Kind::Note => Shape::Idle,
            };
            let first = text.lines().next().unwrap_or_default();
            canvas.put(columns.message, row, &cut(first, room.into()), paint.shape(shape));
        }
        None => {
            let manual = if is_manual(it) { ", manual" } else { "" };
            let words = format!("{}{manual}", status::kind(it));
            canvas.cell(columns.message, row, room, &words, paint.dim());
        }
    }
}
