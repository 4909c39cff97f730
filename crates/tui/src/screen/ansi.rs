//! Converts a log line into text and styles. Log lines are never printed raw: they must not control the terminal.
//!
//! Colours (16, 256 and 24 bit), bold, dim, italic, underline, inverse and strike are kept; every other control
//! sequence is dropped. Each line starts without style.

use ratatui::style::{Color, Modifier, Style};
use unicode_width::UnicodeWidthChar as _;
use vte::{Params, Parser, Perform};

/// Longer lines are cut in the terminal.
const MAX_LINE_LENGTH: usize = 16 * 1024;
const TAB: usize = 8;

/// A text without control characters, and its styles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Styled {
    pub(crate) text: String,
    /// End positions in `text`, ascending; the last one is the end of the text.
    pub(crate) runs: Vec<(usize, Style)>,
}

impl Styled {
    pub(crate) fn parse(line: &str, colours: bool) -> Styled {
        let shown = &line[..line.floor_char_boundary(MAX_LINE_LENGTH)];
        let mut writer =
            Writer { styled: Styled::default(), style: Style::new(), colours, column: 0, returned: false };
        Parser::new().advance(&mut writer, shown.as_bytes());
        if shown.len() < line.len() {
            writer.style = Style::new().add_modifier(Modifier::DIM);
            writer.text(&format!(" … {} more bytes", line.len() - shown.len()));
        }
        writer.styled
    }

    /// Returns the style at a position in the text.
    pub(crate) fn style_at(&self, at: usize) -> Style {
        let run = self.runs.partition_point(|(end, _)| *end <= at);
        self.runs.get(run).map_or_else(Style::new, |(_, style)| *style)
    }
}

struct Writer {
    styled: Styled,
    style: Style,
    colours: bool,
    column: usize,
    /// After a carriage return, the next text replaces the line, as progress bars expect.
    returned: bool,
}

impl Writer {
    fn push(&mut self, letter: char) {
        if std::mem::take(&mut self.returned) {
            self.styled = Styled::default();
            self.column = 0;
        }
        self.styled.text.push(letter);
        self.column += letter.width().unwrap_or(0);
        let end = self.styled.text.len();
        match self.styled.runs.last_mut() {
            Some((last, style)) if *style == self.style => *last = end,
            _ => self.styled.runs.push((end, self.style)),
        }
    }

    fn text(&mut self, text: &str) {
        text.chars().for_each(|letter| self.push(letter));
    }

    fn restyle(&mut self, params: &Params) {
        // Colons and semicolons are both accepted as separators.
        let codes: Vec<u16> = params.iter().flatten().copied().collect();
        if codes.is_empty() {
            self.style = Style::new();
        }
        let mut codes = codes.into_iter();
        while let Some(code) = codes.next() {
            self.style = match code {
                38 | 48 => match (code, extended(&mut codes)) {
                    (38, Some(colour)) => self.style.fg(colour),
                    (_, Some(colour)) => self.style.bg(colour),
                    (_, None) => self.style,
                },
                _ => simple(self.style, code),
            };
        }
        if !self.colours {
            self.style.fg = None;
            self.style.bg = None;
        }
    }
}

impl Perform for Writer {
    fn print(&mut self, letter: char) {
        // DEL, which the parser reports as printable.
        if letter != '\x7f' {
            self.push(letter);
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\t' => {
                let spaces = TAB - self.column % TAB;
                self.text(&" ".repeat(spaces));
            }
            b'\r' => self.returned = true,
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
        if action == 'm' && intermediates.is_empty() {
            self.restyle(params);
        }
    }
}

fn simple(style: Style, code: u16) -> Style {
    let with = |modifier| style.add_modifier(modifier);
    // Not `remove_modifier`, which would also remove it from the style below.
    let without = |modifier| Style { add_modifier: style.add_modifier - modifier, ..style };
    match code {
        0 => Style::new(),
        1 => with(Modifier::BOLD),
        2 => with(Modifier::DIM),
        3 => with(Modifier::ITALIC),
        4 => with(Modifier::UNDERLINED),
        7 => with(Modifier::REVERSED),
        9 => with(Modifier::CROSSED_OUT),
        22 => without(Modifier::BOLD | Modifier::DIM),
        23 => without(Modifier::ITALIC),
        24 => without(Modifier::UNDERLINED),
        27 => without(Modifier::REVERSED),
        29 => without(Modifier::CROSSED_OUT),
        30..=37 => style.fg(Color::Indexed(low(code - 30))),
        39 => Style { fg: None, ..style },
        40..=47 => style.bg(Color::Indexed(low(code - 40))),
        49 => Style { bg: None, ..style },
        90..=97 => style.fg(Color::Indexed(low(code - 90) + 8)),
        100..=107 => style.bg(Color::Indexed(low(code - 100) + 8)),
        _ => style,
    }
}

fn low(code: u16) -> u8 {
    u8::try_from(code).unwrap_or(0)
}

fn extended(codes: &mut impl Iterator<Item = u16>) -> Option<Color> {
    let mut byte = || codes.next().and_then(|code| u8::try_from(code).ok());
    match byte()? {
        5 => Some(Color::Indexed(byte()?)),
        2 => Some(Color::Rgb(byte()?, byte()?, byte()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &str) -> String {
        Styled::parse(line, true).text
    }

    #[test]
    fn ansi_colours_become_styles() {
        let styled = Styled::parse("a\x1b[1;31mb\x1b[0mc\x1b[38;5;200md\x1b[48:2:1:2:3me\x1b[m", true);
        assert_eq!(styled.text, "abcde");
        assert_eq!(styled.style_at(0), Style::new());
        assert_eq!(styled.style_at(1), Style::new().fg(Color::Indexed(1)).add_modifier(Modifier::BOLD));
        assert_eq!(styled.style_at(2), Style::new());
        assert_eq!(styled.style_at(3).fg, Some(Color::Indexed(200)));
        assert_eq!(styled.style_at(4).bg, Some(Color::Rgb(1, 2, 3)));
        let plain = Styled::parse("\x1b[1;31mb", false);
        assert_eq!(plain.style_at(0), Style::new().add_modifier(Modifier::BOLD), "NO_COLOR");
    }

    #[test]
    fn control_sequences_are_removed() {
        for line in [
            "\x1b[2J\x1b[Hhome",
            "\x1b]0;title\x07home",
            "\x1b]52;c;cGFzcw==\x1b\\home",
            "\x1b[?1049hho\x1bcme",
            "ho\x07\x08\x00\x7fme",
            "\u{9b}2Jhome",
            "\x1bP+q544e\x1b\\home",
            "home\x1b]8;;http://open",
        ] {
            let shown = text(line);
            assert!(shown.ends_with("home") || shown.contains("2Jhome"), "{line:?} became {shown:?}");
            assert!(!shown.contains(char::is_control), "{line:?} became {shown:?}");
        }
    }

    #[test]
    fn carriage_return_and_tabs_are_expanded() {
        assert_eq!(text("10%\r50%\r100%"), "100%");
        assert_eq!(text("done\r"), "done");
        assert_eq!(text("a\tb"), "a       b");
        assert_eq!(text("日本\tb"), "日本    b");
    }

    #[test]
    fn huge_line_is_cut_with_notice() {
        let line = "é".repeat(1024 * 1024);
        let shown = text(&line);
        assert!(shown.len() < MAX_LINE_LENGTH + 100, "{}", shown.len());
        assert!(shown.ends_with(" … 2080768 more bytes"), "{:?}", &shown[shown.len() - 40..]);
    }
}
