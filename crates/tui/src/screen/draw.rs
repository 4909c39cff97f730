//! Draws the model on a screen of any size. Only visible parts are drawn.

mod details;
mod help;
mod list;
mod log;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use unicode_width::UnicodeWidthStr as _;

use super::model::{Focus, Mode, Model};
use crate::status::{Overall, Shape};
use crate::wrap::cut;

pub(crate) fn draw(model: &Model, frame: &mut Frame<'_>) {
    let areas = model.areas();
    let paint = Paint { colours: model.colours };
    let screen = frame.buffer_mut();
    header(model, &paint, &mut Canvas::new(screen, areas.header));
    banner(model, &paint, &mut Canvas::new(screen, areas.banner));
    list::draw(model, &paint, &mut Canvas::new(screen, areas.list));
    details::draw(model, &paint, &mut Canvas::new(screen, areas.details));
    log::draw(model, &paint, &mut Canvas::new(screen, areas.log));
    footer(model, &paint, &mut Canvas::new(screen, areas.footer));
    if model.mode == Mode::Help {
        let whole = screen.area;
        help::draw(&paint, &mut Canvas::new(screen, whole));
    }
}

/// A part of the screen that clips what is drawn.
struct Canvas<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
}

impl<'a> Canvas<'a> {
    fn new(buffer: &'a mut Buffer, area: Rect) -> Canvas<'a> {
        // The screen may be smaller than the size in the model.
        let area = area.intersection(buffer.area);
        Canvas { buffer, area }
    }

    fn width(&self) -> u16 {
        self.area.width
    }

    fn height(&self) -> u16 {
        self.area.height
    }

    /// Writes text at a position of this part; returns the column after it.
    fn put(&mut self, column: u16, row: u16, text: &str, style: Style) -> u16 {
        if row >= self.area.height || column >= self.area.width {
            return column;
        }
        let room = self.area.width - column;
        let (end, _) =
            self.buffer.set_stringn(self.area.x + column, self.area.y + row, text, room.into(), style);
        end - self.area.x
    }

    /// Writes text into so many columns, cut with `…`.
    fn cell(&mut self, column: u16, row: u16, width: u16, text: &str, style: Style) {
        let width = width.min(self.area.width.saturating_sub(column));
        self.put(column, row, &cut(text, width.into()), style);
    }

    fn style_row(&mut self, row: u16, style: Style) {
        if row < self.area.height {
            self.buffer.set_style(Rect { y: self.area.y + row, height: 1, ..self.area }, style);
        }
    }

    /// A rule with a title in it.
    fn title(&mut self, text: &str, active: bool, paint: &Paint) {
        let style = if active { paint.strong() } else { paint.dim() };
        let after = self.put(0, 0, "─ ", style);
        let room = self.width().saturating_sub(after + 2);
        self.cell(after, 0, room, text, style);
        let after = after + u16::try_from(text.width()).unwrap_or(u16::MAX).min(room);
        let rest = self.width().saturating_sub(after + 1);
        self.put(after + 1, 0, &"─".repeat(rest.into()), style);
    }
}

/// Styles, with or without colours.
struct Paint {
    colours: bool,
}

impl Paint {
    fn colour(&self, colour: Color) -> Style {
        if self.colours { Style::new().fg(colour) } else { Style::new() }
    }

    fn shape(&self, shape: Shape) -> Style {
        match shape {
            Shape::Ok => self.colour(Color::Green),
            Shape::Busy => self.colour(Color::Blue).add_modifier(Modifier::BOLD),
            Shape::Starting => self.colour(Color::Blue),
            Shape::Waiting => self.colour(Color::Yellow),
            Shape::Error => self.colour(Color::Red).add_modifier(Modifier::BOLD),
            Shape::Idle | Shape::Absent => self.dim(),
        }
    }

    fn dim(&self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn strong(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn selected(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

fn header(model: &Model, paint: &Paint, canvas: &mut Canvas<'_>) {
    let project = if model.overview.project.is_empty() { "lilt" } else { &model.overview.project };
    let mut column = canvas.put(1, 0, &cut(project, 24), paint.strong());
    for overall in Overall::ALL {
        let count = model.overview.count(overall);
        if count > 0 {
            let words = format!("{} {count} {}", overall.shape().mark(), overall.word());
            // A truncated count would be misleading.
            if usize::from(column) + 2 + words.width() > usize::from(canvas.width()) {
                break;
            }
            column = canvas.put(column + 2, 0, &words, paint.shape(overall.shape()));
        }
    }
    let Some(address) = &model.address else { return };
    let width = u16::try_from(address.width()).unwrap_or(u16::MAX);
    let place = canvas.width().saturating_sub(width.saturating_add(1));
    if place > column + 1 {
        canvas.put(place, 0, address, paint.dim());
    }
}

/// Draws the most urgent problem of the session, and the key that helps.
fn banner(model: &Model, paint: &Paint, canvas: &mut Canvas<'_>) {
    let problems = model.overview.problems();
    let Some(first) = problems.first() else { return };
    let more = match problems.len() {
        1 => String::new(),
        count => format!("(and {} more) ", count - 1),
    };
    let words = format!("{} {more}{}", Shape::Error.mark(), first.text);
    let key_width = u16::try_from(first.key.width()).unwrap_or(u16::MAX);
    let key_column = canvas.width().saturating_sub(key_width.saturating_add(1));
    canvas.cell(1, 0, key_column.saturating_sub(3), &words, paint.shape(Shape::Error));
    canvas.put(key_column, 0, first.key, paint.strong());
}

/// Draws the typed text, a message, or key hints.
fn footer(model: &Model, paint: &Paint, canvas: &mut Canvas<'_>) {
    let typing = |words: &str, typed: &str| (format!("{words}: {typed}▏"), paint.strong());
    let (words, style) = match &model.mode {
        _ if model.ending => ("Ending: everything that was started is stopped …".to_owned(), paint.strong()),
        Mode::Filter => typing("Filter", &model.list.filter),
        Mode::Search(typed) => typing("Search the log for", typed),
        Mode::Quit => ("End the session? y yes, any other key no".to_owned(), paint.strong()),
        Mode::Normal | Mode::Help => match (&model.notice, model.pane.is_searching()) {
            (_, true) => (format!("searching \"{}\" … Esc stops", model.pane.pattern), paint.strong()),
            (Some(notice), false) => (notice.clone(), paint.strong()),
            (None, false) => (hints(model).to_owned(), paint.dim()),
        },
    };
    canvas.cell(1, 0, canvas.width().saturating_sub(1), &words, style);
}

fn hints(model: &Model) -> &'static str {
    match model.focus {
        Focus::List => "↑↓ choose  ⏎ update  / filter  s search  l all logs  Tab log  ? help  q quit",
        Focus::Log => "↑↓ scroll  / search  n N next  f follow  w wrap  y copy  Tab list  ? help  q quit",
    }
}
