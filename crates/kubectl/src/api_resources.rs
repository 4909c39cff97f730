//! `lilt api-resources`.

use clap::Args;
use http::Method;
use lilt_api::kinds::kinds;
use lilt_client::Connect;
use lilt_host::terminal;
use serde_json::{Value, json};

use super::Outcome;
use super::flags::{Boolean, boolean};
use super::printers::aligned;
use super::problem::Problem;

const GROUP: &str = "tilt.dev";

/// List the kinds of objects that a session has
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt api-resources
  lilt api-resources --verbs=watch --sort-by=kind
  lilt api-resources -o name")]
pub struct ApiResources {
    /// Only kinds of this group; there is one: tilt.dev
    #[arg(long, value_name = "GROUP")]
    api_group: Option<String>,
    /// The kinds that this lilt knows, without asking a session
    #[arg(long)]
    cached: bool,
    /// Only kinds with a namespace, of which there is none; with false only those without
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_parser = boolean)]
    namespaced: Option<Boolean>,
    /// Sort by name or by kind
    #[arg(long, value_name = "COLUMN")]
    sort_by: Option<String>,
    /// Only kinds with which all of these can be done, for example list,watch
    #[arg(long, value_name = "VERB", value_delimiter = ',')]
    verbs: Vec<String>,
    /// Print wide (with the verbs) or name
    #[arg(short, long, value_name = "FORM")]
    output: Option<String>,
    /// No line with the names of the columns
    #[arg(long)]
    no_headers: bool,
    #[command(flatten)]
    connect: Connect,
}

pub async fn run(resources: ApiResources) -> Outcome {
    if !matches!(resources.output.as_deref(), None | Some("" | "wide" | "name")) {
        let given = resources.output.as_deref().unwrap_or_default();
        return Err(Problem::message(format!("--output {given} is not available")));
    }
    let mut entries = if resources.cached { known() } else { resources.ask().await? };
    entries.retain(|entry| resources.is_shown(entry));
    match resources.sort_by.as_deref() {
        None | Some("" | "name") => entries.sort_by_key(|entry| text(entry, "name")),
        Some("kind") => entries.sort_by_key(|entry| text(entry, "kind")),
        Some(_) => return Err(Problem::message("--sort-by accepts only name or kind")),
    }
    let printed = match resources.output.as_deref() {
        Some("name") => entries.iter().map(|entry| format!("{}.{GROUP}\n", text(entry, "name"))).collect(),
        output => resources.table(&entries, output == Some("wide")),
    };
    terminal::write(printed.as_bytes()).map_err(Problem::Output)
}

fn text(entry: &Value, field: &str) -> String {
    entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn words(entry: &Value, field: &str) -> Vec<String> {
    let items = entry.get(field).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the kinds as the session would list them.
fn known() -> Vec<Value> {
    let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let entry = |kind: &lilt_api::kinds::Kind| json!({"name": kind.plural, "kind": kind.name, "shortNames": kind.short_names, "namespaced": false, "verbs": verbs});
    kinds().all().iter().map(entry).collect()
}

impl ApiResources {
    async fn ask(&self) -> Result<Vec<Value>, Problem> {
        let bytes = crate::connect(&self.connect)?.raw(Method::GET, "/apis/tilt.dev/v1alpha1").await?;
        let list: Value = serde_json::from_slice(&bytes)
            .map_err(|error| Problem::message(format!("the list of kinds cannot be read: {error}")))?;
        let entries = list.get("resources").and_then(Value::as_array).cloned().unwrap_or_default();
        // Subresources are not listed.
        Ok(entries.into_iter().filter(|entry| !text(entry, "name").contains('/')).collect())
    }

    fn is_shown(&self, entry: &Value) -> bool {
        let has = words(entry, "verbs");
        let namespaced = entry.get("namespaced").and_then(Value::as_bool).unwrap_or_default();
        self.api_group.as_deref().is_none_or(|group| group == GROUP)
            && self.namespaced.is_none_or(|wanted| wanted.0 == namespaced)
            && self.verbs.iter().all(|verb| has.contains(verb))
    }

    fn table(&self, entries: &[Value], wide: bool) -> String {
        let mut rows = Vec::new();
        if !self.no_headers {
            let header = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND", "VERBS"];
            rows.push(header.iter().take(if wide { 6 } else { 5 }).map(|head| (*head).to_owned()).collect());
        }
        for entry in entries {
            let namespaced = entry.get("namespaced").and_then(Value::as_bool).unwrap_or_default();
            let mut row = vec![
                text(entry, "name"),
                words(entry, "shortNames").join(","),
                "tilt.dev/v1alpha1".to_owned(),
                namespaced.to_string(),
                text(entry, "kind"),
            ];
            if wide {
                row.push(words(entry, "verbs").join(","));
            }
            rows.push(row);
        }
        aligned(&rows)
    }
}
