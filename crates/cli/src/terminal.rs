//! Writing to the terminal. The only module that does.
use std::io::{BufRead as _, IsTerminal as _, Read as _, Write as _};

use lilt_daemon::PluginOutput;
use lilt_host::environment;
use lilt_model::{Failure, escape};

/// Whether a person reads what is printed.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether a person can also answer.
pub(crate) fn is_interactive() -> bool {
    is_terminal() && std::io::stdin().is_terminal()
}

/// Whether to use colours: for people who did not say no.
pub(crate) fn has_colours() -> bool {
    is_terminal() && environment::variable(environment::NO_COLOR).is_none_or(|value| value.is_empty())
}

/// The same for what goes to stderr.
pub(crate) fn has_coloured_stderr() -> bool {
    std::io::stderr().is_terminal()
        && environment::variable(environment::NO_COLOR).is_none_or(|value| value.is_empty())
}

/// Prints text that may come from anywhere: keeps its colours, and removes what would control a terminal.
pub(crate) fn print(text: &str) {
    print_raw(&escape::for_terminal(text));
}

/// Prints text unchanged: lilt's own, or text that was filtered. A reader that went away ends nothing: the session is
/// ended by its signals.
pub(crate) fn print_raw(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// Prints text of a command that does nothing else: it ends when nobody reads any more.
///
/// Removes what would control a terminal: texts of objects may come from anywhere. Other readers get the bytes unchanged.
pub(crate) fn write(bytes: &[u8]) -> anyhow::Result<()> {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_terminal() => write_raw(escape::for_terminal(text).as_bytes()),
        _ => write_raw(bytes),
    }
}

/// The same, unchanged for a terminal, too.
pub(crate) fn write_raw(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    Ok(out.write_all(bytes).and_then(|()| out.flush())?)
}

/// Prints a value as JSON that a person can read, as it comes: it may be large.
pub(crate) fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    if is_terminal() {
        let text = serde_json::to_string_pretty(value).map_err(std::io::Error::from)?;
        out.write_all(escape_in_json(text).as_bytes())?;
    } else {
        serde_json::to_writer_pretty(&mut out, value).map_err(std::io::Error::from)?;
    }
    Ok(out.write_all(b"\n").and_then(|()| out.flush())?)
}

/// Escapes the control characters that JSON allows in strings: terminals act on some of them.
pub(crate) fn escape_in_json(json: String) -> String {
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

/// Whether a command failed because nobody reads its output any more.
pub(crate) fn is_closed(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

pub(crate) fn line(text: &str) {
    print(&format!("{}\n", escape::for_terminal(text)));
}

/// What comes in, to its end.
pub(crate) fn read_all() -> std::io::Result<Vec<u8>> {
    let mut all = Vec::new();
    std::io::stdin().lock().read_to_end(&mut all)?;
    Ok(all)
}

/// What a person types, to the end of the line; none if there is nobody any more.
pub(crate) fn read_line() -> Option<String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).ok().filter(|length| *length > 0).map(|_| line)
}

/// A line that must not get between the output.
pub(crate) fn aside(text: &str) {
    // Nobody is left to be told.
    let _ = writeln!(std::io::stderr(), "{}", escape::for_terminal(text));
}

/// Prints what exec plugins say, such as a device code, as soon as they say it. They may read the terminal: this is for
/// commands that do not.
pub(crate) fn plugin_output() -> PluginOutput {
    PluginOutput::new(aside).with_terminal()
}

/// Tells why the command failed.
pub(crate) fn complain(error: &anyhow::Error) {
    let words = match error.downcast_ref::<Failure>() {
        Some(failure) => format!("Error: {failure}\n"),
        None => lilt_model::os_error::plain(&format!("Error: {error:#}\n")),
    };
    // Nobody is left to be told.
    let _ = std::io::stderr().write_all(escape::for_terminal(&words).as_bytes());
}
