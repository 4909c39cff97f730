//! `lilt delete`.

use std::time::Duration;

use clap::Args;
use lilt_client::Connect;
use lilt_client::object_api::{Api, ApiPath};
use lilt_client::object_api::{ObjectForm, WatchStream};
use lilt_host::terminal;
use lilt_model::duration::parse_flag;
use serde_json::{Value, json};

use super::Outcome;
use super::flags::{Boolean, Cascade, Dry, DryRun, Files, Printing, boolean, cascade};
use super::lookup::{FoundObject, Selectors, fetch, resolve_targets};
use super::printers::name_of;
use super::problem::Problem;
use super::report::Report;
use super::targets::{Target, full_name};

/// Delete objects of a session: what they run ends
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt delete cmd test
  lilt delete uibutton -l tier=back
  lilt delete filewatch --all
  lilt delete -f button.yaml --ignore-not-found")]
pub struct Delete {
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
    /// In all namespaces: these objects have none, so it changes nothing, and a name cannot stand beside it
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// What becomes of objects that a deleted one owns: background or foreground, which both delete them; with orphan they
    /// stay
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "background", default_missing_value = "background", value_parser = cascade)]
    cascade: Cascade,
    #[command(flatten)]
    dry_run: DryRun,
    /// Tell the session to give what runs no time, as --grace-period=0 does
    #[arg(long)]
    force: bool,
    /// Seconds that what runs gets to end, as told to the session; -1 leaves it to the session
    #[arg(long, value_name = "SECONDS", default_value_t = -1, allow_negative_numbers = true)]
    grace_period: i64,
    /// As --grace-period=1
    #[arg(long)]
    now: bool,
    /// Objects that are not there are no mistake
    #[arg(long)]
    ignore_not_found: bool,
    /// Ask before anything is deleted
    #[arg(short, long)]
    interactive: bool,
    /// Only name: print the names of what was deleted
    #[arg(short, long, value_name = "FORM")]
    output: Option<String>,
    /// Send the deletion to a path of the API, and print what it answers
    #[arg(long, value_name = "PATH")]
    raw: Option<String>,
    /// How long to wait for objects to be gone; 0 for as long as it takes
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_flag)]
    timeout: Duration,
    /// Wait until the objects are gone
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "true", default_missing_value = "true", value_parser = boolean)]
    wait: Boolean,
    #[command(flatten)]
    connect: Connect,
}

pub async fn run(delete: Delete) -> Outcome {
    if let Some(path) = &delete.raw {
        return raw(&delete, path).await;
    }
    delete.check()?;
    let targets = resolve_targets(&delete.words, &delete.files, &delete.selectors)?;
    delete.check_targets(&targets)?;
    let printing = Printing { output: delete.output.clone(), ..Printing::default() };
    let report = Report::new(&printing)?;
    let mut api = crate::connect(&delete.connect)?;
    let (found, mut problems) = fetch(&mut api, &targets, &delete.selectors).await;
    // With --all, objects that were deleted meanwhile are no error.
    if delete.ignore_not_found || delete.all {
        problems.retain(|problem| !problem.is_missing());
    }
    if found.is_empty() {
        if problems.is_empty() && !delete.ignore_not_found {
            terminal::line("No resources found");
        }
        return Problem::all(problems);
    }
    if delete.interactive && !confirm(&found) {
        terminal::line("deletion is cancelled");
        return Problem::all(problems);
    }
    delete.all_of(&mut api, &found, &report, problems).await
}

async fn raw(delete: &Delete, path: &str) -> Outcome {
    if !delete.words.is_empty() || delete.files.are_given() {
        return Err(Problem::message("arguments may not be passed when --raw is specified"));
    }
    let bytes = crate::connect(&delete.connect)?.raw(http::Method::DELETE, path).await?;
    terminal::write(&bytes).map_err(Problem::Output)
}

fn confirm(found: &[FoundObject]) -> bool {
    let names: Vec<String> = found.iter().map(|found| name_of(&found.object)).collect();
    terminal::line(&format!("You are about to delete the following {} resource(s):", names.len()));
    terminal::line(&names.join("\n"));
    terminal::print("Do you want to continue? (y/N): ");
    terminal::read_line().is_some_and(|line| matches!(line.trim(), "y" | "Y" | "yes"))
}

