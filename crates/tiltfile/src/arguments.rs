//! Converts the arguments of builtins to plain data. Every error names the builtin, the argument, the expected type and
//! the value.
//!
//! `None` counts as not given.

use std::path::PathBuf;

use lilt_model::Failure;
use lilt_model::command::Command;
use lilt_model::kubernetes::Forward;
use lilt_model::resource::{Link, TriggerMode};
use starlark::values::dict::DictRef;
use starlark::values::{Value, ValueLike};

use crate::failure::raise;
use crate::load_state::LoadState;
use crate::port_forward;
pub(crate) use crate::values::unpack::{as_text, sequence, wrong};
use crate::values::{Environ, ForwardValue, GitRepo, LinkValue, TriggerModeValue};

/// One argument of a call, with the names of builtin and parameter for messages.
#[derive(Clone, Copy)]
pub(crate) struct Argument<'v> {
    function: &'static str,
    name: &'static str,
    value: Option<Value<'v>>,
}

/// The name of a builtin, which makes its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function(pub(crate) &'static str);

impl Function {
    pub(crate) fn argument<'v>(
        self,
        name: &'static str,
        value: impl Into<Option<Value<'v>>>,
    ) -> Argument<'v> {
        let value = value.into().filter(|value| !value.is_none());
        Argument { function: self.0, name, value }
    }

    pub(crate) fn refuse(self, message: impl std::fmt::Display) -> starlark::Error {
        raise(Failure::user(format!("{}: {message}", self.0)))
    }
}

