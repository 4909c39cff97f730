//! `lilt down`: evaluates the Tiltfile and deletes the objects that it defines.

mod commands;
mod order;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lilt_cluster::{Cluster, DeleteOutcome};
use lilt_host::process::Guardian;
use lilt_model::command::Command;
use lilt_model::compose::ComposeProject;
use lilt_model::kubernetes::ObjectRef;
use lilt_model::project::Project;
use lilt_model::resource::{Body, Resource};
use lilt_model::{ClusterName, Failure};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::runner::connect::remote;
use crate::runner::evaluate;
use crate::settings::Settings;

/// How long to wait for deletions: objects may have finalizers, and pods a grace period.
const DELETE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long an interrupted evaluation may take to end its commands.
const LONGEST_STOP: Duration = Duration::from_millis(1500);

/// What is deleted only on request.
#[derive(Clone, Copy, Debug, Default)]
pub struct DownOptions {
    pub namespaces: bool,
    /// Volumes of Docker Compose.
    pub volumes: bool,
}

/// Deletes the objects that the Tiltfile defines, whoever applied them. `print` gets the output.
pub async fn down(
    settings: Settings,
    options: DownOptions,
    cancel: CancellationToken,
    mut print: impl FnMut(&str),
) -> Result<(), Failure> {
    let settings = Arc::new(settings);
    let guardian = Guardian::of_this_program()?;
    let project = load(Arc::clone(&settings), &guardian, &cancel, &mut print).await?;
    let result = tokio::select! {
        result = delete(&settings, &guardian, DeletionTargets::of(project), options, &mut print) => result,
        () = cancel.cancelled() => Err(Failure::user("interrupted; some objects may be left")),
    };
    guardian.close().await;
    result
}

/// What to delete for a project, dependents first.
#[derive(Default)]
pub(crate) struct DeletionTargets {
    /// By cluster, the session's own first.
    pub(crate) objects: BTreeMap<ClusterName, Vec<Value>>,
    pub(crate) commands: Vec<(ClusterName, Command)>,
    pub(crate) compose: Vec<ComposeProject>,
}

impl DeletionTargets {
    /// Collects the targets of enabled resources: `down -- web` deletes nothing else.
    pub(crate) fn of(mut project: Project) -> DeletionTargets {
        let all = std::mem::take(&mut project.resources).into_iter();
        let enabled: Vec<Resource> = all.filter(|resource| project.is_enabled(&resource.name)).collect();
        let mut targets = DeletionTargets::default();
        for resource in order::dependents_first(enabled) {
            match resource.body {
                Body::Kubernetes(kubernetes) => match kubernetes.custom_deploy {
                    Some(custom) => targets.commands.push((kubernetes.cluster, custom.delete)),
                    None => targets.objects.entry(kubernetes.cluster).or_default().extend(kubernetes.objects),
                },
                Body::Compose(compose) => {
                    if !targets.compose.contains(&compose.project) {
                        targets.compose.push(compose.project);
                    }
                }
                Body::Local(_) => {}
            }
        }
        targets
    }
}

/// Deletes all targets. A failure does not keep the others from being deleted.
async fn delete(
    settings: &Settings,
    guardian: &Guardian,
    targets: DeletionTargets,
    options: DownOptions,
    print: &mut impl FnMut(&str),
) -> Result<(), Failure> {
    let mut failures = Vec::new();
    let mut objects: Vec<(ClusterName, Vec<Value>)> = Vec::new();
    for (cluster, targets) in targets.objects {
        objects.push((cluster, without_kept(targets, options, print)));
    }
    objects.retain(|(_, objects)| !objects.is_empty());
    if objects.is_empty() && targets.commands.is_empty() && targets.compose.is_empty() {
        print("Nothing to delete\n");
        return Ok(());
    }
    for (cluster, objects) in objects {
        match delete_objects(settings, &cluster, &objects, print).await {
            Ok(refused) => failures.extend(refused),
            Err(failure) => failures.push(failure),
        }
    }
    failures.extend(commands::run_all(settings, guardian, targets.commands, print).await);
    for project in &targets.compose {
        failures.extend(commands::compose_down(guardian, project, options.volumes, print).await.err());
    }
    summary(failures)
}

fn summary(mut failures: Vec<Failure>) -> Result<(), Failure> {
    match failures.len() {
        0 => Ok(()),
        1 => Err(failures.remove(0)),
        _ => {
            let all: Vec<String> = failures.iter().map(ToString::to_string).collect();
            Err(Failure::environment("not everything could be deleted").detail(all.join("\n")))
        }
    }
}

