//! `lilt plan`.

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use lilt_api::{KubernetesApply, Object, parse_content};
use lilt_client::sessions;
use lilt_cluster::{FieldChange, Preview};
use lilt_daemon::{DeployedResource, DownDryRun, DryRun, Removal, ResourceDryRun};
use lilt_host::session_dir::SessionDir;
use lilt_host::terminal;
use lilt_model::kubernetes::ObjectRef;
use lilt_model::{Failure, yaml};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::arguments::Project;
use crate::session;
use crate::signals::Signals;

/// The exit code if something would change in the cluster.
const CHANGES: u8 = 2;

/// Show what `up` would build, run and change in the cluster, without doing it
///
/// The Tiltfile is evaluated, and the API server is asked what each object would become (a dry run). Images whose files,
/// recipe and base images are as they were are not built again; which tag another gets is known only when it is built. If a session of this Tiltfile runs, what that would delete is told, too.
/// Exit code 0: the cluster is as it should be; 2: something would be made, changed or deleted there; 1: something would
/// be refused, or went wrong.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt plan                      before `lilt up`
  lilt plan web                  only web and what it depends on
  lilt plan --down               before `lilt down`
  lilt plan -o json | jq .resources")]
pub(crate) struct Plan {
    #[command(flatten)]
    project: Project,
    /// What `down` would delete
    #[arg(long)]
    down: bool,
    /// How to print it
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) async fn run(plan: Plan) -> anyhow::Result<ExitCode> {
    // Deleted at the end.
    let folder = SessionDir::create()?;
    // The subcommand that the Tiltfile sees.
    let subcommand = if plan.down { "down" } else { "up" };
    let settings = session::settings_without_session(subcommand, plan.project, &folder)?;
    let cancel = CancellationToken::new();
    let _signals = Signals::cancel(cancel.clone())?;
    // The JSON output must be one document, so other texts go to stderr.
    let print = |text: &str| match plan.output {
        Format::Text => terminal::print(text),
        Format::Json => terminal::aside(text.trim_end()),
    };
    if plan.down {
        let deletion = lilt_daemon::dry_run_down(settings, cancel, print).await?;
        match plan.output {
            Format::Text => terminal::print(&deletion_text(&deletion)),
            Format::Json => terminal::json(&deletion_json(&deletion))?,
        }
        let deletes = !deletion.runs.is_empty() || deletion.objects.iter().any(|(_, there)| *there);
        return Ok(ExitCode::from(if deletes { CHANGES } else { 0 }));
    }
    let deployed = deployed_resources(&settings.tiltfile).await?;
    let dry_run = lilt_daemon::dry_run(settings, deployed, cancel, print).await?;
    match plan.output {
        Format::Text => terminal::print(&text(&dry_run)),
        Format::Json => terminal::json(&dry_run_json(&dry_run))?,
    }
    Ok(ExitCode::from(code(&dry_run)))
}

/// Returns what the running session of this Tiltfile has deployed; nothing if none runs.
async fn deployed_resources(tiltfile: &Path) -> Result<Vec<DeployedResource>, Failure> {
    let Some(running) = sessions::running().into_iter().find(|running| running.tiltfile == tiltfile) else {
        return Ok(Vec::new());
    };
    let client = running.client();
    let list: Value = client.get_json("/proxy/apis/tilt.dev/v1alpha1/kubernetesapplys").await?;
    let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    // Only objects of the Tiltfile; users may have created others.
    let is_ours = |item: &&Value| item["metadata"]["annotations"]["tilt.dev/managed-by"] == "buildcontrol";
    items.iter().filter(is_ours).map(read_deployed).collect()
}