impl<'v> Argument<'v> {
    /// None if it was not given.
    pub(crate) fn value(&self) -> Option<Value<'v>> {
        self.value
    }

    pub(crate) fn is_given(&self) -> bool {
        self.value.is_some()
    }

    pub(crate) fn refuse(&self, message: impl std::fmt::Display) -> starlark::Error {
        raise(Failure::user(format!("{}: {}: {message}", self.function, self.name)))
    }

    pub(crate) fn wrong(&self, wanted: &str, found: Value<'v>) -> starlark::Error {
        wrong(self.function, self.name, wanted, found)
    }

    pub(crate) fn text(&self) -> starlark::Result<Option<String>> {
        self.value.map(|value| as_text(value).ok_or_else(|| self.wrong("a string", value))).transpose()
    }

    /// Returns a string, empty if not given.
    pub(crate) fn string(&self) -> starlark::Result<String> {
        Ok(self.text()?.unwrap_or_default())
    }

    pub(crate) fn boolean(&self) -> starlark::Result<Option<bool>> {
        self.value
            .map(|value| value.unpack_bool().ok_or_else(|| self.wrong("True or False", value)))
            .transpose()
    }

    pub(crate) fn number(&self) -> starlark::Result<Option<i32>> {
        self.value.map(|value| value.unpack_i32().ok_or_else(|| self.wrong("a number", value))).transpose()
    }

    /// Returns the elements of a list or tuple; a single value counts as a list of one.
    pub(crate) fn elements(&self) -> Vec<Value<'v>> {
        self.value.map(|value| sequence(value).unwrap_or_else(|| vec![value])).unwrap_or_default()
    }

    /// A string or a list of strings.
    pub(crate) fn strings(&self) -> starlark::Result<Vec<String>> {
        let text = |value| as_text(value).ok_or_else(|| self.wrong("a string or a list of strings", value));
        self.elements().into_iter().map(text).collect()
    }

    /// Returns a list of strings; a single string is an error.
    pub(crate) fn string_list(&self) -> starlark::Result<Vec<String>> {
        match self.value {
            Some(value) if sequence(value).is_none() => Err(self.wrong("a list of strings", value)),
            _ => self.strings(),
        }
    }

    pub(crate) fn path(&self, state: &LoadState<'_>) -> starlark::Result<Option<PathBuf>> {
        let one = |value| as_path(value, state).ok_or_else(|| self.wrong("a string", value));
        self.value.map(one).transpose()
    }

    /// Returns a path; the folder of the running file if not given.
    pub(crate) fn path_or_directory(&self, state: &LoadState<'_>) -> starlark::Result<PathBuf> {
        Ok(self.path(state)?.unwrap_or_else(|| state.directory()))
    }

    pub(crate) fn paths(&self, state: &LoadState<'_>) -> starlark::Result<Vec<PathBuf>> {
        let wanted = "a string or a list of strings";
        let one = |value| as_path(value, state).ok_or_else(|| self.wrong(wanted, value));
        self.elements().into_iter().map(one).collect()
    }

    /// Returns a dict of strings, sorted by key.
    pub(crate) fn string_map(&self) -> starlark::Result<Vec<(String, String)>> {
        let Some(value) = self.value else { return Ok(Vec::new()) };
        if value.downcast_ref::<Environ>().is_some() {
            return Ok(crate::environment::all());
        }
        let wrong = || self.wrong("a dict of strings", value);
        let dict = DictRef::from_value(value).ok_or_else(wrong)?;
        let pair = |(key, value)| Some((as_text(key)?, as_text(value)?));
        let mut pairs = dict.iter().map(pair).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
        pairs.sort();
        Ok(pairs)
    }

    /// Patterns of ignore syntax.
    pub(crate) fn patterns(&self) -> starlark::Result<Vec<String>> {
        let patterns = self.strings()?;
        match patterns.iter().find(|pattern| pattern.contains('\n')) {
            Some(pattern) => Err(self.refuse(format!("a pattern must not contain newlines: {pattern:?}"))),
            None => Ok(patterns),
        }
    }

    /// Returns the argv of a shell line or a list of words; none if empty.
    pub(crate) fn words(&self) -> starlark::Result<Option<Vec<String>>> {
        let words = match self.value {
            None => return Ok(None),
            Some(value) => match as_text(value) {
                Some(line) if line.is_empty() => return Ok(None),
                Some(line) => shell(line),
                None if sequence(value).is_some() => self.strings()?,
                None => return Err(self.wrong("a string or a list of strings", value)),
            },
        };
        Ok(Some(words).filter(|words| !words.is_empty()))
    }

    /// Like [`Self::words`] for a container, where the shell is always that of Unix.
    pub(crate) fn unix_argv(&self) -> starlark::Result<Option<Vec<String>>> {
        match self.text() {
            Ok(Some(line)) if !line.is_empty() => Ok(Some(vec!["sh".into(), "-c".into(), line])),
            _ => self.words(),
        }
    }

    pub(crate) fn trigger_mode(&self) -> starlark::Result<Option<TriggerMode>> {
        let mode = |value: Value<'v>| value.downcast_ref::<TriggerModeValue>().map(|mode| mode.0);
        let wanted = "TRIGGER_MODE_AUTO or TRIGGER_MODE_MANUAL";
        self.value.map(|value| mode(value).ok_or_else(|| self.wrong(wanted, value))).transpose()
    }

    pub(crate) fn forwards(&self) -> starlark::Result<Vec<Forward>> {
        let one = |value: Value<'v>| {
            if let Some(forward) = value.downcast_ref::<ForwardValue>() {
                return Ok(forward.0.clone());
            }
            let parsed = match (value.unpack_i32(), value.unpack_str()) {
                (Some(port), _) => port_forward::from_number(port.into()),
                (None, Some(text)) => port_forward::from_text(text),
                (None, None) => {
                    return Err(self.wrong("a port, a string, a port_forward() or a list of those", value));
                }
            };
            parsed.map_err(|message| self.refuse(message))
        };
        self.elements().into_iter().map(one).collect()
    }

    pub(crate) fn links(&self) -> starlark::Result<Vec<Link>> {
        let one = |value: Value<'v>| match (value.downcast_ref::<LinkValue>(), value.unpack_str()) {
            (Some(link), _) => Ok(link.link.clone()),
            (None, Some(url)) => link(url, "").map_err(|message| self.refuse(message)),
            (None, None) => Err(self.wrong("a string, a link() or a list of those", value)),
        };
        self.elements().into_iter().map(one).collect()
    }

    pub(crate) fn labels(&self) -> starlark::Result<Vec<String>> {
        let mut labels = self.strings()?;
        for label in &labels {
            check_label(label)
                .map_err(|problem| self.refuse(format!("{label:?} is no valid label: {problem}")))?;
        }
        labels.sort();
        labels.dedup();
        Ok(labels)
    }

    /// The name of a resource.
    pub(crate) fn resource_name(&self) -> starlark::Result<String> {
        let name = self.string()?;
        let problem = match name.as_str() {
            "." | ".." => "it must not be '.' or '..'",
            name if name.contains('/') => "it must not contain '/'",
            name if name.contains('%') => "it must not contain '%'",
            _ => return Ok(name),
        };
        Err(self.refuse(format!("{name:?} is no valid name: {problem}")))
    }
}

