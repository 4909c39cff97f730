//! Changing objects in the user's editor.

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

/// What names the editor, the first of them that is set.
const EDITORS: [&str; 3] = [environment::TILT_EDITOR, environment::KUBE_EDITOR, environment::EDITOR];

/// In which form objects are edited.
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
            Some(other) => Err(Problem::words(format!(
                "The flag 'output' must be one of yaml|json to edit, not {other:?}"
            ))),
        }
    }

    /// Several objects are one list.
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

/// A file that the user changes, perhaps several times.
pub(crate) struct Editing {
    folder: SessionDir,
    format: Format,
}

impl Editing {
    pub(crate) fn begin(format: &Format) -> Result<Self, Problem> {
        Ok(Self { folder: SessionDir::create()?, format: *format })
    }

    /// The objects that the user leaves in the file; none if it is empty.
    pub(crate) fn edit(&mut self, text: &str) -> Result<Vec<Value>, Problem> {
        let left = self.open(&introduced(text))?;
        objects(&left)
    }

    /// Opens a text until what is saved can be used, or the user gives up. What is wrong with an attempt stands on top of
    /// the next one.
    pub(crate) async fn attempts(
        &mut self,
        before: &str,
        mut save: impl AsyncFnMut(&str) -> Outcome,
    ) -> Outcome {
        let mut text = introduced(before);
        let mut refused: Option<(String, String)> = None;
        loop {
            let left = self.open(&text)?;
            let bare = without_comments(&left);
            match &refused {
                Some((last, complaint)) if *last == bare || bare.trim().is_empty() => {
                    return Err(self.given_up(last, complaint)?);
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
                    text = with_complaint(&left, &problem.to_string());
                    refused = Some((bare, problem.to_string()));
                }
                outcome => return outcome,
            }
        }
    }

    /// The user saved again what was refused.
    fn given_up(&self, text: &str, complaint: &str) -> Result<Problem, Problem> {
        let kept = self.keep(text)?;
        terminal::aside(complaint);
        terminal::aside(&format!("A copy of your changes has been stored to {kept:?}"));
        Ok(Problem::words("Edit cancelled, no valid changes were saved."))
    }

    /// Opens a text in the editor: what is in the file afterwards.
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

    /// Keeps what the user wrote: it is lost with the folder otherwise.
    fn keep(&self, text: &str) -> Result<String, Problem> {
        let name = format!("lilt-{}-{}", std::process::id(), self.format.name());
        let path = environment::temporary_folder().join(name);
        let unwritten =
            |error: std::io::Error| Failure::environment(format!("cannot write {}: {error}", path.display()));
        files::save_private(&path, text.as_bytes()).map_err(unwritten)?;
        Ok(path.display().to_string())
    }
}

/// Without comments, which may be what a text consists of.
fn without_comments(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The objects of a text.
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
        other => Err(Problem::words(format!("the edited file has no object, but {other}"))),
    }
}

/// The text for the next attempt: with what is wrong with this one.
fn with_complaint(text: &str, complaint: &str) -> String {
    let lines = complaint.lines().map(|line| format!("# {line}\n"));
    format!("{INTRODUCTION}{}#\n{}", lines.collect::<String>(), without_comments(text))
}

/// The text for the first attempt.
fn introduced(text: &str) -> String {
    format!("{INTRODUCTION}{text}")
}