fn read_deployed(item: &Value) -> Result<DeployedResource, Failure> {
    let object = Object::read(item.clone());
    let apply: KubernetesApply =
        parse_content(&object.content).map_err(|error| Failure::internal(error.to_string()))?;
    let read = |yaml: &str| {
        let objects = yaml::objects(yaml).map_err(|error| Failure::internal(error.to_string()))?;
        Ok::<Vec<Value>, Failure>(objects.into_iter().map(|(_, object)| object).collect())
    };
    let yaml = &apply.status.result_yaml;
    let mut objects = read(yaml)?;
    // Objects with `create-once` are compared with their manifest, not with their current content.
    for manifest in read(&apply.spec.yaml)?.iter().filter(|it| lilt_cluster::is_create_once(it)) {
        objects.iter_mut().filter(|object| is_of(object, manifest)).for_each(|object| {
            let namespace = object["metadata"]["namespace"].take();
            object.clone_from(manifest);
            if !namespace.is_null() {
                object["metadata"]["namespace"] = namespace;
            }
        });
    }
    let delete = apply.spec.delete_cmd.filter(|_| !yaml.is_empty());
    Ok(DeployedResource {
        resource: object.metadata.get("name").and_then(Value::as_str).unwrap_or_default().into(),
        cluster: apply.spec.cluster,
        objects,
        delete: delete.map(|command| command.args.join(" ")),
    })
}

/// Returns whether an object was created from a manifest.
fn is_of(object: &Value, manifest: &Value) -> bool {
    let named = ObjectRef::of(manifest);
    named.zip(ObjectRef::of(object)).is_some_and(|(named, object)| named.means(&object))
}

fn previews(dry_run: &DryRun) -> impl Iterator<Item = &Preview> {
    dry_run.resources.iter().flat_map(|resource| &resource.objects).map(|(_, preview)| preview)
}

fn code(dry_run: &DryRun) -> u8 {
    let is_unchanged = |preview: &Preview| matches!(preview, Preview::Unchanged | Preview::Keep(_));
    if previews(dry_run).any(|preview| matches!(preview, Preview::Refused(_))) {
        1
    } else if dry_run.removals.is_empty() && previews(dry_run).all(is_unchanged) {
        0
    } else {
        CHANGES
    }
}

fn text(dry_run: &DryRun) -> String {
    let mut text = String::new();
    for resource in &dry_run.resources {
        text.push_str(&resource_text(resource));
    }
    for removal in &dry_run.removals {
        text.push_str(&removal_text(removal));
    }
    let count = |is: fn(&Preview) -> bool| previews(dry_run).filter(|preview| is(preview)).count();
    text.push_str(&format!(
        "{} to create, {} to change, {} to make anew, {} as they should be",
        count(|it| matches!(it, Preview::Create)),
        count(|it| matches!(it, Preview::Change(_))),
        count(|it| matches!(it, Preview::Recreate(_))),
        count(|it| matches!(it, Preview::Unchanged | Preview::Keep(_))),
    ));
    match dry_run.removals.iter().map(|removal| removal.objects.len()).sum::<usize>() {
        0 => {}
        removal => text.push_str(&format!(", {removal} to delete")),
    }
    match count(|it| matches!(it, Preview::Refused(_))) {
        0 => text.push_str("; nothing was changed\n"),
        refused => text.push_str(&format!(", {refused} that would be refused; nothing was changed\n")),
    }
    text
}

fn resource_text(resource: &ResourceDryRun) -> String {
    let mut text = match resource.cluster.is_session() {
        true => format!("{}\n", resource.name),
        false => format!("{} (context {})\n", resource.name, resource.cluster),
    };
    for image in &resource.builds {
        text.push_str(&format!("  build   {image}\n"));
    }
    for command in &resource.runs {
        text.push_str(&format!("  run     {command}\n"));
    }
    for (object, preview) in &resource.objects {
        let (verb, lines) = described(preview);
        text.push_str(&format!("  {verb:<7} {object}\n"));
        for line in lines {
            text.push_str(&format!("            {}\n", line.replace('\n', "\n            ")));
        }
    }
    text.push('\n');
    text
}

