//! Converts errors of the evaluation to a [`Failure`] with location, excerpt, stack and hint.
//!
//! A failure is passed through Starlark inside of `starlark::Error`: [`raise`] wraps it, [`EvaluationError`] unwraps it.
//! Excerpts are of the user's text, never of the rewritten one.

mod translate;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use lilt_model::{Failure, FailureKind, Location};
use starlark::codemap::FileSpan;

use crate::source::{Problem, Source, is_internal};

/// A range of a file's text as the user wrote it.
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

    pub(crate) fn text(&self) -> &str {
        self.source.text().get(self.start..self.end).unwrap_or_default()
    }

    /// Returns the first line of the span, underlined.
    pub(crate) fn excerpt(&self) -> String {
        excerpt(self.source.path(), self.source.text(), self.start, self.end)
    }
}

/// Of the innermost calls, and as many of the outermost.
const SHOWN_FRAMES: usize = 5;

/// A failure with its call stack.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) failure: Failure,
    pub(crate) place: Option<Place>,
    /// Innermost first: the function that was running and from where it was called.
    pub(crate) frames: Vec<(String, Place)>,
    /// It is no error: the Tiltfile called `exit()`.
    pub(crate) stopped: bool,
    /// The excerpt is not shown: it may contain a secret.
    pub(crate) hides_text: bool,
}

/// The name of code outside of functions, for stacks.
const TOP_LEVEL: &str = "<toplevel>";

impl Trouble {
    /// Returns a failure without a location in a file.
    pub(crate) fn unplaced(failure: Failure) -> Box<Self> {
        Box::new(Self { failure, place: None, frames: Vec::new(), stopped: false, hides_text: false })
    }

    /// Returns the failure of a problem that the front end found.
    pub(crate) fn in_text(problem: &Problem, source: &Arc<Source>) -> Box<Self> {
        let place = Place { source: source.clone(), start: problem.range.start, end: problem.range.end };
        let failure = Failure::user(problem.message.clone());
        let failure = match &problem.hint {
            Some(hint) => failure.hint(hint.clone()),
            None => failure,
        };
        Box::new(Self { failure, place: Some(place), frames: Vec::new(), stopped: false, hides_text: false })
    }

    /// Adds location, excerpt and stack to the failure.
    pub(crate) fn into_failure(self) -> Failure {
        let Some(place) = self.place else { return self.failure };
        let mut detail = if self.hides_text { String::new() } else { place.excerpt() };
        if !self.frames.is_empty() {
            detail.push_str(&stack(&place, &self.frames));
        }
        let mut failure = self.failure;
        if let Some(more) = failure.detail.take() {
            detail.push('\n');
            detail.push_str(&more);
        }
        failure = failure.at(place.location());
        match detail.trim_start_matches('\n') {
            "" => failure,
            detail => failure.detail(detail),
        }
    }
}

/// Formats the call stack, innermost first.
fn stack(place: &Place, frames: &[(String, Place)]) -> String {
    let places = std::iter::once(place).chain(frames.iter().map(|(_, called_from)| called_from));
    let functions = frames.iter().map(|(function, _)| function.as_str()).chain([TOP_LEVEL]);
    let lines: Vec<(&Place, &str)> = places.zip(functions).collect();
    let mut shown = String::new();
    for (index, (place, function)) in lines.iter().enumerate() {
        let hidden = index >= SHOWN_FRAMES && index + SHOWN_FRAMES < lines.len();
        match (hidden, index == SHOWN_FRAMES) {
            // Of an infinite recursion only both ends are shown.
            (true, true) => shown.push_str("\n  … and so on …"),
            (true, false) => {}
            (false, _) => shown.push_str(&format!("\n  {} in {function}", place.location())),
        }
    }
    shown
}

/// Why the evaluation ends, on its way up through Starlark code.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// A builtin failed.
    #[error("{failure}")]
    Raised { failure: Failure, hides_text: bool },
    /// A loaded file failed.
    #[error("{}", .0.failure.message)]
    LoadFailed(Trouble),
    /// The Tiltfile called `exit()`.
    #[error("the Tiltfile stopped itself")]
    Stopped,
}

impl Error {
    /// Finds it in an error of the interpreter; none if the interpreter made that itself.
    fn of(kind: &starlark::ErrorKind) -> Option<&Self> {
        cause(kind)?.downcast_ref()
    }
}

pub(crate) fn raise(failure: Failure) -> starlark::Error {
    starlark::Error::new_native(Error::Raised { failure, hides_text: false })
}

/// Like [`raise`] without an excerpt of the source, for a call that may contain a secret.
pub(crate) fn raise_without_excerpt(failure: Failure) -> starlark::Error {
    starlark::Error::new_native(Error::Raised { failure, hides_text: true })
}

