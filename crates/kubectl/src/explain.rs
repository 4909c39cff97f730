//! `lilt explain`.

mod schema;

use clap::Args;
use http::Method;
use lilt_client::Connect;
use lilt_host::terminal;
use serde_json::Value;

use super::Outcome;
use super::problem::Problem;
use super::targets;

const VERSION: &str = "tilt.dev/v1alpha1";
const DOCUMENT: &str = "/openapi/v3/apis/tilt.dev/v1alpha1";

/// List the fields of a kind of object, as the session's OpenAPI document tells them
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt explain cmd
  lilt explain cmd.spec.restartOn
  lilt explain uibutton --recursive")]
pub struct Explain {
    /// A kind, and perhaps the way to one of its fields: TYPE.FIELD.FIELD
    #[arg(value_name = "TYPE")]
    words: Vec<String>,
    /// Fields of fields too
    #[arg(long)]
    recursive: bool,
    /// Version of the API; there is one: tilt.dev/v1alpha1
    #[arg(long, value_name = "VERSION")]
    api_version: Option<String>,
    #[command(flatten)]
    connect: Connect,
}

pub async fn run(explain: Explain) -> Outcome {
    let word = match explain.words.as_slice() {
        [word] => word,
        [] => {
            return Err(Problem::message(
                "You must specify the type of resource to explain. Use \"lilt api-resources\" for a complete list of \
                 supported resources.",
            ));
        }
        _ => return Err(Problem::message("We accept only this format: explain RESOURCE")),
    };
    if let Some(version) = explain.api_version.as_deref().filter(|version| *version != VERSION) {
        return Err(Problem::message(format!(
            "couldn't find resource for {version:?}: there is only {VERSION:?}"
        )));
    }
    let (kind, path) = split(word)?;
    let bytes = crate::connect(&explain.connect)?.raw(Method::GET, DOCUMENT).await?;
    let document: Value = serde_json::from_slice(&bytes)
        .map_err(|error| Problem::message(format!("the OpenAPI document cannot be read: {error}")))?;
    let text = schema::explain(&document, kind, &path, explain.recursive)?;
    terminal::write(text.as_bytes()).map_err(Problem::Output)
}

/// Splits `KIND.FIELD.FIELD` into the kind, whose name may contain dots, and the fields.
fn split(word: &str) -> Result<(&'static str, Vec<&str>), Problem> {
    let parts: Vec<&str> = word.trim_end_matches('.').split('.').collect();
    for length in (1..=parts.len().min(4)).rev() {
        let name = parts[..length].join(".");
        if (length == 1 || name.ends_with(".tilt.dev"))
            && let Ok(kind) = targets::kind(&name)
        {
            return Ok((kind.name, parts[length..].to_vec()));
        }
    }
    targets::kind(parts[0]).map(|kind| (kind.name, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_and_fields_are_split() {
        let told = |word: &'static str| split(word).map_err(|problem| problem.to_string());
        assert_eq!(told("cmds.spec.args"), Ok(("Cmd", vec!["spec", "args"])));
        assert_eq!(told("cmds.tilt.dev.spec"), Ok(("Cmd", vec!["spec"])));
        assert_eq!(told("fw."), Ok(("FileWatch", vec![])));
        assert!(told("pods.spec").is_err_and(|words| words.contains("resource type \"pods\"")));
    }
}
