//! The user-defined settings of a Tiltfile: defined with `config.define_*`, set in `tilt_config.json` or after `--` on the
//! command line. The enabled resources are set in the same way.

use std::path::PathBuf;

use lilt_model::Failure;
use serde_json::{Map, Value};

use crate::failure::SourceSpan;
use lilt_model::nearest::nearest;

/// The settings file beside the file that calls `config.parse`.
pub(crate) const FILE_NAME: &str = "tilt_config.json";

#[derive(Debug, Default)]
pub(crate) struct ConfigDeclarations {
    pub(crate) definitions: Vec<Definition>,
    /// The directory of the file that called `config.parse`.
    pub(crate) parsed_in: Option<PathBuf>,
    pub(crate) enabled_resources: EnabledResources,
}

/// The resources that the Tiltfile enables.
#[derive(Debug, Default)]
pub(crate) enum EnabledResources {
    /// Those that the command line names, or else all.
    #[default]
    Unspecified,
    Nothing,
    Resources(Vec<String>, SourceSpan),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) kind: SettingKind,
    pub(crate) usage: String,
    /// Takes the positional arguments, and is no flag itself.
    pub(crate) positional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingKind {
    Text,
    TextList,
    Flag,
    Object,
}

impl SettingKind {
    /// Returns the type for the usage text.
    fn usage_type(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::TextList => "list[string]",
            Self::Flag => "",
            Self::Object => "object",
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::TextList => "a list of strings",
            Self::Flag => "true or false",
            Self::Object => "JSON",
        }
    }

    /// Checks a value of the file; `null` is the empty value.
    fn parse_json(self, value: &Value) -> Option<Value> {
        let is_text = |item: &Value| item.is_string();
        let accepted = match (self, value) {
            (Self::Text, Value::Null) => Value::from(""),
            (Self::TextList, Value::Null) => Value::Array(Vec::new()),
            (Self::Flag, Value::Null) => Value::Bool(false),
            (Self::Text, Value::String(_)) | (Self::Flag, Value::Bool(_)) | (Self::Object, _) => {
                value.clone()
            }
            (Self::TextList, Value::Array(items)) if items.iter().all(is_text) => value.clone(),
            _ => return None,
        };
        Some(accepted)
    }

    /// Parses an argument and adds it to the value of earlier ones.
    fn read(self, text: &str, earlier: Option<Value>) -> Result<Value, String> {
        match (self, earlier) {
            (Self::TextList, earlier) => {
                let mut items = earlier.unwrap_or(Value::Array(Vec::new()));
                if let Value::Array(items) = &mut items {
                    items.push(text.into());
                }
                Ok(items)
            }
            (_, Some(_)) => Err("it can be given only once".to_owned()),
            (Self::Text, None) => Ok(text.into()),
            (Self::Flag, None) => match text {
                "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true.into()),
                "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false.into()),
                _ => Err("it must be true or false".to_owned()),
            },
            (Self::Object, None) => {
                serde_json::from_str(text).map_err(|error| format!("it must be JSON: {error}"))
            }
        }
    }
}

/// Returns the values that are set, in the order of the definitions: arguments override the file.
pub(crate) fn merge(
    definitions: &[Definition],
    file: Map<String, Value>,
    arguments: Map<String, Value>,
) -> Vec<(String, Value)> {
    let value = |name: &str| arguments.get(name).or_else(|| file.get(name)).cloned();
    definitions.iter().filter_map(|setting| Some((setting.name.clone(), value(&setting.name)?))).collect()
}

/// Parses a `tilt_config.json`. `path` is for messages.
pub(crate) fn parse_file(
    definitions: &[Definition],
    text: &str,
    path: &str,
) -> Result<Map<String, Value>, Failure> {
    let content: Value = serde_json::from_str(text)
        .map_err(|error| Failure::user(format!("{path} is no valid JSON: {error}")))?;
    let fields = match content {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        _ => return Err(Failure::user(format!("{path} must hold a JSON object of settings"))),
    };
    let mut settings = Map::new();
    for (name, value) in fields {
        let definition = definitions.iter().find(|setting| setting.name == name).ok_or_else(|| {
            let failure = Failure::user(format!("{path} specified unknown setting name '{name}'"));
            match nearest(&name, definitions.iter().map(|setting| setting.name.as_str())) {
                Some(near) => failure.hint(format!("did you mean {near}?")),
                None => failure.hint(defined_settings(definitions)),
            }
        })?;
        let accepted = definition.kind.parse_json(&value).ok_or_else(|| {
            let wanted = definition.kind.expected();
            Failure::user(format!("{path}: the setting {name} must be {wanted}, not {value}"))
        })?;
        settings.insert(name, accepted);
    }
    Ok(settings)
}

