//! Rewrites arguments in the syntax of cobra, Tilt's parser, for clap.
//!
//! Tilt's flags take values that begin with a dash (`--tail -1`), booleans take a value (`--stream=false`) and short
//! flags an equals sign (`-d=false`). A flag may stand before the command that it belongs to (`create --port 1 cmd …`). What
//! is not known is passed on unchanged, so that the parser reports it.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, Command};

/// A boolean flag with a value that is neither true nor false.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidBoolean {
    flag: String,
    value: String,
}

impl std::fmt::Display for InvalidBoolean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "invalid argument {:?} for {}: it takes true or false", self.value, self.flag)
    }
}

/// Rewrites `typed`, which begins with the name of the program. `root` must be built.
pub(crate) fn adapt(
    root: &Command,
    typed: impl IntoIterator<Item = OsString>,
) -> Result<Vec<OsString>, InvalidBoolean> {
    let mut typed = typed.into_iter();
    let mut adapted = Adapted { path: vec![root], words: Vec::new(), has_positional: false };
    adapted.words.extend(typed.next());
    let mut typed = commands_first(root, typed.collect()).into_iter();
    while let Some(word) = typed.next() {
        match word.to_str() {
            Some("--") => {
                adapted.words.push(word);
                adapted.words.extend(typed.by_ref());
            }
            Some(text) if text.starts_with("--") => adapted.long(&text[2..], &mut typed)?,
            Some(text) if text.starts_with('-') && text.len() > 1 => adapted.short(&text[1..], &mut typed)?,
            _ => {
                adapted.positional(word);
                if adapted.is_over() {
                    let mut rest = typed.by_ref().peekable();
                    rest.next_if(|word| word == "--");
                    adapted.words.push("--".into());
                    adapted.words.extend(rest);
                }
            }
        }
    }
    Ok(adapted.words)
}

/// Moves the names of commands before all flags.
fn commands_first(root: &Command, mut typed: Vec<OsString>) -> Vec<OsString> {
    let mut path = vec![root];
    let mut names = Vec::new();
    while let Some(at) = first_positional(&path, &typed) {
        let command = path.last().expect("invariant: the path begins with the root");
        let Some(found) = command.find_subcommand(&typed[at]) else { break };
        path.push(found);
        names.push(typed.remove(at));
    }
    names.append(&mut typed);
    names
}

/// Returns the index of the first word that is neither a flag nor a value of one. Tilt's parser assumes that an unknown flag
/// takes the next word as its value.
fn first_positional(path: &[&Command], typed: &[OsString]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = typed.get(at) {
        let text = match word.to_str() {
            Some("--") => return None,
            Some(text) if text.starts_with('-') && text.len() > 1 => text,
            _ => return Some(at),
        };
        let known = match (text.strip_prefix("--"), text.chars().nth(1)) {
            _ if text.contains('=') => None,
            (Some(name), _) => Some(find(path, |arg| arg.get_long() == Some(name))),
            (None, letter) if text.len() == 2 => Some(find(path, |arg| arg.get_short() == letter)),
            _ => None,
        };
        let takes_next = |arg: Option<&Arg>| arg.is_none_or(|arg| takes_value(arg) && !is_optional(arg));
        at += if known.is_some_and(takes_next) { 2 } else { 1 };
    }
    None
}

/// Finds a flag of the command named so far, or of one above it.
fn find<'a>(path: &[&'a Command], is_it: impl Fn(&Arg) -> bool) -> Option<&'a Arg> {
    path.iter().rev().find_map(|command| command.get_arguments().find(|arg| is_it(arg)))
}

struct Adapted<'a> {
    /// The commands named so far, from the root on.
    path: Vec<&'a Command>,
    words: Vec<OsString>,
    has_positional: bool,
}

impl<'a> Adapted<'a> {
    fn positional(&mut self, word: OsString) {
        let command = self.path.last().expect("invariant: the path begins with the root");
        match command.find_subcommand(&word) {
            Some(found) if !self.has_positional => self.path.push(found),
            _ => self.has_positional = true,
        }
        self.words.push(word);
    }

    /// Returns whether all that follows belongs to the command line that is to be run, because its name was given.
    fn is_over(&self) -> bool {
        let command = self.path.last().expect("invariant: the path begins with the root");
        let mut positionals = command.get_positionals();
        self.has_positional && positionals.next().is_some() && positionals.any(Arg::is_trailing_var_arg_set)
    }

