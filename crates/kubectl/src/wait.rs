//! `lilt wait`.

mod condition;

use std::time::Duration;

use clap::Args;
use lilt_client::Connect;
use lilt_client::object_api::WatchStream;
use lilt_client::object_api::{Api, ApiPath, ObjectForm};
use lilt_model::duration::parse_flag;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::Outcome;
use super::flags::{Boolean, Dry, Files, Printing, boolean};
use super::lookup::{FoundObject, Selectors, fetch, resolve_targets};
use super::problem::Problem;
use super::report::Report;
use super::targets::Target;
use condition::Condition;

/// A negative timeout means a week, as in kubectl.
const NEGATIVE_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Wait until something is true of objects
///
/// Exit code 0 when it is, 1 when the time is over. Several conditions are waited for one after the other.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt wait --for=condition=Ready uiresource/web
  lilt wait --for=condition=UpToDate=false uiresource web --timeout=5m
  lilt wait --for=condition=Ready uiresource --all
  lilt wait --for=jsonpath='{.status.terminated.exitCode}'=0 cmd/test
  lilt wait --for=create cmd/test
  lilt wait --for=delete cmd/test")]
pub struct Wait {
    /// TYPE NAME…, TYPE/NAME…, or TYPE with --all or a selector
    #[arg(value_name = "OBJECTS")]
    words: Vec<String>,
    /// A file or folder with objects as YAML or JSON; - for what comes in
    #[arg(short, long, value_name = "FILE", value_delimiter = ',')]
    filename: Vec<String>,
    /// Look into the folders of folders too
    #[arg(short = 'R', long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "true", default_missing_value = "true", value_parser = boolean)]
    recursive: Boolean,
    #[command(flatten)]
    selectors: Selectors,
    /// What to wait for: create, delete, condition=NAME, condition=NAME=VALUE, jsonpath=PATH or jsonpath=PATH=VALUE
    #[arg(long = "for", value_name = "CONDITION")]
    conditions: Vec<String>,
    /// All objects of the kind
    #[arg(long)]
    all: bool,
    /// In all namespaces: these objects have none, so it changes nothing, and a name cannot stand beside it
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Not supported: in a file nothing happens that could be waited for
    #[arg(long)]
    local: bool,
    /// How long to wait; 0 to look once, less for a week
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_timeout, allow_negative_numbers = true)]
    timeout: Duration,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    connect: Connect,
}

fn parse_timeout(text: &str) -> Result<Duration, String> {
    match text.strip_prefix('-') {
        Some(rest) => parse_flag(rest).map(|_| NEGATIVE_TIMEOUT),
        None => parse_flag(text),
    }
}

pub async fn run(wait: Wait) -> Outcome {
    let mut report = Report::new(&wait.printing)?;
    let conditions = wait.read_conditions()?;
    let files = Files { filename: wait.filename.clone(), recursive: wait.recursive.0, kustomize: None };
    // kubectl's default; it matters only for folders.
    let targets = resolve_targets(&wait.words, &files, &wait.selectors)?;
    wait.check(&targets)?;
    let mut api = crate::connect(&wait.connect)?;
    let deadline = Instant::now() + wait.timeout;
    let deletes = conditions.contains(&Condition::Deleted);
    if conditions.contains(&Condition::Created) {
        for target in &targets {
            wait.wait_for_creation(&api, target, deadline).await?;
        }
    }
    let (found, mut problems) = fetch(&mut api, &targets, &wait.selectors).await;
    if deletes {
        problems.retain(|problem| !problem.is_missing());
    }
    if found.is_empty() && problems.is_empty() && !deletes {
        return Err(Problem::message("no matching resources found"));
    }
    for found in found {
        if let Err(problem) = wait.all_of(&api, &found, &conditions, deadline, &mut report).await {
            problems.push(problem);
        }
    }
    Problem::all(problems)
}

impl Wait {
    fn read_conditions(&self) -> Result<Vec<Condition>, Problem> {
        if self.conditions.is_empty() {
            return Err(Problem::message("unrecognized condition: []"));
        }
        self.conditions.iter().map(|text| Condition::read(text)).collect()
    }