fn defined_settings(definitions: &[Definition]) -> String {
    let names: Vec<&str> = definitions.iter().map(|setting| setting.name.as_str()).collect();
    match names.as_slice() {
        [] => "this Tiltfile defines no settings".to_owned(),
        names => format!("defined are {}", names.join(", ")),
    }
}

/// Parses the command line: flags before, between and after the positional arguments, up to a `--`.
pub(crate) fn parse_arguments(
    definitions: &[Definition],
    arguments: &[String],
) -> Result<Map<String, Value>, Failure> {
    let mut settings = Map::new();
    let mut set = |definition: &Definition, text: &str, usage_type: &str| {
        let value = definition.kind.read(text, settings.remove(&definition.name)).map_err(|problem| {
            invalid_arguments(definitions, format!("invalid argument {text:?} for {usage_type}: {problem}"))
        })?;
        settings.insert(definition.name.clone(), value);
        Ok::<(), Failure>(())
    };
    let mut positional = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.strip_prefix('-') {
            None | Some("") => positional.push(argument),
            Some("-") => positional.extend(rest.by_ref()),
            Some(flag) if !flag.starts_with('-') => return Err(unknown_short_flag(definitions, flag)),
            Some(flag) => {
                let flag = &flag[1..];
                if flag.starts_with(['-', '=']) {
                    return Err(invalid_arguments(definitions, format!("bad flag syntax: {argument}")));
                }
                let (name, value) =
                    flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
                let definition = find_flag(definitions, name)?;
                let value = match (value, definition.kind) {
                    (Some(value), _) => value,
                    (None, SettingKind::Flag) => "true",
                    (None, _) => rest.next().ok_or_else(|| {
                        invalid_arguments(definitions, format!("flag needs an argument: --{name}"))
                    })?,
                };
                set(definition, value, &format!("--{name}"))?;
            }
        }
    }
    match definitions.iter().find(|setting| setting.positional) {
        Some(definition) => {
            for argument in positional {
                set(definition, argument, &definition.name)?;
            }
        }
        None if positional.is_empty() => {}
        None => {
            let usage_type =
                positional.iter().map(|argument| argument.as_str()).collect::<Vec<_>>().join(" ");
            let problem =
                format!("positional CLI args ({usage_type:?}) were specified, but none were expected");
            return Err(invalid_arguments(definitions, problem).hint(
                "define a setting that takes them, such as config.define_string_list('resources', args=True)",
            ));
        }
    }
    Ok(settings)
}

fn find_flag<'d>(definitions: &'d [Definition], name: &str) -> Result<&'d Definition, Failure> {
    let flags = || definitions.iter().filter(|setting| !setting.positional);
    if let Some(found) = flags().find(|setting| setting.name == name) {
        return Ok(found);
    }
    if name == "help" {
        return Err(help(definitions));
    }
    let failure = invalid_arguments(definitions, format!("unknown flag: --{name}"));
    Err(match nearest(name, flags().map(|setting| setting.name.as_str())) {
        Some(near) => failure.hint(format!("did you mean --{near}?")),
        None => failure,
    })
}

fn unknown_short_flag(definitions: &[Definition], letters: &str) -> Failure {
    let letter = letters.chars().next().unwrap_or_default();
    if letter == 'h' {
        return help(definitions);
    }
    let failure = invalid_arguments(definitions, format!("unknown shorthand flag: {letter:?} in -{letters}"));
    failure.hint("the settings of a Tiltfile have no short forms: write --name")
}

fn help(definitions: &[Definition]) -> Failure {
    invalid_arguments(definitions, "help requested".to_owned())
}

fn invalid_arguments(definitions: &[Definition], problem: String) -> Failure {
    Failure::user(format!("invalid Tiltfile config args: {problem}")).detail(usage(definitions))
}