    fn find(&self, is_it: impl Fn(&Arg) -> bool) -> Option<&'a Arg> {
        find(&self.path, is_it)
    }

    fn long(&mut self, text: &str, rest: &mut impl Iterator<Item = OsString>) -> Result<(), InvalidBoolean> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let Some(arg) = self.find(|arg| arg.get_long() == Some(name)) else {
            self.words.push(format!("--{text}").into());
            return Ok(());
        };
        match value {
            _ if is_optional(arg) => self.words.push(format!("--{text}").into()),
            _ if takes_value(arg) => self.valued(name, value.map(OsString::from), rest),
            Some(value) => self.boolean(name, value, format!("--{name}"))?,
            None => self.words.push(format!("--{name}").into()),
        }
        Ok(())
    }

    /// Splits combined short flags: booleans, and possibly a last one that takes a value.
    fn short(&mut self, text: &str, rest: &mut impl Iterator<Item = OsString>) -> Result<(), InvalidBoolean> {
        for (at, letter) in text.char_indices() {
            let after = &text[at + letter.len_utf8()..];
            let named = self.find(|arg| arg.get_short() == Some(letter));
            let Some((arg, name)) = named.and_then(|arg| Some((arg, arg.get_long()?))) else {
                self.words.push(format!("-{}", &text[at..]).into());
                return Ok(());
            };
            if takes_value(arg) && !is_optional(arg) {
                let value = (!after.is_empty()).then(|| after.strip_prefix('=').unwrap_or(after));
                self.valued(name, value.map(OsString::from), rest);
                return Ok(());
            }
            if let (Some(value), true) = (after.strip_prefix('='), is_optional(arg)) {
                self.words.push(format!("--{name}={value}").into());
                return Ok(());
            }
            if let Some(value) = after.strip_prefix('=') {
                return self.boolean(name, value, format!("-{letter}"));
            }
            self.words.push(format!("--{name}").into());
        }
        Ok(())
    }

    fn valued(&mut self, name: &str, value: Option<OsString>, rest: &mut impl Iterator<Item = OsString>) {
        let mut word = OsString::from(format!("--{name}"));
        // The next word is the value, even if it looks like a flag.
        if let Some(value) = value.or_else(|| rest.next()) {
            word.push(OsStr::new("="));
            word.push(value);
        }
        self.words.push(word);
    }

    fn boolean(&mut self, name: &str, value: &str, flag: String) -> Result<(), InvalidBoolean> {
        let on = OsString::from(format!("--{name}"));
        match value {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => self.words.push(on),
            // The last value counts.
            "0" | "f" | "F" | "false" | "FALSE" | "False" => self.words.retain(|word| *word != on),
            _ => return Err(InvalidBoolean { flag, value: value.to_owned() }),
        }
        Ok(())
    }
}

/// Returns whether a value may follow with an equals sign: `--wait=false`, `--dry-run=client`.
fn is_optional(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|number| number.min_values() == 0) && takes_value(arg)
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapted(typed: &str) -> String {
        let mut root = Command::new("lilt")
            .arg(Arg::new("debug").short('d').long("debug").global(true).action(ArgAction::SetTrue))
            .subcommand(
                Command::new("up")
                    .arg(Arg::new("stream").long("stream").action(ArgAction::SetTrue))
                    .arg(Arg::new("file").short('f').long("file"))
                    .arg(Arg::new("wait").short('w').long("wait").num_args(0..=1).require_equals(true))
                    .arg(Arg::new("args").num_args(0..)),
            )
            .subcommand(
                Command::new("run")
                    .arg(Arg::new("file").short('f').long("file"))
                    .arg(Arg::new("name"))
                    .arg(Arg::new("command").num_args(1..).trailing_var_arg(true)),
            );
        root.build();
        let typed = typed.split(' ').map(OsString::from);
        match adapt(&root, typed) {
            Ok(words) => {
                let words: Vec<String> =
                    words.into_iter().map(|word| word.into_string().expect("it is text")).collect();
                words.join(" ")
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn booleans_take_values() {
        assert_eq!(adapted("lilt up --stream=true"), "lilt up --stream");
        assert_eq!(adapted("lilt up --stream=false"), "lilt up");
        assert_eq!(adapted("lilt up --stream --stream=F"), "lilt up");
        assert_eq!(adapted("lilt up --stream=0 --stream"), "lilt up --stream");
        assert_eq!(adapted("lilt up -d=false"), "lilt up");
        assert_eq!(
            adapted("lilt up --stream=maybe"),
            "invalid argument \"maybe\" for --stream: it takes true or false"
        );
    }

    #[test]
    fn values_may_look_like_flags_and_short_flags_combine() {
        assert_eq!(adapted("lilt up --file -x"), "lilt up --file=-x");
        assert_eq!(adapted("lilt up --file --stream"), "lilt up --file=--stream");
        assert_eq!(adapted("lilt up -f x"), "lilt up --file=x");
        assert_eq!(adapted("lilt up -f=x"), "lilt up --file=x");
        assert_eq!(adapted("lilt -dfx up"), "lilt up --debug --file=x");
        assert_eq!(adapted("lilt up -dfx"), "lilt up --debug --file=x");
    }

    #[test]
    fn some_values_are_optional() {
        assert_eq!(adapted("lilt up --wait=false -w a"), "lilt up --wait=false --wait a");
        assert_eq!(adapted("lilt up -w=false --wait a"), "lilt up --wait=false --wait a");
    }

    #[test]
    fn words_after_the_name_belong_to_the_command() {
        assert_eq!(adapted("lilt run -f x name sh -c --file"), "lilt run --file=x name -- sh -c --file");
        assert_eq!(adapted("lilt run name -- sh -f"), "lilt run name -- sh -f");
    }

    #[test]
    fn flags_may_precede_their_command() {
        assert_eq!(adapted("lilt -f x up a"), "lilt up --file=x a");
        assert_eq!(adapted("lilt --file=x -d up a"), "lilt up --file=x --debug a");
        assert_eq!(adapted("lilt -f x run name sh -c x"), "lilt run --file=x name -- sh -c x");
        assert_eq!(adapted("lilt --file up up"), "lilt up --file=up");
        assert_eq!(adapted("lilt --nothing up"), "lilt --nothing up", "it may be its value");
        assert_eq!(adapted("lilt -- up"), "lilt -- up");
        assert_eq!(
            adapted("lilt run up name sh"),
            "lilt run up -- name sh",
            "only the first words name commands"
        );
    }

    #[test]
    fn unknown_arguments_are_unchanged() {
        assert_eq!(
            adapted("lilt up a --nothing=1 -- --stream=false -f"),
            "lilt up a --nothing=1 -- --stream=false -f"
        );
        assert_eq!(adapted("lilt up --file"), "lilt up --file");
        assert_eq!(adapted("lilt up - --stream=1"), "lilt up - --stream");
        assert_eq!(adapted("lilt up -xd"), "lilt up -xd");
    }
}
