//! Formats log lines. Scripts rely on the prefix.

use std::borrow::Cow;
use std::collections::HashMap;

use lilt_model::log::{Level, Line};
use lilt_model::{ResourceName, SpanId, escape};
use lilt_store::LineRef;

use super::name_column::NameColumn;

const RESET: &str = "\x1b[0m";

/// Formats lines, and joins consecutive pieces of one line.
#[derive(Debug)]
pub struct Painter {
    colours: bool,
    /// Whether to print the resource's name.
    names: bool,
    /// The span of the last piece, if its line has not ended.
    open: Option<SpanId>,
    labels: NameColumn,
    /// The last name with its prefix: most lines have the name of the one before.
    prefix: (Option<ResourceName>, String),
    /// Whether control sequences other than colours are printed, too.
    raw: bool,
    /// Control sequences that had begun at the end of an open line. The next piece of that line has the rest.
    unfinished: HashMap<SpanId, String>,
}

/// The parts of a log line that are printed.
#[derive(Debug)]
pub struct Piece<'l> {
    pub resource: Option<&'l ResourceName>,
    pub span: &'l SpanId,
    pub level: Level,
    pub text: &'l str,
    pub continues: bool,
    pub open: bool,
    pub headline: bool,
}

impl<'l> From<&LineRef<'l>> for Piece<'l> {
    fn from(line: &LineRef<'l>) -> Self {
        let LineRef { resource, span, level, text, continues, open, headline, .. } = *line;
        Piece { resource, span, level, text, continues, open, headline }
    }
}

impl<'l> From<&'l Line> for Piece<'l> {
    fn from(line: &'l Line) -> Self {
        Piece {
            resource: line.resource.as_ref(),
            span: &line.span,
            level: line.level,
            text: &line.text,
            continues: line.continues,
            open: line.open,
            headline: line.headline,
        }
    }
}

impl Painter {
    pub fn new(colours: bool, names: bool) -> Self {
        Self {
            colours,
            names,
            open: None,
            labels: NameColumn::default(),
            prefix: (None, String::new()),
            raw: false,
            unfinished: HashMap::new(),
        }
    }

    /// Prints control sequences unchanged, if `raw`.
    pub fn raw(self, raw: bool) -> Self {
        Self { raw, ..self }
    }

    /// Gives labels to these resources, which come in the Tiltfile's order.
    pub fn learn<'n>(&mut self, names: impl IntoIterator<Item = &'n ResourceName>) {
        self.labels.learn(names);
    }

    pub fn put<'l>(&mut self, line: impl Into<Piece<'l>>, out: &mut String) {
        let line = line.into();
        let text = self.printable(&line);
        let line = Piece { text: &text, ..line };
        let goes_on = line.continues && self.open.as_ref() == Some(line.span);
        if !goes_on {
            // An empty rest of an interrupted line is not printed.
            if line.continues && line.text.is_empty() && !line.open {
                return;
            }
            self.end(out);
            self.put_prefix(line.resource, out);
        }
        self.put_text(&line, out);
        if line.open {
            self.open = Some(line.span.clone());
        } else {
            self.open = None;
            out.push('\n');
        }
    }

    /// Ends an unterminated line.
    pub fn end(&mut self, out: &mut String) {
        if self.open.take().is_some() {
            out.push('\n');
        }
    }

    fn put_prefix(&mut self, resource: Option<&ResourceName>, out: &mut String) {
        let Some(name) = resource.filter(|name| self.names && !name.is_tiltfile()) else { return };
        if self.prefix.0.as_ref() != Some(name) {
            self.prefix = (Some(name.clone()), prefix(name, self.labels.label(name), self.colours));
        }
        out.push_str(&self.prefix.1);
    }

    /// Removes control sequences other than colours.
    fn printable<'l>(&mut self, line: &Piece<'l>) -> Cow<'l, str> {
        if self.raw {
            return Cow::Borrowed(line.text);
        }
        let begun = self.unfinished.remove(line.span).filter(|_| line.continues);
        let text = match begun {
            Some(begun) => Cow::Owned(begun + line.text),
            None => Cow::Borrowed(line.text),
        };
        let end = text.len() - if line.open { escape::unfinished_length(text.as_bytes()) } else { 0 };
        if end < text.len() {
            self.unfinished.insert(line.span.clone(), text[end..].to_owned());
        }
        match text {
            Cow::Borrowed(text) => escape::for_terminal(&text[..end]),
            Cow::Owned(text) => Cow::Owned(escape::for_terminal(&text[..end]).into_owned()),
        }
    }

    fn put_text(&self, line: &Piece<'_>, out: &mut String) {
        let style = match (line.level, line.headline) {
            (Level::Info, true) => "\x1b[1m",
            (Level::Info, false) => "",
            (Level::Warn, _) => "\x1b[33m",
            (Level::Error, _) => "\x1b[1;31m",
        };
        if !self.colours || line.text.is_empty() {
            out.push_str(line.text);
            return;
        }
        out.push_str(style);
        out.push_str(line.text);
        // Resets colours at the end of the line.
        if !style.is_empty() || line.text.contains('\x1b') {
            out.push_str(RESET);
        }
    }
}

