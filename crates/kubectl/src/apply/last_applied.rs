//! `lilt apply view-last-applied`, `set-last-applied` and `edit-last-applied`.

use clap::{Args, Subcommand};
use lilt_client::Connect;
use lilt_client::object_api::PatchType;
use lilt_host::terminal;
use serde_json::{Value, json};

use crate::Outcome;
use crate::editor::{EditSession, Format, objects};
use crate::flags::{Dry, DryRun, Files, Printing};
use crate::lookup::{FoundObject, Selectors, fetch, resolve_targets};
use crate::printers::{as_yaml, pretty};
use crate::problem::Problem;
use crate::report::{LAST_APPLIED, Report, last_applied};
use crate::targets::Target;

#[derive(Debug, Subcommand)]
pub(crate) enum LastApplied {
    #[command(name = "view-last-applied")]
    View(View),
    #[command(name = "set-last-applied")]
    Set(Set),
    #[command(name = "edit-last-applied")]
    Edit(Edit),
}

/// Print what was applied to objects the last time
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  lilt apply view-last-applied cm/values\n  lilt apply view-last-applied cm --all -o json"
)]
pub(crate) struct View {
    /// TYPE NAME…, TYPE/NAME…, or TYPE with --all or a selector
    #[arg(value_name = "OBJECTS")]
    words: Vec<String>,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    selectors: Selectors,
    /// All objects of the kind
    #[arg(long)]
    all: bool,
    /// yaml or json
    #[arg(short, long, value_name = "FORM", default_value = "yaml")]
    output: String,
    #[command(flatten)]
    connect: Connect,
}

/// Remember the content of files as what was applied, without changing anything else
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt apply set-last-applied -f map.yaml --create-annotation")]
pub(crate) struct Set {
    #[command(flatten)]
    files: Files,
    /// Also for objects to which nothing was applied
    #[arg(long)]
    create_annotation: bool,
    #[command(flatten)]
    dry_run: DryRun,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    connect: Connect,
}

/// Change in an editor what is remembered as applied
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt apply edit-last-applied cm/values -o json")]
pub(crate) struct Edit {
    /// TYPE NAME, or TYPE/NAME
    #[arg(value_name = "OBJECTS")]
    words: Vec<String>,
    #[command(flatten)]
    files: Files,
    /// Form of the file: yaml or json
    #[arg(short, long, value_name = "FORM")]
    output: Option<String>,
    /// Lines end as on Windows
    #[arg(long)]
    windows_line_endings: bool,
    #[command(flatten)]
    connect: Connect,
}

pub(super) async fn run(last: &LastApplied) -> Outcome {
    match last {
        LastApplied::View(view) => view.run().await,
        LastApplied::Set(set) => set.run().await,
        LastApplied::Edit(edit) => edit.run().await,
    }
}

fn last_applied_of(found: &FoundObject) -> Result<Value, Problem> {
    let missing = || {
        Problem::message(format!(
            "no last-applied-configuration annotation found on resource: {}",
            found.name()
        ))
    };
    last_applied(&found.object).ok_or_else(missing)
}

/// Returns the patch that sets the annotation.
fn last_applied_patch(applied: &Value) -> Value {
    json!({"metadata": {"annotations": {LAST_APPLIED: format!("{applied}\n")}}})
}

impl View {
    async fn run(&self) -> Outcome {
        let is_json = match self.output.as_str() {
            "yaml" => false,
            "json" => true,
            other => {
                let words =
                    format!("Unexpected -o output mode: {other}, the flag 'output' must be one of yaml|json");
                return Err(Problem::message(words));
            }
        };
        let targets = resolve_targets(&self.words, &self.files, &self.selectors)?;
        let whole_kinds = targets.iter().any(|target| matches!(target, Target::Kind(_)));
        if targets.is_empty() || (whole_kinds && !self.all && !self.selectors.are_given()) {
            return Err(Problem::message(
                "say which objects are meant: by name, with --all or with a selector",
            ));
        }
        let mut api = crate::connect(&self.connect)?;
        let (found, mut problems) = fetch(&mut api, &targets, &self.selectors).await;
        for (index, found) in found.iter().enumerate() {
            let text = last_applied_of(found)
                .and_then(|applied| if is_json { pretty(&applied) } else { as_yaml(&applied) });
            match text {
                Ok(text) => {
                    let line = if index > 0 && !is_json { "---\n" } else { "" };
                    terminal::write(format!("{line}{text}").as_bytes()).map_err(Problem::Output)?;
                }
                Err(problem) => problems.push(problem),
            }
        }
        Problem::all(problems)
    }
}

impl Set {
    async fn run(&self) -> Outcome {
        if !self.files.are_given() {
            return Err(Problem::message("must specify one of -f and -k"));
        }
        let mut report = Report::new(&self.printing)?;
        let documents = self.files.read()?;
        let mut api = crate::connect(&self.connect)?;
        let dry = self.dry_run.dry_run;
        for document in documents {
            let target = Target::One(document.kind, document.required_name()?.to_owned());
            let (found, problems) = fetch(&mut api, &[target], &Selectors::default()).await;
            Problem::all(problems)?;
            for found in found {
                if !self.create_annotation
                    && let Err(Problem::Words(words)) = last_applied_of(&found)
                {
                    let hint = "to create the annotation, run the command with --create-annotation";
                    return Err(Problem::message(format!("{words}, {hint}")));
                }
                let change = last_applied_patch(&document.object);
                let object = if dry == Dry::Client {
                    let mut object = found.object.clone();
                    json_patch::merge(&mut object, &change);
                    object
                } else {
                    let place = found.place().with_query("dryRun", dry.parameter());
                    api.patch(&place, PatchType::Merge, &change).await?
                };
                report.print(&object, "configured", dry)?;
            }
        }
        Ok(())
    }
}

impl Edit {
    async fn run(&self) -> Outcome {
        let format = Format::read(self.output.as_deref(), self.windows_line_endings)?;
        let mut report = Report::new(&Printing::default())?;
        let targets = resolve_targets(&self.words, &self.files, &Selectors::default())?;
        let [target @ Target::One(..)] = targets.as_slice() else {
            return Err(Problem::message("must specify one resource: TYPE NAME or TYPE/NAME"));
        };
        let mut api = crate::connect(&self.connect)?;
        let (found, problems) = fetch(&mut api, std::slice::from_ref(target), &Selectors::default()).await;
        Problem::all(problems)?;
        for found in found {
            let applied = last_applied_of(&found)?;
            let name = |object: &Value| (object["kind"].clone(), object["metadata"]["name"].clone());
            let before = format.write_all(std::slice::from_ref(&applied))?;
            let save = async |text: &str| {
                let edited = objects(text)?;
                match edited.as_slice() {
                    [one] if name(one) == name(&applied) => {
                        let changed =
                            api.patch(&found.place(), PatchType::Merge, &last_applied_patch(one)).await?;
                        report.print(&changed, "edited", Dry::Not)
                    }
                    _ => Err(Problem::message("At least one of apiVersion, kind and name was changed")),
                }
            };
            EditSession::begin(&format)?.attempts(&before, save).await?;
        }
        Ok(())
    }
}
