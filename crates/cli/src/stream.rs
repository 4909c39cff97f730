//! The session's log on the terminal, line by line. Scripts rely on the prefix.

use lilt_model::ResourceName;
use lilt_model::log::{Level, Line};
use lilt_store::LogReader;
use tokio_util::sync::CancellationToken;

use crate::terminal;

/// Lines printed at once.
const PAGE: usize = 2000;
/// Names are cut to this width.
const WIDTH: usize = 13;

/// Prints all lines until cancelled, then what is left.
pub(crate) async fn follow(logs: LogReader, cancel: CancellationToken) {
    let painter = Painter { colours: terminal::has_colours() };
    let mut next = 0;
    loop {
        next = print_from(&logs, &painter, next);
        tokio::select! {
            _ = logs.grown(next) => {}
            () = cancel.cancelled() => break,
        }
    }
    print_from(&logs, &painter, next);
}

/// Prints everything from a line on; returns the number of the line after it.
fn print_from(logs: &LogReader, painter: &Painter, mut next: u64) -> u64 {
    loop {
        let lines = logs.read(next, PAGE);
        let Some(last) = lines.last() else { return next };
        next = last.seq + 1;
        let text: String = lines.iter().map(|line| painter.line(line)).collect();
        terminal::print(&text);
    }
}

struct Painter {
    colours: bool,
}

impl Painter {
    fn line(&self, line: &Line) -> String {
        let text = self.level(line.level, &line.text);
        match line.resource.as_ref().filter(|name| !name.is_tiltfile()) {
            None => format!("{text}\n"),
            Some(name) => format!("{} │ {text}\n", self.name(name)),
        }
    }

    fn name(&self, name: &ResourceName) -> String {
        let cut = cut(name.as_str());
        if !self.colours {
            return cut;
        }
        let colour = colour_of(name.as_str());
        let code = if colour < 8 { 30 + colour } else { 82 + colour };
        format!("\x1b[{code}m{cut}\x1b[0m")
    }

    fn level(&self, level: Level, text: &str) -> String {
        let colour = match level {
            Level::Info => return text.to_owned(),
            Level::Warn => 33,
            Level::Error => 31,
        };
        if self.colours { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The terminal's colour for a name, always the same.
pub(crate) fn colour_of(name: &str) -> u8 {
    /// Told apart on dark and light backgrounds.
    const COLOURS: [u8; 6] = [6, 5, 4, 2, 3, 14];
    let sum: usize = name.bytes().map(usize::from).sum();
    COLOURS[sum % COLOURS.len()]
}

/// Right-aligned in its column; a longer name keeps its beginning.
pub(crate) fn cut(name: &str) -> String {
    let length = name.chars().count();
    if length <= WIDTH {
        return format!("{name:>WIDTH$}");
    }
    let begin: String = name.chars().take(WIDTH - 1).collect();
    format!("{begin}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_have_the_form_that_scripts_match() {
        assert_eq!(cut("loc"), "          loc");
        assert_eq!(cut("thirteenchars"), "thirteenchars");
        assert_eq!(cut("web-with-a-very-long-name"), "web-with-a-v…");
    }
}