fn prefix(name: &ResourceName, label: &str, colours: bool) -> String {
    if !colours {
        return format!("{label} │ ");
    }
    let colour = colour_of(name.as_str());
    let code = if colour < 8 { 30 + colour } else { 82 + colour };
    format!("\x1b[{code}m{label}{RESET} │ ")
}

/// Returns the terminal colour of a name, which never changes.
pub fn colour_of(name: &str) -> u8 {
    /// Distinct on dark and light backgrounds.
    const COLOURS: [u8; 6] = [6, 5, 4, 2, 3, 14];
    let sum: usize = name.bytes().map(usize::from).sum();
    COLOURS[sum % COLOURS.len()]
}

#[cfg(test)]
mod tests {
    use lilt_model::Timestamp;
    use lilt_model::log::Source;

    use super::*;

    fn line(resource: &str, text: &str) -> Line {
        Line {
            seq: 0,
            time: Timestamp(0),
            resource: Some(ResourceName::new(resource)),
            span: SpanId::new(resource),
            source: Source::Runtime,
            level: Level::Info,
            text: text.into(),
            continues: false,
            open: false,
            headline: false,
        }
    }

    fn painted(painter: &mut Painter, lines: &[Line]) -> String {
        let mut out = String::new();
        lines.iter().for_each(|line| painter.put(line, &mut out));
        painter.end(&mut out);
        out
    }

    #[test]
    fn consecutive_pieces_of_a_line_are_joined() {
        let open = |resource, text| Line { open: true, ..line(resource, text) };
        let rest = |resource, text| Line { continues: true, ..line(resource, text) };
        let dots =
            [open("a", "."), Line { open: true, ..rest("a", ".") }, rest("a", " ok"), line("a", "next")];
        let mut painter = Painter::new(false, true);
        assert_eq!(painted(&mut painter, &dots), "            a │ .. ok\n            a │ next\n");
        let between = [open("a", "Name? "), line("b", "hello"), rest("a", "Alice")];
        assert_eq!(
            painted(&mut painter, &between),
            "            a │ Name? \n            b │ hello\n            a │ Alice\n"
        );
        let ended = [open("a", "Name? "), line("b", "hello"), rest("a", ""), open("a", "x")];
        assert_eq!(
            painted(&mut painter, &ended),
            "            a │ Name? \n            b │ hello\n            a │ x\n"
        );
    }

    #[test]
    fn control_sequences_are_removed_also_if_split() {
        let clipboard = [
            Line { open: true, ..line("a", "x\x1b]52;c;cGF") },
            line("b", "between\x1b[2J"),
            Line { open: true, continues: true, ..line("a", "zcw==") },
            Line { continues: true, ..line("a", "\x07y\x1b[31mred\u{9b}H") },
        ];
        let mut painter = Painter::new(false, false);
        assert_eq!(painted(&mut painter, &clipboard), "x\nbetween\ny\x1b[31mred\n");
        assert_eq!(painted(&mut painter, &[line("a", "next")]), "next\n");
        // An unterminated sequence does not hide the text.
        let endless =
            [Line { open: true, ..line("a", "x\x1b]0;title") }, Line { continues: true, ..line("a", "") }];
        assert_eq!(painted(&mut painter, &endless), "x0;title\n");
        let mut raw = Painter::new(false, false).raw(true);
        assert_eq!(painted(&mut raw, &[line("a", "\x1b[2Jx\x07")]), "\x1b[2Jx\x07\n");
    }

    #[test]
    fn resources_with_equal_beginnings_have_different_labels() {
        let lines =
            ["payments-api-server", "payments-api-worker", "payments-api-server"].map(|name| line(name, "x"));
        assert_eq!(
            painted(&mut Painter::new(false, true), &lines),
            "payments-api… │ x\npaymen…worker │ x\npayments-api… │ x\n"
        );
    }

    #[test]
    fn single_resource_has_no_prefix() {
        assert_eq!(painted(&mut Painter::new(false, false), &[line("a", "x")]), "x\n");
    }

    #[test]
    fn warnings_and_errors_are_highlighted() {
        let mut painter = Painter::new(true, false);
        let headline = Line { headline: true, ..line("a", "Initial Build") };
        let error = Line { level: Level::Error, ..line("a", "ERROR: no") };
        let own = line("a", "\x1b[32mgreen");
        assert_eq!(
            painted(&mut painter, &[headline, error, own, line("a", "plain")]),
            "\x1b[1mInitial Build\x1b[0m\n\x1b[1;31mERROR: no\x1b[0m\n\x1b[32mgreen\x1b[0m\nplain\n"
        );
    }
}