impl Delete {
    fn check(&self) -> Outcome {
        match self.output.as_deref() {
            None | Some("" | "name") => {}
            Some(other) => {
                let words = format!("unexpected -o output mode: {other}. We only support '-o name'");
                return Err(Problem::message(words));
            }
        }
        if self.all && self.selectors.selector.is_some() {
            return Err(Problem::message("setting 'all' parameter but found a non empty selector. "));
        }
        if self.now && self.grace_period != -1 {
            return Err(Problem::message("--now and --grace-period cannot be specified together"));
        }
        if self.force && self.grace_period > 0 {
            return Err(Problem::message(
                "--force and --grace-period greater than 0 cannot be specified together",
            ));
        }
        Ok(())
    }

    fn check_targets(&self, targets: &[Target]) -> Outcome {
        if targets.is_empty() {
            return Err(Problem::message("You must provide one or more resources by argument or filename"));
        }
        let named = targets.iter().any(|target| matches!(target, Target::One(..)));
        if named && self.all_namespaces {
            return Err(Problem::message("a resource cannot be retrieved by name across all namespaces"));
        }
        if named && self.all && !self.files.are_given() {
            return Err(Problem::message("name cannot be provided when --all is specified"));
        }
        if !named && !self.all && !self.selectors.are_given() {
            return Err(Problem::message("resource(s) were provided, but no name was specified"));
        }
        Ok(())
    }

    async fn all_of(
        &self,
        api: &mut Api,
        found: &[FoundObject],
        report: &Report,
        problems: Vec<Problem>,
    ) -> Outcome {
        let mut problems = problems;
        let mut deleted = Vec::new();
        for found in found {
            match self.one(api, found, report).await {
                Ok(()) => deleted.push(found),
                Err(problem) if problem.is_missing() && (self.ignore_not_found || self.all) => {}
                Err(problem) => problems.push(problem),
            }
        }
        if self.wait.0 && self.dry_run.dry_run == Dry::Not {
            for found in deleted {
                problems.extend(wait_until_deleted(api, found, self.timeout).await.err());
            }
        }
        Problem::all(problems)
    }

    async fn one(&self, api: &mut Api, found: &FoundObject, report: &Report) -> Outcome {
        let dry = self.dry_run.dry_run;
        if dry != Dry::Client {
            let grace = match (self.grace_period, self.now, self.force) {
                (-1, true, _) => 1,
                (-1, _, true) => 0,
                (seconds, ..) => seconds,
            };
            let place = found.place().with_query("dryRun", dry.parameter());
            api.delete(&place, &options(self.cascade, grace)).await?;
        }
        let text = if report.is_brief() {
            format!("{}\n", name_of(&found.object))
        } else {
            let forced = if self.force { "force deleted" } else { "deleted" };
            format!("{} {:?} {forced}{}\n", full_name(found.kind), found.name(), dry.suffix())
        };
        terminal::write(text.as_bytes()).map_err(Problem::Output)
    }
}

/// Returns the body of a deletion.
pub(crate) fn options(cascade: Cascade, grace: i64) -> Value {
    let mut options =
        json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": cascade.policy()});
    if grace >= 0 {
        options["gracePeriodSeconds"] = json!(grace);
    }
    options
}

/// Waits until an object is deleted or replaced by another one of its name.
pub(crate) async fn wait_until_deleted(api: &mut Api, found: &FoundObject, patience: Duration) -> Outcome {
    let waiting = async {
        let Some(object) = api.find_object(&found.place()).await? else { return Ok(()) };
        let uid = |object: &Value| object.pointer("/metadata/uid").cloned();
        if uid(&object) != uid(&found.object) {
            return Ok(());
        }
        let place =
            ApiPath::all(found.kind).with_query("fieldSelector", format!("metadata.name={}", found.name()));
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        let place = place.with_query("resourceVersion", version.unwrap_or_default());
        let mut events = WatchStream::open(api, &place, ObjectForm::Whole).await?;
        while let Some(event) = events.next().await? {
            if event.event_type == "DELETED" {
                return Ok(());
            }
        }
        Ok(())
    };
    if patience.is_zero() {
        return waiting.await;
    }
    match tokio::time::timeout(patience, waiting).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Problem::message(format!(
            "timed out waiting for the condition on {}/{}",
            found.kind.plural,
            found.name()
        ))),
    }
}
