//! How an error of the evaluation becomes a [`Failure`] with place, excerpt, stack and hint.
//!
//! While it travels up through Starlark a failure is carried inside `starlark::Error`; [`raise`] puts it in,
//! [`Trouble`] takes it out. Excerpts are cut from the text the user wrote, never from the rewritten one.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use lilt_model::{Failure, Location};
use starlark::codemap::FileSpan;

use crate::nearest::nearest;
use crate::source::Source;

/// Where in a Tiltfile something was said: a range of the text as the user wrote it.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) source: Arc<Source>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.location())
    }
}

impl Place {
    pub(crate) fn location(&self) -> Location {
        let (line, column) = self.source.line_and_column(self.start);
        Location { path: self.source.path().to_owned(), line, column: Some(column) }
    }

    /// The line (or first lines) with the place underlined.
    pub(crate) fn excerpt(&self) -> String {
        excerpt(self.source.path(), self.source.text(), self.start, self.end)
    }
}

/// Of the innermost calls, and as many of the outermost.
const SHOWN_FRAMES: usize = 5;

/// A failure on its way up, with the calls that led to it.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) failure: Failure,
    pub(crate) place: Option<Place>,
    /// Innermost first: the function that was running and from where it was called.
    pub(crate) frames: Vec<(String, Place)>,
}

impl Trouble {
    /// Renders place, excerpt and stack into the failure.
    pub(crate) fn into_failure(self) -> Failure {
        let Some(place) = self.place else { return self.failure };
        let mut detail = place.excerpt();
        let shown = SHOWN_FRAMES.min(self.frames.len());
        for (index, (function, called_from)) in self.frames.iter().enumerate() {
            if index >= shown && index + shown < self.frames.len() {
                // A recursion gone wild: its begin and its end say enough.
                if index == shown {
                    detail.push_str("\n  … and so on …");
                }
                continue;
            }
            let function = if function == "assert__" { "assert" } else { function };
            detail.push_str(&format!("\n  in {function}, called from {}", called_from.location()));
        }
        let mut failure = self.failure;
        if let Some(more) = failure.detail.take() {
            detail.push('\n');
            detail.push_str(&more);
        }
        failure.at(place.location()).detail(detail)
    }
}

/// Carries a failure through Starlark code.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(Failure);

/// Carries the trouble of a loaded file through the file that loads it.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.failure.message)]
struct LoadFailed(Trouble);

pub(crate) fn raise(failure: Failure) -> starlark::Error {
    starlark::Error::new_native(Raised(failure))
}

/// Finds the sources that spans speak of.
pub(crate) trait Sources {
    fn source(&self, path: &Path) -> Option<Arc<Source>>;
}

pub(crate) fn place_of(span: &FileSpan, sources: &dyn Sources) -> Option<Place> {
    let source = sources.source(Path::new(span.filename()))?;
    let range = span.span.begin().get() as usize..span.span.end().get() as usize;
    let (start, end) = source.original_range(range.start, range.end);
    Some(Place { source, start, end })
}

impl Trouble {
    pub(crate) fn of(error: starlark::Error, sources: &dyn Sources) -> Self {
        let place = error.span().and_then(|span| place_of(span, sources));
        let mut frames: Vec<(String, Place)> = error
            .call_stack()
            .frames
            .iter()
            .filter_map(|frame| Some((frame.name.clone(), place_of(frame.location.as_ref()?, sources)?)))
            .collect();
        frames.reverse();
        // The call of the builtin that failed is the place itself.
        if let (Some((_, called_from)), Some(place)) = (frames.first(), &place)
            && called_from.start == place.start
            && called_from.source.path() == place.source.path()
        {
            frames.remove(0);
        }
        let message = error.without_diagnostic().to_string();
        let kind = error.into_kind();
        let cause = cause(&kind);
        if let Some(loaded) = cause.and_then(|cause| cause.downcast_ref::<LoadFailed>()) {
            return loaded.0.loaded_from(place, frames);
        }
        let failure = match cause.and_then(|cause| cause.downcast_ref::<Raised>()) {
            Some(raised) => raised.0.clone(),
            None => translate(&kind, &message),
        };
        Self { failure, place, frames }
    }

    /// Wraps it for the file that loads this one.
    pub(crate) fn into_load_error(self) -> starlark::Error {
        starlark::Error::new_native(LoadFailed(self))
    }

    /// The same trouble, seen from the file that loads the one where it happened.
    fn loaded_from(&self, loaded_at: Option<Place>, outer: Vec<(String, Place)>) -> Self {
        let failure = self.failure.clone();
        let Some(place) = self.place.clone() else {
            return Self { failure, place: loaded_at, frames: outer };
        };
        let mut frames = self.frames.clone();
        if let Some(loaded_at) = loaded_at {
            let file = frames.last().map_or(place.source.path(), |(_, place)| place.source.path());
            frames.push((file.file_name().unwrap_or_default().to_string_lossy().into_owned(), loaded_at));
        }
        frames.extend(outer);
        Self { failure, place: Some(place), frames }
    }
}

