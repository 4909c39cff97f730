//! `lilt patch`.

use clap::Args;
use lilt_client::Connect;
use lilt_client::object_api::PatchType;
use lilt_host::files;
use serde_json::Value;

use super::Outcome;
use super::documents;
use super::flags::{Dry, DryRun, Files, Printing};
use super::get::check_subresource;
use super::lookup::{Selectors, fetch, resolve_targets};
use super::problem::Problem;
use super::report::Report;

/// Change fields of objects
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt patch configmap web-disable -p '{\"data\": {\"isDisabled\": \"true\"}}'
  lilt patch cmd/test --type=json -p '[{\"op\": \"replace\", \"path\": \"/spec/dir\", \"value\": \"/src\"}]'
  lilt patch uibutton restart --subresource=status -p \"{\\\"status\\\": {\\\"lastClickedAt\\\": \\\"$(date -u +%FT%T.%6NZ)\\\"}}\"
  lilt patch -f button.yaml --patch-file=change.yaml")]
pub struct Patch {
    /// TYPE NAME, or TYPE/NAME
    #[arg(value_name = "OBJECTS")]
    words: Vec<String>,
    #[command(flatten)]
    files: Files,
    /// The change, as JSON or YAML
    #[arg(short, long, value_name = "PATCH")]
    patch: Option<String>,
    /// A file with the change
    #[arg(long, value_name = "FILE")]
    patch_file: Option<String>,
    /// Form of the change: json (a list of steps), merge (RFC 7386) or strategic (Kubernetes' own; lists are replaced as
    /// with merge, since no field of these objects has a merge key)
    #[arg(long = "type", value_name = "FORM", default_value = "strategic")]
    form: String,
    #[command(flatten)]
    dry_run: DryRun,
    /// Change what is in the files and print it; ask no session
    #[arg(long)]
    local: bool,
    /// Change this part of the object: status
    #[arg(long, value_name = "NAME")]
    subresource: Option<String>,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    connect: Connect,
}

pub async fn run(patch: Patch) -> Outcome {
    check_subresource(patch.subresource.as_deref())?;
    let form = form(&patch.form)?;
    let change = patch.change()?;
    let mut report = Report::new(&patch.printing)?;
    if patch.local {
        return patch.locally(form, &change, &mut report);
    }
    let targets = resolve_targets(&patch.words, &patch.files, &Selectors::default())?;
    if targets.is_empty() {
        return Err(Problem::message("must specify a resource to patch: TYPE NAME, TYPE/NAME or -f FILE"));
    }
    let mut api = crate::connect(&patch.connect)?;
    let (found, mut problems) = fetch(&mut api, &targets, &Selectors::default()).await;
    for found in found {
        let dry = patch.dry_run.dry_run;
        let changed = if dry == Dry::Client {
            changed(form, &found.object, &change)
        } else {
            let place = found
                .place()
                .subresource(patch.subresource.as_deref())
                .with_query("fieldManager", "kubectl-patch")
                .with_query("dryRun", dry.parameter());
            api.patch(&place, form, &change).await.map_err(Problem::from)
        };
        let told = changed.and_then(|changed| {
            let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
            let same = if dry == Dry::Not {
                version(&changed) == version(&found.object)
            } else {
                changed == found.object
            };
            report.print(&changed, if same { "patched (no change)" } else { "patched" }, dry)
        });
        problems.extend(told.err());
    }
    Problem::all(problems)
}

fn form(name: &str) -> Result<PatchType, Problem> {
    match name {
        "json" => Ok(PatchType::Json),
        "merge" => Ok(PatchType::Merge),
        "strategic" => Ok(PatchType::Strategic),
        other => {
            Err(Problem::message(format!("--type must be one of [json merge strategic], not {other:?}")))
        }
    }
}

impl Patch {
    fn change(&self) -> Result<Value, Problem> {
        let text = match (&self.patch, &self.patch_file) {
            (Some(_), Some(_)) => {
                return Err(Problem::message("cannot specify --patch and --patch-file together"));
            }
            (Some(text), None) if !text.is_empty() => text.clone(),
            (_, Some(path)) => {
                let unreadable = || Problem::message(format!("unable to read patch file: {path}"));
                let bytes = files::read(std::path::Path::new(path)).ok_or_else(unreadable)?;
                String::from_utf8_lossy(&bytes).into_owned()
            }
            _ => {
                let words = "must specify --patch or --patch-file containing the contents of the patch";
                return Err(Problem::message(words));
            }
        };
        documents::value("the patch", &text)
    }

    fn locally(&self, form: PatchType, change: &Value, report: &mut Report) -> Outcome {
        if !self.files.are_given() {
            return Err(Problem::message("--local changes what is in files: it needs -f or -k"));
        }
        if self.dry_run.dry_run == Dry::Server {
            return Err(Problem::message(
                "cannot specify --local and --dry-run=server - did you mean --dry-run=client?",
            ));
        }
        for document in self.files.read()? {
            report.print(&changed(form, &document.object, change)?, "patched", Dry::Not)?;
        }
        Ok(())
    }
}

/// Applies a patch as the session would.
fn changed(form: PatchType, object: &Value, change: &Value) -> Result<Value, Problem> {
    let wrong =
        |error: &dyn std::fmt::Display| Problem::message(format!("the patch cannot be made: {error}"));
    let mut object = object.clone();
    match form {
        PatchType::Json => {
            let steps: json_patch::Patch =
                serde_json::from_value(change.clone()).map_err(|error| wrong(&error))?;
            json_patch::patch(&mut object, &steps).map_err(|error| wrong(&error))?;
        }
        _ => json_patch::merge(&mut object, change),
    }
    Ok(object)
}