/// Describes a resource that the Tiltfile no longer contains.
fn removal_text(removal: &Removal) -> String {
    let mut text = format!("{} (the running session deletes it)\n", removal.resource);
    for command in &removal.runs {
        text.push_str(&format!("  run     {command}\n"));
    }
    for object in &removal.objects {
        text.push_str(&format!("  delete  {object}\n"));
    }
    text.push('\n');
    text
}

fn dry_run_json(dry_run: &DryRun) -> Value {
    let removal = |removal: &Removal| {
        let objects: Vec<Value> = removal.objects.iter().map(identity_json).collect();
        json!({"name": removal.resource, "runs": removal.runs, "objects": objects})
    };
    let resources: Vec<Value> = dry_run.resources.iter().map(resource_json).collect();
    let deletes: Vec<Value> = dry_run.removals.iter().map(removal).collect();
    json!({"resources": resources, "deletes": deletes})
}

/// Returns a word for the change, and its details.
fn described(preview: &Preview) -> (&'static str, Vec<String>) {
    let fields = |changes: &[FieldChange]| changes.iter().map(ToString::to_string).collect();
    match preview {
        Preview::Create => ("create", Vec::new()),
        Preview::Unchanged => ("leave", Vec::new()),
        Preview::Change(changes) => ("change", fields(changes)),
        Preview::Recreate(why) => ("replace", vec![format!("deleted and made anew: {why}")]),
        Preview::Keep(changes) => {
            let mut lines = vec!["made only once; it differs from the YAML:".to_owned()];
            lines.extend(changes.iter().map(ToString::to_string));
            ("leave", lines)
        }
        Preview::Refused(failure) => ("refused", vec![failure.to_string()]),
    }
}

fn resource_json(resource: &ResourceDryRun) -> Value {
    let objects: Vec<Value> = resource.objects.iter().map(object_json).collect();
    let mut value =
        json!({"name": resource.name, "builds": resource.builds, "runs": resource.runs, "objects": objects});
    if !resource.cluster.is_session() {
        value["context"] = json!(resource.cluster);
    }
    value
}

fn object_json((object, preview): &(ObjectRef, Preview)) -> Value {
    let (action, changes, reason) = match preview {
        Preview::Create => ("create", None, None),
        Preview::Unchanged => ("leave", None, None),
        Preview::Change(changes) => ("change", Some(changes), None),
        Preview::Recreate(why) => ("replace", None, Some(why.clone())),
        Preview::Keep(changes) => ("leave", Some(changes), Some("made only once".to_owned())),
        Preview::Refused(failure) => ("refused", None, Some(failure.to_string())),
    };
    let mut value = identity_json(object);
    value["action"] = action.into();
    if let Some(changes) = changes {
        let field = |change: &FieldChange| json!({"path": change.path, "before": change.before, "after": change.after});
        value["changes"] = changes.iter().map(field).collect();
    }
    if let Some(reason) = reason {
        value["reason"] = reason.into();
    }
    value
}

fn identity_json(object: &ObjectRef) -> Value {
    json!({"apiVersion": object.api_version, "kind": object.kind, "namespace": object.namespace, "name": object.name})
}

fn deletion_text(deletion: &DownDryRun) -> String {
    let mut text = String::new();
    for command in &deletion.runs {
        text.push_str(&format!("  run     {command}\n"));
    }
    for (object, there) in &deletion.objects {
        let verb = if *there { "delete" } else { "gone" };
        text.push_str(&format!("  {verb:<7} {object}\n"));
    }
    let there = deletion.objects.iter().filter(|(_, there)| *there).count();
    text.push_str(&format!("{there} to delete; nothing was changed\n"));
    text
}

fn deletion_json(deletion: &DownDryRun) -> Value {
    let object = |(object, there): &(ObjectRef, bool)| {
        let mut value = identity_json(object);
        value["action"] = if *there { "delete" } else { "gone" }.into();
        value
    };
    let objects: Vec<Value> = deletion.objects.iter().map(object).collect();
    json!({"runs": deletion.runs, "objects": objects})
}
