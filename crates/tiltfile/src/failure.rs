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
pub(crate) struct SourceSpan {
    pub(crate) source: Arc<Source>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl fmt::Debug for SourceSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.location())
    }
}

impl SourceSpan {
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
pub(crate) struct EvaluationError {
    pub(crate) failure: Failure,
    pub(crate) span: Option<SourceSpan>,
    /// Innermost first: the function that was running and from where it was called.
    pub(crate) frames: Vec<(String, SourceSpan)>,
    /// It is no error: the Tiltfile called `exit()`.
    pub(crate) is_exit: bool,
    /// The excerpt is not shown: it may contain a secret.
    pub(crate) hides_source: bool,
}

/// The name of code outside of functions, for stacks.
const TOP_LEVEL: &str = "<toplevel>";

impl EvaluationError {
    /// Returns a failure without a location in a file.
    pub(crate) fn without_span(failure: Failure) -> Box<Self> {
        Box::new(Self { failure, span: None, frames: Vec::new(), is_exit: false, hides_source: false })
    }

    /// Returns the failure of a problem that the front end found.
    pub(crate) fn in_text(problem: &Problem, source: &Arc<Source>) -> Box<Self> {
        let span = SourceSpan { source: source.clone(), start: problem.range.start, end: problem.range.end };
        let failure = Failure::user(problem.message.clone());
        let failure = match &problem.hint {
            Some(hint) => failure.hint(hint.clone()),
            None => failure,
        };
        Box::new(Self { failure, span: Some(span), frames: Vec::new(), is_exit: false, hides_source: false })
    }

    /// Adds location, excerpt and stack to the failure.
    pub(crate) fn into_failure(self) -> Failure {
        let Some(span) = self.span else { return self.failure };
        let mut detail = if self.hides_source { String::new() } else { span.excerpt() };
        if !self.frames.is_empty() {
            detail.push_str(&stack(&span, &self.frames));
        }
        let mut failure = self.failure;
        if let Some(more) = failure.detail.take() {
            detail.push('\n');
            detail.push_str(&more);
        }
        failure = failure.at(span.location());
        match detail.trim_start_matches('\n') {
            "" => failure,
            detail => failure.detail(detail),
        }
    }
}

/// Formats the call stack, innermost first.
fn stack(span: &SourceSpan, frames: &[(String, SourceSpan)]) -> String {
    let spans = std::iter::once(span).chain(frames.iter().map(|(_, called_from)| called_from));
    let functions = frames.iter().map(|(function, _)| function.as_str()).chain([TOP_LEVEL]);
    let lines: Vec<(&SourceSpan, &str)> = spans.zip(functions).collect();
    let mut shown = String::new();
    for (index, (span, function)) in lines.iter().enumerate() {
        let hidden = index >= SHOWN_FRAMES && index + SHOWN_FRAMES < lines.len();
        match (hidden, index == SHOWN_FRAMES) {
            // Of an infinite recursion only both ends are shown.
            (true, true) => shown.push_str("\n  … and so on …"),
            (true, false) => {}
            (false, _) => shown.push_str(&format!("\n  {} in {function}", span.location())),
        }
    }
    shown
}

/// Why the evaluation ends, on its way up through Starlark code.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// A builtin failed.
    #[error("{failure}")]
    Raised { failure: Failure, hides_source: bool },
    /// A loaded file failed.
    #[error("{}", .0.failure.message)]
    LoadFailed(EvaluationError),
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
    starlark::Error::new_native(Error::Raised { failure, hides_source: false })
}

/// Like [`raise`] without an excerpt of the source, for a call that may contain a secret.
pub(crate) fn raise_without_excerpt(failure: Failure) -> starlark::Error {
    starlark::Error::new_native(Error::Raised { failure, hides_source: true })
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
pub(crate) trait SourceLookup {
    fn source(&self, path: &Path) -> Option<Arc<Source>>;
}

pub(crate) fn source_span_of(span: &FileSpan, sources: &dyn SourceLookup) -> Option<SourceSpan> {
    let source = sources.source(Path::new(span.filename()))?;
    let range = span.span.begin().get() as usize..span.span.end().get() as usize;
    let (start, end) = source.original_range(range.start, range.end);
    Some(SourceSpan { source, start, end })
}

impl EvaluationError {
    pub(crate) fn of(error: starlark::Error, sources: &dyn SourceLookup) -> Self {
        let span = error.span().and_then(|span| source_span_of(span, sources));
        let (call, mut frames) = frames(&error, span.as_ref(), sources);
        let message = error.without_diagnostic().to_string();
        let kind = error.into_kind();
        let mut span = span;
        // An operator is a call, too: show the call around it instead.
        if matches!(kind, starlark::ErrorKind::StackOverflow(_))
            && !frames.is_empty()
            && span.as_ref().is_some_and(|span| !span.text().ends_with(')'))
        {
            span = Some(frames.remove(0).1);
        }
        let translated = || translate::translate(&kind, &message, call.as_deref(), span.as_ref());
        let (failure, is_exit, hides_source) = match Error::of(&kind) {
            Some(Error::LoadFailed(error)) => return error.loaded_from(span, frames),
            Some(Error::Raised { failure, hides_source }) => (failure.clone(), false, *hides_source),
            Some(Error::Stopped) => (translated(), true, false),
            None => (translated(), false, false),
        };
        Self { failure, span, frames, is_exit, hides_source }
    }

    /// Wraps the error for the file that loads this one.
    pub(crate) fn into_load_error(self) -> starlark::Error {
        starlark::Error::new_native(Error::LoadFailed(self))
    }

    /// Returns the error for the file that loads the one where it happened.
    fn loaded_from(&self, loaded_at: Option<SourceSpan>, outer: Vec<(String, SourceSpan)>) -> Self {
        let failure = self.failure.clone();
        let (is_exit, hides_source) = (self.is_exit, self.hides_source);
        let Some(span) = self.span.clone() else {
            return Self { failure, span: loaded_at, frames: outer, is_exit, hides_source };
        };
        let mut frames = self.frames.clone();
        if let Some(loaded_at) = loaded_at {
            frames.push((TOP_LEVEL.to_owned(), loaded_at));
        }
        frames.extend(outer);
        Self { failure, span: Some(span), frames, is_exit, hides_source }
    }
}

/// Returns the builtin that was called at the span, if any, and the call stack, innermost first.
fn frames(
    error: &starlark::Error,
    span: Option<&SourceSpan>,
    sources: &dyn SourceLookup,
) -> (Option<String>, Vec<(String, SourceSpan)>) {
    let mut call = None;
    let mut frames: Vec<(String, SourceSpan)> = Vec::new();
    // A function that a builtin of the front end calls has no span of its own: use that of the builtin.
    let mut stand_in: Option<SourceSpan> = None;
    for frame in &error.call_stack().frames {
        let called_from = frame.location.as_ref().and_then(|span| source_span_of(span, sources));
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
    if let (Some((name, called_from)), Some(span)) = (frames.first(), span)
        && called_from.start == span.start
        && called_from.source.path() == span.source.path()
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