    fn check(&self, targets: &[Target]) -> Outcome {
        if self.local {
            return Err(Problem::message("--local makes no sense for wait: nothing happens in a file"));
        }
        let named = targets.iter().any(|target| matches!(target, Target::One(..)));
        if targets.is_empty() {
            return Err(Problem::message("You must provide one or more resources by argument or filename"));
        }
        if named && self.all_namespaces {
            return Err(Problem::message("a resource cannot be retrieved by name across all namespaces"));
        }
        if named && self.all && self.filename.is_empty() {
            return Err(Problem::message("name cannot be provided when --all is specified"));
        }
        if !named && !self.all && !self.selectors.are_given() {
            return Err(Problem::message("resource(s) were provided, but no name was specified"));
        }
        Ok(())
    }

    /// Waits until the object, or any object of the kind, exists.
    async fn wait_for_creation(&self, api: &Api, target: &Target, deadline: Instant) -> Outcome {
        let (place, what) = match target {
            Target::Kind(kind) => (self.selectors.of(ApiPath::all(kind)), kind.plural.to_owned()),
            Target::One(kind, name) => {
                let place = ApiPath::all(kind).with_query("fieldSelector", format!("metadata.name={name}"));
                (place, format!("{}/{name}", kind.plural))
            }
        };
        let waiting = async {
            let mut events = WatchStream::open(api, &place, ObjectForm::Whole).await?;
            while let Some(event) = events.next().await? {
                if event.event_type == "ADDED" {
                    return Ok(());
                }
            }
            Err(ended(&what))
        };
        with_deadline(deadline, &what, waiting).await
    }

    async fn all_of(
        &self,
        api: &Api,
        found: &FoundObject,
        conditions: &[Condition],
        deadline: Instant,
        report: &mut Report,
    ) -> Outcome {
        let what = format!("{}/{}", found.kind.plural, found.name());
        for condition in conditions {
            let object = if self.timeout.is_zero() {
                // It was just fetched.
                condition
                    .holds(Some(&found.object))?
                    .then(|| found.object.clone())
                    .ok_or_else(|| timed_out(&what))?
            } else {
                with_deadline(deadline, &what, wait_for_condition(api, found, condition, &what)).await?
            };
            report.print(&object, "condition met", Dry::Not)?;
        }
        Ok(())
    }
}

fn timed_out(what: &str) -> Problem {
    Problem::message(format!("timed out waiting for the condition on {what}"))
}

fn ended(what: &str) -> Problem {
    Problem::message(format!("the session ended before the condition on {what} was met"))
}

async fn with_deadline<T>(
    deadline: Instant,
    what: &str,
    waiting: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    timeout_at(deadline, waiting).await.unwrap_or_else(|_| Err(timed_out(what)))
}

/// Waits until the condition holds, and returns the object.
async fn wait_for_condition(
    api: &Api,
    found: &FoundObject,
    condition: &Condition,
    what: &str,
) -> Result<Value, Problem> {
    let place =
        ApiPath::all(found.kind).with_query("fieldSelector", format!("metadata.name={}", found.name()));
    let mut last = Some(found.object.clone());
    loop {
        if condition.holds(last.as_ref())? {
            return Ok(last.unwrap_or_else(|| found.object.clone()));
        }
        // The watch begins with the current objects, so no change is missed.
        let place =
            place.clone().with_query("sendInitialEvents", "true").with_query("allowWatchBookmarks", "true");
        let mut events = WatchStream::open(api, &place, ObjectForm::Whole).await?;
        let mut known = None;
        while let Some(event) = events.next().await? {
            match event.event_type.as_str() {
                "ADDED" | "MODIFIED" => known = Some(event.object),
                "DELETED" => known = None,
                // Marks the end of the initial objects.
                "BOOKMARK" => {}
                _ if event.is_expired() => break,
                _ => return Err(Problem::message(format!("the watch of {what} failed: {}", event.object))),
            }
            if condition.holds(known.as_ref())? {
                return Ok(known.unwrap_or_else(|| found.object.clone()));
            }
        }
        if known == last {
            return Err(ended(what));
        }
        last = known;
    }
}
