//! Opens objects in the user's editor.

use lilt_host::session_dir::SessionDir;
use lilt_host::terminal;
use lilt_host::{environment, files};
use lilt_model::Failure;
use lilt_model::yaml;
use serde_json::{Value, json};

use super::Outcome;
use super::documents;
use super::printers::{as_yaml, pretty};
use super::problem::Problem;

const INTRODUCTION: &str = "\
# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
";

/// The variables that name the editor; the first one that is set is used.
const EDITORS: [&str; 3] = [environment::TILT_EDITOR, environment::KUBE_EDITOR, environment::EDITOR];

/// The format in which objects are edited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    json: bool,
    windows: bool,
}

impl Format {
    pub(crate) fn read(output: Option<&str>, windows: bool) -> Result<Self, Problem> {
        match output {
            None | Some("" | "yaml" | "name") => Ok(Self { json: false, windows }),
            Some("json") => Ok(Self { json: true, windows }),
            Some(other) => Err(Problem::message(format!(
                "The flag 'output' must be one of yaml|json to edit, not {other:?}"
            ))),
        }
    }

    /// Serializes several objects as one list.
    pub(crate) fn write_all(&self, objects: &[Value]) -> Result<String, Problem> {
        let whole = match objects {
            [one] => one.clone(),
            many => json!({"apiVersion": "v1", "kind": "List", "items": many}),
        };
        if self.json { pretty(&yaml::sorted(&whole)) } else { as_yaml(&whole) }
    }

    fn name(&self) -> &'static str {
        if self.json { "edit.json" } else { "edit.yaml" }
    }
}

/// A file that is opened in the editor, possibly several times.
pub(crate) struct EditSession {
    folder: SessionDir,
    format: Format,
}

impl EditSession {
    pub(crate) fn begin(format: &Format) -> Result<Self, Problem> {
        Ok(Self { folder: SessionDir::create()?, format: *format })
    }

    /// Opens the text once, and returns the objects in the saved file; empty if the file is.
    pub(crate) fn edit(&mut self, text: &str) -> Result<Vec<Value>, Problem> {
        let left = self.open(&with_introduction(text))?;
        objects(&left)
    }

    /// Opens the text until the saved file is accepted or the user cancels. The error of an attempt is shown at the top of
    /// the file in the next one.
    pub(crate) async fn attempts(
        &mut self,
        before: &str,
        mut save: impl AsyncFnMut(&str) -> Outcome,
    ) -> Outcome {
        let mut text = with_introduction(before);
        let mut refused: Option<(String, String)> = None;
        loop {
            let left = self.open(&text)?;
            let bare = without_comments(&left);
            match &refused {
                Some((last, complaint)) if *last == bare || bare.trim().is_empty() => {
                    return Err(self.rejected_again(last, complaint)?);
                }
                None if bare.trim().is_empty() => {
                    terminal::aside("Edit cancelled, saved file was empty.");
                    return Ok(());
                }
                None if bare == before => {
                    terminal::aside("Edit cancelled, no changes made.");
                    return Ok(());
                }
                _ => {}
            }
            match save(&left).await {
                Err(problem @ (Problem::Refused(_) | Problem::Words(_) | Problem::Several(_))) => {
                    text = with_error(&left, &problem.to_string());
                    refused = Some((bare, problem.to_string()));
                }
                outcome => return outcome,
            }
        }
    }

    /// Handles a file that was saved again without changes after an error.
    fn rejected_again(&self, text: &str, complaint: &str) -> Result<Problem, Problem> {
        let kept = self.keep(text)?;
        terminal::aside(complaint);
        terminal::aside(&format!("A copy of your changes has been stored to {kept:?}"));
        Ok(Problem::message("Edit cancelled, no valid changes were saved."))
    }

    /// Opens a text in the editor and returns the saved text.
    fn open(&mut self, text: &str) -> Result<String, Problem> {
        let path = self.folder.path().join(self.format.name());
        let ended = if self.format.windows { text.replace('\n', "\r\n") } else { text.to_owned() };
        let unwritten =
            |error: std::io::Error| Failure::environment(format!("cannot write {}: {error}", path.display()));
        files::save_private(&path, ended.as_bytes()).map_err(unwritten)?;
        lilt_host::editor::open(&path, &EDITORS)?;
        let text = files::read(&path).unwrap_or_default();
        Ok(String::from_utf8_lossy(&text).replace("\r\n", "\n"))
    }

    /// Saves a copy of the user's text, because the temporary folder is removed.
    fn keep(&self, text: &str) -> Result<String, Problem> {
        let name = format!("lilt-{}-{}", std::process::id(), self.format.name());
        let path = environment::temporary_folder().join(name);
        let unwritten =
            |error: std::io::Error| Failure::environment(format!("cannot write {}: {error}", path.display()));
        files::save_private(&path, text.as_bytes()).map_err(unwritten)?;
        Ok(path.display().to_string())
    }
}

/// Removes comment lines.
fn without_comments(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Parses the objects of a text.
pub(crate) fn objects(text: &str) -> Result<Vec<Value>, Problem> {
    let bare = without_comments(text);
    if bare.trim().is_empty() {
        return Ok(Vec::new());
    }
    match documents::value("the edited file", &bare)? {
        Value::Object(mut whole) if whole.get("kind").is_some_and(|kind| kind == "List") => {
            Ok(whole.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default())
        }
        object @ Value::Object(_) => Ok(vec![object]),
        other => Err(Problem::message(format!("the edited file has no object, but {other}"))),
    }
}

/// Puts the error of an attempt at the top of the text.
fn with_error(text: &str, complaint: &str) -> String {
    let lines = complaint.lines().map(|line| format!("# {line}\n"));
    format!("{INTRODUCTION}{}#\n{}", lines.collect::<String>(), without_comments(text))
}

/// Puts the introduction at the top of the text.
fn with_introduction(text: &str) -> String {
    format!("{INTRODUCTION}{text}")
}
