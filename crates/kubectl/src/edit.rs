//! `lilt edit`.

use clap::Args;
use lilt_client::Connect;
use lilt_client::object_api::{Api, ApiPath, PatchType};
use lilt_host::terminal;
use serde_json::Value;

use super::Outcome;
use super::editor::{EditSession, Format, objects};
use super::flags::{Dry, Files, Printing, Validate};
use super::get::check_subresource;
use super::lookup::{FoundObject, Selectors, fetch, resolve_targets};
use super::merge::difference;
use super::printers::without_managed_fields;
use super::problem::Problem;
use super::report::{Report, with_last_applied};

/// Change objects of a session in an editor
///
/// The editor is the one that TILT_EDITOR, KUBE_EDITOR or EDITOR names, else vi. What the session refuses is opened
/// again, with the reason on top.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt edit uibutton/restart
  lilt edit configmap web-disable
  EDITOR=nano lilt edit cmd/test -o json")]
pub struct Edit {
    /// TYPE NAME, or TYPE/NAME…
    #[arg(value_name = "OBJECTS")]
    words: Vec<String>,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    validate: Validate,
    /// Who is told to have changed the fields
    #[arg(long, value_name = "NAME", default_value = "kubectl-edit")]
    field_manager: String,
    /// Print the change that is made
    #[arg(long)]
    output_patch: bool,
    /// Remember in an annotation what the object became, as `apply` does
    #[arg(long)]
    save_config: bool,
    /// Lines end as on Windows
    #[arg(long)]
    windows_line_endings: bool,
    /// Change this part of the object: status
    #[arg(long, value_name = "NAME")]
    subresource: Option<String>,
    #[command(flatten)]
    connect: Connect,
}

pub async fn run(edit: Edit) -> Outcome {
    check_subresource(edit.subresource.as_deref())?;
    let format = Format::read(edit.printing.output.as_deref(), edit.windows_line_endings)?;
    // `-o` is the format of the edited file, not of the output.
    let mut report = Report::new(&Printing { output: None, ..edit.printing.clone() })?;
    if edit.printing.template.is_some() {
        return Err(Problem::message("--template makes no sense for edit: objects are edited whole"));
    }
    let targets = resolve_targets(&edit.words, &edit.files, &Selectors::default())?;
    if targets.is_empty() {
        return Err(Problem::message("must specify one or more resources"));
    }
    let mut api = crate::connect(&edit.connect)?;
    let (found, problems) = fetch(&mut api, &targets, &Selectors::default()).await;
    Problem::all(problems)?;
    if found.is_empty() {
        return Err(Problem::message("edit cancelled, no objects found"));
    }
    edit.attempts(&mut api, &format, &found, &mut report).await
}

impl Edit {
    async fn attempts(
        &self,
        api: &mut Api,
        format: &Format,
        found: &[FoundObject],
        report: &mut Report,
    ) -> Outcome {
        let mut editing = EditSession::begin(format)?;
        let shown: Vec<Value> = found
            .iter()
            .map(|found| match self.printing.show_managed_fields {
                true => found.object.clone(),
                false => without_managed_fields(&found.object),
            })
            .collect();
        let before = format.write_all(&shown)?;
        let mut save = async |text: &str| self.save(api, found, &shown, text, report).await;
        editing.attempts(&before, &mut save).await
    }

    async fn save(
        &self,
        api: &mut Api,
        found: &[FoundObject],
        shown: &[Value],
        text: &str,
        report: &mut Report,
    ) -> Outcome {
        let edited = objects(text)?;
        for object in &edited {
            let name = |object: &Value| (object["kind"].clone(), object["metadata"]["name"].clone());
            let index = shown.iter().position(|before| name(before) == name(object));
            let Some(index) = index else {
                return Err(Problem::message("At least one of apiVersion, kind and name was changed"));
            };
            self.save_one(api, &found[index], &shown[index], object, report).await?;
        }
        Ok(())
    }

    async fn save_one(
        &self,
        api: &mut Api,
        found: &FoundObject,
        before: &Value,
        object: &Value,
        report: &mut Report,
    ) -> Outcome {
        if before["apiVersion"] != object["apiVersion"] {
            return Err(Problem::message("At least one of apiVersion, kind and name was changed"));
        }
        let marked = self.save_config.then(|| with_last_applied(object));
        let patch = difference(before, marked.as_ref().unwrap_or(object));
        if patch.as_object().is_some_and(serde_json::Map::is_empty) {
            return Ok(());
        }
        if self.output_patch {
            terminal::line(&format!("Patch: {patch}"));
        }
        let place = ApiPath::one(found.kind, found.name())
            .subresource(self.subresource.as_deref())
            .with_query("fieldManager", &self.field_manager)
            .with_query("fieldValidation", self.validate.validate.parameter());
        let changed = api.patch(&place, PatchType::Merge, &patch).await?;
        report.print(&changed, "edited", Dry::Not)
    }
}
