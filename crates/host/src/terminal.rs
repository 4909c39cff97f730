//! What a person at the terminal reads and types. The only module that writes to stdout and stderr.
//!
//! Takes control sequences out of what may come from anywhere. Decides neither what is printed nor when.

use std::io::{BufRead as _, IsTerminal as _, Read as _, Write as _};

use lilt_model::escape;

use crate::environment;

/// Whether a person reads what is printed.
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether a person can also answer.
pub fn is_interactive() -> bool {
    is_terminal() && std::io::stdin().is_terminal()
}

/// Whether to use colours: for people who did not say no.
pub fn has_colours() -> bool {
    is_terminal() && environment::variable(environment::NO_COLOR).is_none_or(|value| value.is_empty())
}

/// The same for what goes to stderr.
pub fn has_coloured_stderr() -> bool {
    std::io::stderr().is_terminal()
        && environment::variable(environment::NO_COLOR).is_none_or(|value| value.is_empty())
}

/// Prints text that may come from anywhere: keeps its colours, and removes what would control a terminal.
pub fn print(text: &str) {
    print_raw(&escape::for_terminal(text));
}

/// Prints text unchanged: lilt's own, or text that was filtered. A reader that went away ends nothing: the session is
/// ended by its signals.
pub fn print_raw(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// Prints text of a command that does nothing else: it ends when nobody reads any more.
///
/// Removes what would control a terminal: texts of objects may come from anywhere. Other readers get the bytes unchanged.
pub fn write(bytes: &[u8]) -> std::io::Result<()> {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_terminal() => write_raw(escape::for_terminal(text).as_bytes()),
        _ => write_raw(bytes),
    }
}

/// The same, unchanged for a terminal, too.
pub fn write_raw(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

/// Prints a value as JSON that a person can read, as it comes: it may be large.
pub fn json(value: &impl serde::Serialize) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    if is_terminal() {
        let text = serde_json::to_string_pretty(value)?;
        out.write_all(escape_in_json(text).as_bytes())?;
    } else {
        serde_json::to_writer_pretty(&mut out, value)?;
    }
    out.write_all(b"\n").and_then(|()| out.flush())
}

/// Escapes the control characters that JSON allows in strings: terminals act on some of them.
pub fn escape_in_json(json: String) -> String {
    let is_control = |letter: char| ('\u{7f}'..='\u{9f}').contains(&letter);
    if !json.contains(is_control) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for letter in json.chars() {
        if is_control(letter) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Prints a line.
pub fn line(text: &str) {
    print(&format!("{}\n", escape::for_terminal(text)));
}

/// What comes in, to its end.
pub fn read_all() -> std::io::Result<Vec<u8>> {
    let mut all = Vec::new();
    std::io::stdin().lock().read_to_end(&mut all)?;
    Ok(all)
}

/// What a person types, to the end of the line; none if there is nobody any more.
pub fn read_line() -> Option<String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).ok().filter(|length| *length > 0).map(|_| line)
}

/// A line that must not get between the output.
pub fn aside(text: &str) {
    // Nobody is left to be told.
    let _ = writeln!(std::io::stderr(), "{}", escape::for_terminal(text));
}

/// Prints why the program failed: text with its line ends, which may come from anywhere.
pub fn complain(text: &str) {
    // Nobody is left to be told.
    let _ = std::io::stderr().write_all(escape::for_terminal(text).as_bytes());
}
