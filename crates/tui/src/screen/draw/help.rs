//! The overlay that lists all keys.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Canvas, Paint};

const KEYS: &[(&str, &str)] = &[
    ("↑ ↓  k j", "choose a resource; in the log, a line"),
    ("Tab", "from the list to the log and back"),
    ("/", "filter the resources; in the log, search"),
    ("e", "next resource that fails"),
    ("⏎  r  t", "update the resource now"),
    ("c", "cancel its update"),
    ("R", "reconnect now to what is unreachable"),
    ("d", "disable or enable it"),
    ("m", "automatic or manual updates"),
    ("b", "open its endpoint in a browser"),
    ("o", "open its page on the dashboard"),
    ("y", "copy the pod's name; in the log, the line"),
    ("l", "log of all resources, or of this one"),
    ("1 2 3", "whole log, updates only, runtime only"),
    ("PgUp PgDn", "scroll the log"),
    ("f  End", "follow the log; Home goes to its begin"),
    ("s  n N", "search the log; next, previous"),
    ("w  ← →", "wrap lines; scroll sideways"),
    ("z", "the log on the whole screen"),
    ("Esc", "back"),
    ("q  Ctrl-C", "end the session"),
];

const WIDTH: u16 = 60;
const KEY: u16 = 13;

pub(super) fn draw(paint: &Paint, canvas: &mut Canvas<'_>) {
    let height = u16::try_from(KEYS.len()).unwrap_or(u16::MAX) + 2;
    let (width, height) = (WIDTH.min(canvas.width()), height.min(canvas.height()));
    let area = Rect::new((canvas.width() - width) / 2, (canvas.height() - height) / 2, width, height);
    let mut canvas = Canvas::new(canvas.buffer, area);
    for row in 0..canvas.height() {
        canvas.put(0, row, &" ".repeat(width.into()), Style::reset());
    }
    canvas.title("Keys · any key closes", true, paint);
    for (row, (key, meaning)) in (1..canvas.height()).zip(KEYS) {
        canvas.put(2, row, key, paint.strong());
        canvas.cell(KEY + 2, row, canvas.width().saturating_sub(KEY + 3), meaning, Style::new());
    }
}
