//! Flags that several of these commands share, with kubectl's names and meaning.

use clap::Args;

use super::documents::{self, Document};
use super::problem::Problem;

/// In which form to print.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Printing {
    /// Print in this form: json, yaml, name, jsonpath=, jsonpath-file=, jsonpath-as-json=, go-template=,
    /// go-template-file=; where a table is printed also wide, custom-columns= and custom-columns-file=
    #[arg(short, long, value_name = "FORM")]
    pub(crate) output: Option<String>,
    /// The text or the file of a template, for -o go-template, go-template-file, jsonpath and the like
    #[arg(long, value_name = "TEMPLATE")]
    pub(crate) template: Option<String>,
    /// Print nothing for what is missing in an object, in place of an error
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "true", default_missing_value = "true", value_parser = boolean)]
    pub(crate) allow_missing_template_keys: Boolean,
    /// Keep metadata.managedFields in what is printed as JSON or YAML
    #[arg(long)]
    pub(crate) show_managed_fields: bool,
}

/// A boolean flag whose default is true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Boolean(pub(crate) bool);

/// Parses booleans as Go does.
pub(crate) fn boolean(text: &str) -> Result<Boolean, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Boolean(true)),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Boolean(false)),
        _ => Err("it takes true or false".to_owned()),
    }
}

/// The flags that name files with objects.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Files {
    /// A file or folder with objects as YAML or JSON; - for what comes in
    #[arg(short, long, value_name = "FILE", value_delimiter = ',')]
    pub(crate) filename: Vec<String>,
    /// Look into the folders of folders too
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// A folder with a kustomization, which `kustomize` or `kubectl kustomize` builds
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) kustomize: Option<String>,
}

impl Files {
    pub(crate) fn are_given(&self) -> bool {
        !self.filename.is_empty() || self.kustomize.is_some()
    }

    /// Reads all objects of all files.
    pub(crate) fn read(&self) -> Result<Vec<Document>, Problem> {
        if self.kustomize.is_some() && !self.filename.is_empty() {
            return Err(Problem::message("only one of -f or -k can be specified"));
        }
        if self.kustomize.is_some() && self.recursive {
            return Err(Problem::message("the -k flag can't be used with -f or -R"));
        }
        match &self.kustomize {
            Some(folder) => documents::build_kustomization(folder),
            None => documents::read(&self.filename, self.recursive),
        }
    }
}

/// Only say what would be done.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct DryRun {
    /// none, client (only say what would be sent) or server (let the session check it, and keep nothing)
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "none", default_missing_value = "client", value_parser = dry_run)]
    pub(crate) dry_run: Dry,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dry {
    #[default]
    Not,
    Client,
    Server,
}

fn dry_run(text: &str) -> Result<Dry, String> {
    match text {
        "none" | "false" => Ok(Dry::Not),
        "client" | "true" => Ok(Dry::Client),
        "server" => Ok(Dry::Server),
        _ => Err("must be \"none\", \"server\", or \"client\"".to_owned()),
    }
}

impl Dry {
    /// Returns the value of the query parameter `dryRun`.
    pub(crate) fn parameter(self) -> &'static str {
        if self == Dry::Server { "All" } else { "" }
    }

    /// Returns the suffix of the line that reports the change.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Dry::Not => "",
            Dry::Client => " (dry run)",
            Dry::Server => " (server dry run)",
        }
    }
}

/// Whether fields that no object has are refused.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Validate {
    /// What happens with fields that are unknown: strict (they are refused), warn, ignore; true is strict, false is
    /// ignore
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "strict", default_missing_value = "strict", value_parser = validation)]
    pub(crate) validate: Validation,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Validation {
    #[default]
    Strict,
    Warn,
    Ignore,
}

fn validation(text: &str) -> Result<Validation, String> {
    match text {
        "strict" | "true" => Ok(Validation::Strict),
        "warn" => Ok(Validation::Warn),
        "ignore" | "false" => Ok(Validation::Ignore),
        _ => Err("must be \"strict\", \"warn\" or \"ignore\"".to_owned()),
    }
}

impl Validation {
    pub(crate) fn parameter(self) -> &'static str {
        match self {
            Validation::Strict => "Strict",
            Validation::Warn => "Warn",
            Validation::Ignore => "Ignore",
        }
    }
}

/// What happens to the objects that a deleted object owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cascade {
    #[default]
    Background,
    Foreground,
    /// They are kept.
    Orphan,
}

pub(crate) fn cascade(text: &str) -> Result<Cascade, String> {
    match text {
        "background" | "true" => Ok(Cascade::Background),
        "foreground" => Ok(Cascade::Foreground),
        "orphan" | "false" => Ok(Cascade::Orphan),
        _ => Err("must be \"background\", \"orphan\", or \"foreground\"".to_owned()),
    }
}

impl Cascade {
    pub(crate) fn policy(self) -> &'static str {
        match self {
            Cascade::Background => "Background",
            Cascade::Foreground => "Foreground",
            Cascade::Orphan => "Orphan",
        }
    }
}
