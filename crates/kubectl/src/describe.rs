//! `lilt describe`.

mod text;

use clap::Args;
use lilt_client::Connect;
use lilt_client::object_api::Api;
use lilt_host::terminal;

use super::Outcome;
use super::flags::Files;
use super::lookup::{FoundObject, Selectors, fetch, resolve_targets};
use super::problem::Problem;
use super::targets::Target;

/// Tell everything about objects, for people
///
/// A name that no object has may be the beginning of several.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt describe uiresource web
  lilt describe cmd/test
  lilt describe uibutton -l tier=back
  lilt describe cmd te                 all that begin with te")]
pub struct Describe {
    /// TYPE, TYPE NAME…, or TYPE/NAME…
    #[arg(value_name = "OBJECTS")]
    words: Vec<String>,
    #[command(flatten)]
    files: Files,
    /// Only objects with these labels, for example app=web,tier!=db
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    #[command(flatten)]
    connect: Connect,
}

pub async fn run(describe: Describe) -> Outcome {
    let selectors = Selectors { selector: describe.selector.clone(), field_selector: None };
    let targets = resolve_targets(&describe.words, &describe.files, &selectors)?;
    if targets.is_empty() {
        return Err(Problem::message(
            "Required resource not specified.\nUse \"lilt api-resources\" for a complete list of supported resources.\n\
             See 'lilt describe -h' for help and examples",
        ));
    }
    let mut api = crate::connect(&describe.connect)?;
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for target in &targets {
        match one(&mut api, target, &selectors).await {
            Ok(objects) => found.extend(objects),
            Err(problem) => problems.push(problem),
        }
    }
    if found.is_empty() && problems.is_empty() {
        terminal::aside("No resources found");
    }
    let texts: Vec<String> = found.iter().map(|found| text::describe(&found.object)).collect();
    terminal::write(texts.join("\n\n").as_bytes()).map_err(Problem::Output)?;
    Problem::all(problems)
}

/// Fetches the objects of a target; without an exact match, those whose names begin with the given one.
async fn one(api: &mut Api, target: &Target, selectors: &Selectors) -> Result<Vec<FoundObject>, Problem> {
    let (found, mut problems) = fetch(api, std::slice::from_ref(target), selectors).await;
    let Some(problem) = problems.pop() else { return Ok(found) };
    let Target::One(kind, prefix) = target else { return Err(problem) };
    if !problem.is_missing() {
        return Err(problem);
    }
    let (mut all, _) = fetch(api, &[Target::Kind(kind)], selectors).await;
    all.retain(|found| found.name().starts_with(prefix.as_str()));
    if all.is_empty() { Err(problem) } else { Ok(all) }
}