fn cause(kind: &starlark::ErrorKind) -> Option<&anyhow::Error> {
    use starlark::ErrorKind::*;
    match kind {
        Fail(cause) | StackOverflow(cause) | Value(cause) | Function(cause) | Scope(cause)
        | Parser(cause) | Freeze(cause) | Internal(cause) | Native(cause) | Other(cause) => Some(cause),
        _ => None,
    }
}

/// Rewords what the interpreter says where its own words would not help the reader of a Tiltfile.
fn translate(kind: &starlark::ErrorKind, message: &str) -> Failure {
    use starlark::ErrorKind::*;
    let message = message.strip_prefix("error: ").unwrap_or(message).trim_end();
    match kind {
        Fail(_) => Failure::user(message.strip_prefix("fail: ").unwrap_or(message)),
        StackOverflow(_) => {
            Failure::user("too many nested calls").hint("does a function call itself without end?")
        }
        Internal(_) => Failure::internal(message),
        Scope(_) => unknown_name(message),
        Function(_) => unknown_argument(message),
        Parser(_) => broken_syntax(message.strip_prefix("Parse error: ").unwrap_or(message)),
        _ => reword(message),
    }
}

pub(crate) fn cancelled() -> Failure {
    Failure::user("the load of the Tiltfile was cancelled")
}

fn reword(message: &str) -> Failure {
    let mut names = quoted(message);
    let (first, second) = (names.next().unwrap_or_default(), names.next());
    if message.to_lowercase().contains("cancelled") {
        return cancelled();
    }
    if message == "Immutable" {
        let failure = Failure::user("this value cannot be changed");
        return failure.hint("values of a loaded file are read only, and so is os.environ for now");
    }
    if message.starts_with("Cannot import private symbol") {
        return Failure::user(format!(
            "{first} is private to its file: names that begin with _ cannot be loaded"
        ));
    }
    if message.starts_with("Module has no symbol") {
        let failure = Failure::user(format!("the loaded file has no {first}"));
        return match second {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure,
        };
    }
    Failure::user(message)
}

/// Between backticks, in order.
fn quoted(message: &str) -> impl Iterator<Item = &str> {
    message.split('`').skip(1).step_by(2)
}

fn unknown_name(message: &str) -> Failure {
    let mut names = quoted(message);
    let Some(name) = names.next() else { return Failure::user(message) };
    let failure = Failure::user(format!("undefined: {name}"));
    let known = crate::builtins::global_names();
    match names.next().or_else(|| nearest(name, known.iter().map(String::as_str))) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure,
    }
}

fn unknown_argument(message: &str) -> Failure {
    if message.starts_with("Missing") {
        let mut names = quoted(message);
        if let (Some(parameter), Some(function)) = (names.next(), names.next()) {
            return Failure::user(format!("{function} needs the argument {parameter}"));
        }
    }
    if !message.contains("extra named parameter") {
        return Failure::user(message);
    }
    let given: Vec<&str> = quoted(message).collect();
    let function = message.rsplit("call to ").next().unwrap_or_default().trim();
    let failure = Failure::user(format!("{function} has no argument {}", given.join(", ")));
    let Some(parameters) = crate::builtins::parameters(function) else { return failure };
    let hint = match given.first().and_then(|name| nearest(name, parameters.iter().map(String::as_str))) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("it takes {}", parameters.join(", ")),
    };
    failure.hint(hint)
}

fn broken_syntax(message: &str) -> Failure {
    let failure = Failure::user(format!("syntax error: {message}"));
    let expects = |symbol: &str| message.contains(&format!("expected symbol '{symbol}'"));
    match [')', ']', '}'].into_iter().find(|bracket| expects(&bracket.to_string())) {
        Some(bracket) => {
            failure.hint(format!("is a comma or a closing {bracket} missing before this place?"))
        }
        None if expects(":") => failure.hint("is the colon at the end of the line before the block missing?"),
        None => {
            failure.hint("look at this place and the line before it: brackets, quotes, commas, indentation")
        }
    }
}

/// The lines around a range of a text with the range underlined.
pub(crate) fn excerpt(path: &Path, text: &str, start: usize, end: usize) -> String {
    let start = floor(text, start);
    // A call may go over many lines; its first line says enough.
    let line_end = text[start..].find('\n').map_or(text.len(), |offset| start + offset);
    let end = floor(text, end).clamp(start, line_end).max(start);
    let path = path.display().to_string();
    let snippet = Snippet::source(text).path(path).annotation(AnnotationKind::Primary.span(start..end));
    Renderer::plain().render(&[Group::with_level(Level::ERROR).element(snippet)])
}

fn floor(text: &str, mut offset: usize) -> usize {
    offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}