/// Returns the usage text: one line for each setting.
fn usage(definitions: &[Definition]) -> String {
    let mut lines: Vec<(String, &str)> = Vec::new();
    let mut sorted: Vec<&Definition> = definitions.iter().collect();
    sorted.sort_by(|one, other| (!one.positional, &one.name).cmp(&(!other.positional, &other.name)));
    for setting in sorted {
        let usage_type = match (setting.positional, setting.kind.usage_type()) {
            (true, kind) => format!("  {} {kind}", setting.name.to_uppercase()),
            (false, "") => format!("  --{}", setting.name),
            (false, kind) => format!("  --{} {kind}", setting.name),
        };
        lines.push((usage_type.trim_end().to_owned(), &setting.usage));
    }
    if lines.is_empty() {
        return "This Tiltfile defines no settings.".to_owned();
    }
    let width = lines.iter().map(|(usage_type, _)| usage_type.chars().count()).max().unwrap_or_default();
    let lines: Vec<String> = lines
        .into_iter()
        .map(|(usage_type, usage)| format!("{usage_type:width$}   {usage}").trim_end().to_owned())
        .collect();
    format!("Usage:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definitions() -> Vec<Definition> {
        let define = |name: &str, kind, positional| Definition {
            name: name.to_owned(),
            kind,
            usage: format!("the {name}"),
            positional,
        };
        vec![
            define("names", SettingKind::TextList, true),
            define("color", SettingKind::Text, false),
            define("debug", SettingKind::Flag, false),
            define("tags", SettingKind::TextList, false),
            define("extra", SettingKind::Object, false),
        ]
    }

    fn read(arguments: &[&str]) -> Result<Value, Failure> {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        parse_arguments(&definitions(), &arguments).map(Value::Object)
    }

    #[test]
    fn flags_are_accepted_at_any_position() {
        let read =
            read(&["a", "--color", "red", "--debug", "b", "--tags=x", "--tags", "y=z", "--", "--c", "-"]);
        let expected = serde_json::json!({
            "color": "red", "debug": true, "tags": ["x", "y=z"], "names": ["a", "b", "--c", "-"],
        });
        assert_eq!(read.unwrap(), expected);
    }

    #[test]
    fn argument_values_are_parsed_by_kind() {
        let read = |arguments: &[&str]| read(arguments).unwrap();
        assert_eq!(read(&["--debug=F"])["debug"], Value::Bool(false));
        assert_eq!(read(&["--debug", "false"])["names"], serde_json::json!(["false"]));
        assert_eq!(read(&["--extra", "{\"a\": [1]}"])["extra"]["a"][0], 1);
        assert_eq!(read(&["--color="])["color"], "");
        assert_eq!(read(&["--color", "--debug"])["color"], "--debug");
    }

    #[test]
    fn invalid_arguments_show_the_usage() {
        for (arguments, problem) in [
            (vec!["--colour", "x"], "unknown flag: --colour"),
            (vec!["--names", "x"], "unknown flag: --names"),
            (vec!["-x"], "unknown shorthand flag: 'x' in -x"),
            (vec!["--=x"], "bad flag syntax: --=x"),
            (vec!["--color"], "flag needs an argument: --color"),
            (vec!["--color=a", "--color=b"], "invalid argument \"b\" for --color: it can be given only once"),
            (vec!["--debug=maybe"], "invalid argument \"maybe\" for --debug: it must be true or false"),
            (vec!["--help"], "help requested"),
        ] {
            let failure = read(&arguments).unwrap_err();
            assert_eq!(failure.message, format!("invalid Tiltfile config args: {problem}"));
            assert!(failure.detail.unwrap().contains("  --tags list[string]   the tags"));
        }
        assert_eq!(read(&["--colour", "x"]).unwrap_err().hint.as_deref(), Some("did you mean --color?"));
    }

    #[test]
    fn arguments_override_the_settings_file() {
        let file =
            parse_file(&definitions(), r#"{"color": "blue", "tags": ["f"], "debug": null}"#, "f").unwrap();
        let arguments = parse_arguments(&definitions(), &["--color=red".to_owned()]).unwrap();
        let merged = merge(&definitions(), file, arguments);
        let expected = [("color", "red".into()), ("debug", false.into()), ("tags", serde_json::json!(["f"]))];
        assert_eq!(merged, expected.map(|(name, value): (&str, Value)| (name.to_owned(), value)));
    }

    #[test]
    fn invalid_settings_file_is_refused() {
        for (text, problem) in [
            ("[]", "f must hold a JSON object of settings"),
            (r#"{"colr": 1}"#, "f specified unknown setting name 'colr'"),
            (r#"{"color": 5}"#, "f: the setting color must be a string, not 5"),
            (r#"{"tags": [1]}"#, "f: the setting tags must be a list of strings, not [1]"),
            (r#"{"debug": "x"}"#, "f: the setting debug must be true or false, not \"x\""),
        ] {
            assert_eq!(parse_file(&definitions(), text, "f").unwrap_err().message, problem);
        }
        assert!(parse_file(&definitions(), "", "f").unwrap_err().message.starts_with("f is no valid JSON"));
    }
}