/// Returns an error of the Tiltfile.
pub(crate) fn refuse(message: impl Into<String>) -> starlark::Error {
    raise(Failure::user(message))
}

/// Ends the evaluation without an error.
pub(crate) fn stop() -> starlark::Error {
    starlark::Error::new_native(Error::Stopped)
}

pub(crate) fn cancelled() -> Failure {
    Failure::new(FailureKind::Cancelled, "the load of the Tiltfile was cancelled")
}

pub(crate) fn too_much_memory() -> Failure {
    Failure::user("the Tiltfile needs too much memory").hint("does a loop or a list grow without end?")
}

/// Finds the source file of a span.
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
        let (call, mut frames) = frames(&error, place.as_ref(), sources);
        let message = error.without_diagnostic().to_string();
        let kind = error.into_kind();
        let mut place = place;
        // An operator is a call, too: show the call around it instead.
        if matches!(kind, starlark::ErrorKind::StackOverflow(_))
            && !frames.is_empty()
            && place.as_ref().is_some_and(|place| !place.text().ends_with(')'))
        {
            place = Some(frames.remove(0).1);
        }
        let translated = || translate::translate(&kind, &message, call.as_deref(), place.as_ref());
        let (failure, stopped, hides_text) = match Error::of(&kind) {
            Some(Error::LoadFailed(trouble)) => return trouble.loaded_from(place, frames),
            Some(Error::Raised { failure, hides_text }) => (failure.clone(), false, *hides_text),
            Some(Error::Stopped) => (translated(), true, false),
            None => (translated(), false, false),
        };
        Self { failure, place, frames, stopped, hides_text }
    }

    /// Wraps the error for the file that loads this one.
    pub(crate) fn into_load_error(self) -> starlark::Error {
        starlark::Error::new_native(Error::LoadFailed(self))
    }

    /// Returns the error for the file that loads the one where it happened.
    fn loaded_from(&self, loaded_at: Option<Place>, outer: Vec<(String, Place)>) -> Self {
        let failure = self.failure.clone();
        let (stopped, hides_text) = (self.stopped, self.hides_text);
        let Some(place) = self.place.clone() else {
            return Self { failure, place: loaded_at, frames: outer, stopped, hides_text };
        };
        let mut frames = self.frames.clone();
        if let Some(loaded_at) = loaded_at {
            frames.push((TOP_LEVEL.to_owned(), loaded_at));
        }
        frames.extend(outer);
        Self { failure, place: Some(place), frames, stopped, hides_text }
    }
}

/// Returns the builtin that was called at the span, if any, and the call stack, innermost first.
fn frames(
    error: &starlark::Error,
    place: Option<&Place>,
    sources: &dyn Sources,
) -> (Option<String>, Vec<(String, Place)>) {
    let mut call = None;
    let mut frames: Vec<(String, Place)> = Vec::new();
    // A function that a builtin of the front end calls has no span of its own: use that of the builtin.
    let mut stand_in: Option<Place> = None;
    for frame in &error.call_stack().frames {
        let called_from = frame.location.as_ref().and_then(|span| place_of(span, sources));
        if is_internal(&frame.name) {
            stand_in = called_from;
            continue;
        }
        let Some(called_from) = called_from.or_else(|| stand_in.clone()) else { continue };
        let name = if frame.name == crate::source::ASSERT { "assert" } else { &frame.name };
        frames.push((name.to_owned(), called_from));
    }
    frames.reverse();
    // The call of the builtin that failed is the span itself.
    if let (Some((name, called_from)), Some(place)) = (frames.first(), place)
        && called_from.start == place.start
        && called_from.source.path() == place.source.path()
    {
        call = Some(name.clone());
        frames.remove(0);
    }
    (call, frames)
}

fn cause(kind: &starlark::ErrorKind) -> Option<&anyhow::Error> {
    use starlark::ErrorKind::*;
    match kind {
        Fail(cause) | StackOverflow(cause) | Value(cause) | Function(cause) | Scope(cause)
        | Parser(cause) | Freeze(cause) | Internal(cause) | Native(cause) | Other(cause) => Some(cause),
        _ => None,
    }
}

/// Returns the failure of a panic. The interpreter panics when more memory is requested than can exist.
pub(crate) fn of_panic(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let message = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    let too_much = ["overflow", "memory", "AlignedSize"].iter().any(|sign| message.contains(sign));
    match too_much {
        true => too_much_memory(),
        false => Failure::internal("the evaluation of the Tiltfile panicked").detail(message),
    }
}

/// Returns the line of a range of a text with the range underlined.
pub(crate) fn excerpt(path: &Path, text: &str, start: usize, end: usize) -> String {
    let start = floor(text, start);
    // Of a call over many lines, the first is shown.
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