/// Removes objects that must be kept, and prints them.
pub(crate) fn without_kept(
    objects: Vec<Value>,
    options: DownOptions,
    print: &mut impl FnMut(&str),
) -> Vec<Value> {
    let (kept, objects): (Vec<Value>, Vec<Value>) = objects.into_iter().partition(is_kept);
    for object in kept.iter().filter_map(ObjectRef::of) {
        print(&format!("Keeping {object}, as its annotation tilt.dev/down-policy says\n"));
    }
    let (namespaces, objects): (Vec<Value>, Vec<Value>) =
        objects.into_iter().partition(|object| !options.namespaces && is_namespace(object));
    if !namespaces.is_empty() {
        let names: Vec<String> = namespaces.iter().filter_map(ObjectRef::of).map(|it| it.name).collect();
        print(&format!("Not deleting namespaces: {}\n", names.join(", ")));
        print("Run with --delete-namespaces to delete namespaces as well.\n");
    }
    objects
}

/// Deletes objects of one cluster. Returns the failures of single objects.
async fn delete_objects(
    settings: &Settings,
    name: &ClusterName,
    objects: &[Value],
    print: &mut impl FnMut(&str),
) -> Result<Vec<Failure>, Failure> {
    let cluster = Cluster::connect(settings.connection(name)).await?;
    if let Some(warning) = remote::warning(&cluster).await {
        print(&format!("WARNING: {warning}\n"));
    }
    print(&match name.is_session() {
        true => "Deleting kubernetes objects:\n".to_owned(),
        false => format!("Deleting kubernetes objects of the context {name}:\n"),
    });
    let mut failures = Vec::new();
    for (object, outcome) in cluster.delete_each(objects, Some(DELETE_TIMEOUT)).await? {
        let note = match outcome {
            Ok(DeleteOutcome::Deleted) => "",
            Ok(DeleteOutcome::AlreadyGone) => " (already gone)",
            Ok(DeleteOutcome::Kept(kept)) => {
                print(&format!("{kept}\n"));
                continue;
            }
            Err(failure) => {
                failures.push(failure);
                " (failed)"
            }
        };
        print(&format!("→ {}/{}{note}\n", object.kind, object.name));
    }
    Ok(failures)
}

/// Evaluates the Tiltfile on a blocking thread and prints its output meanwhile.
///
/// When cancelled, it returns after the commands of the Tiltfile have ended.
pub(crate) async fn load(
    settings: Arc<Settings>,
    guardian: &Guardian,
    cancel: &CancellationToken,
    print: &mut impl FnMut(&str),
) -> Result<Project, Failure> {
    let guardian = guardian.clone();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    // The size does not matter: a Tiltfile prints little. The evaluation waits for a slow terminal.
    let (lines, mut printed) = mpsc::channel::<String>(64);
    let evaluation = tokio::task::spawn_blocking(move || {
        evaluate(
            &settings,
            settings.tiltfile.clone(),
            settings.args.clone(),
            &guardian,
            &stopped,
            &mut |message| {
                // The receiver is gone after an interruption.
                let _ = lines.blocking_send(message.to_string());
            },
        )
    });
    let forward_output = async {
        while let Some(text) = printed.recv().await {
            print(&format!("{text}\n"));
        }
    };
    tokio::select! {
        () = forward_output => {}
        () = cancel.cancelled() => {
            stop.store(true, Ordering::Relaxed);
            drop(printed);
            // A stuck evaluation must not delay the shell's prompt.
            let _ = tokio::time::timeout(LONGEST_STOP, evaluation).await;
            return Err(Failure::user("interrupted before anything was done"));
        }
    }
    match evaluation.await {
        Ok(loaded) => loaded.project,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

pub(crate) fn is_kept(object: &Value) -> bool {
    let policy = object.pointer("/metadata/annotations/tilt.dev~1down-policy").and_then(Value::as_str);
    policy == Some("keep")
}

fn is_namespace(object: &Value) -> bool {
    object.get("kind").and_then(Value::as_str) == Some("Namespace")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn namespaces_and_kept_objects_are_not_deleted() {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
        let annotations = json!({"tilt.dev/down-policy": "keep"});
        let kept = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": annotations}});
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}});
        let all = vec![namespace.clone(), kept, service.clone()];
        let mut message = String::new();
        let left = without_kept(all.clone(), DownOptions::default(), &mut |text| message.push_str(text));
        assert_eq!(left, std::slice::from_ref(&service));
        assert!(message.contains("Not deleting namespaces: n\nRun with --delete-namespaces"), "{message}");
        assert!(message.contains("Keeping s:secret"), "{message}");
        let left = without_kept(all, DownOptions { namespaces: true, volumes: false }, &mut |_| {});
        assert_eq!(left, [namespace, service]);
    }
}