/// Builds a command from its arguments. `batch` is used on Windows only.
pub(crate) fn command<'v>(
    state: &LoadState<'_>,
    words: Argument<'v>,
    batch: Argument<'v>,
    directory: Argument<'v>,
    environment: Argument<'v>,
) -> starlark::Result<Option<Command>> {
    let chosen = if cfg!(windows) && batch.is_given() { batch } else { words };
    let dir = directory.path(state)?.unwrap_or_else(|| state.directory());
    let env = environment.string_map()?;
    if let Some((_, value)) = env.iter().find(|(name, _)| name.is_empty()) {
        return Err(environment.refuse(format!("the variable of the value {value:?} has no name")));
    }
    // Checked on all systems.
    batch.words()?;
    Ok(chosen.words()?.map(|argv| Command { argv, dir, env, unset: Vec::new() }))
}

fn shell(line: String) -> Vec<String> {
    if cfg!(windows) {
        return vec!["cmd".into(), "/S".into(), "/C".into(), line];
    }
    vec!["sh".into(), "-c".into(), line]
}

pub(crate) fn link(url: &str, name: &str) -> Result<Link, String> {
    if url.is_empty() {
        return Err("a link must have a URL".into());
    }
    // Browsers cannot open `localhost:4000`, although the URL standard takes `localhost` for its scheme.
    let can_be_opened =
        has_scheme(url) && url.split_once(':').is_some_and(|(_, rest)| rest.starts_with("//"));
    let url = if can_be_opened { url.to_owned() } else { format!("http://{url}") };
    Ok(Link { url, name: name.to_owned() })
}

/// Whether a URL has a scheme by the URL standard, as Tilt reads it.
pub(crate) fn has_scheme(url: &str) -> bool {
    url.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    })
}

fn check_label(label: &str) -> Result<(), &'static str> {
    let edge = |character: Option<char>| character.is_some_and(|character| character.is_ascii_alphanumeric());
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if label.contains('/') {
        return Err("it must not contain '/'");
    }
    if label.is_empty() || label.len() > 63 {
        return Err("it must have 1 to 63 characters");
    }
    if !edge(label.chars().next()) || !edge(label.chars().last()) || !label.bytes().all(inner) {
        return Err(
            "it may hold letters, digits, '-', '_' and '.', and begins and ends with a letter or digit",
        );
    }
    Ok(())
}

fn as_path(value: Value<'_>, state: &LoadState<'_>) -> Option<PathBuf> {
    let repo = value.downcast_ref::<GitRepo>().map(|repo| repo.folder.clone());
    repo.or_else(|| Some(state.absolute(as_text(value)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_get_a_scheme() {
        let url = |text: &str| link(text, "").unwrap().url;
        assert_eq!(url("ws://example.test"), "ws://example.test");
        assert_eq!(url("example.test/x"), "http://example.test/x");
        assert_eq!(url("localhost:4000"), "http://localhost:4000");
        assert!(link("", "x").is_err());
    }

    #[test]
    fn labels_are_checked() {
        for good in ["a", "back-end", "A.b_c", "1"] {
            assert_eq!(check_label(good), Ok(()), "{good}");
        }
        for bad in ["", "a/b", "-a", "a-", "a b", "é", &"x".repeat(64)] {
            assert!(check_label(bad).is_err(), "{bad}");
        }
    }
}
