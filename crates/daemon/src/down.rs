//! `lilt down`: evaluates the Tiltfile and deletes the objects it names.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lilt_cluster::{Cluster, ConnectOptions, DeleteOutcome};
use lilt_model::Failure;
use lilt_model::kubernetes::ObjectRef;
use lilt_model::project::Project;
use lilt_model::resource::Body;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::runner::evaluate;
use crate::settings::Settings;

/// Objects may have finalizers and pods take their time to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long an interrupted evaluation may take to end what it runs.
const LONGEST_STOP: Duration = Duration::from_millis(1500);

/// Deletes what the Tiltfile names, whoever applied it. Namespaces stay unless asked. `print` gets lines as they come.
pub async fn down(
    settings: Settings,
    delete_namespaces: bool,
    cancel: CancellationToken,
    mut print: impl FnMut(&str),
) -> Result<(), Failure> {
    let settings = Arc::new(settings);
    let project = load(Arc::clone(&settings), &cancel, &mut print).await?;
    tokio::select! {
        result = delete(&settings, project, delete_namespaces, print) => result,
        () = cancel.cancelled() => Err(Failure::user("interrupted; some objects may be left")),
    }
}

async fn delete(
    settings: &Settings,
    project: Project,
    delete_namespaces: bool,
    mut print: impl FnMut(&str),
) -> Result<(), Failure> {
    let (objects, kept): (Vec<Value>, Vec<Value>) =
        objects(project).into_iter().partition(|object| is_deleted(object, delete_namespaces));
    for object in kept.iter().filter_map(ObjectRef::of) {
        print(&format!("Keeping {object}\n"));
    }
    if objects.is_empty() {
        print("Nothing to delete\n");
        return Ok(());
    }
    let options = ConnectOptions {
        kubeconfig: Vec::new(),
        context: settings.context.clone(),
        namespace: settings.namespace.clone(),
    };
    let cluster = Cluster::connect(options).await?;
    print("Deleting kubernetes objects:\n");
    for (object, outcome) in cluster.delete(&objects, Some(PATIENCE)).await? {
        let note = match outcome {
            DeleteOutcome::Deleted => "",
            DeleteOutcome::AlreadyGone => " (already gone)",
        };
        print(&format!("→ {}/{}{note}\n", object.kind, object.name));
    }
    Ok(())
}

/// Evaluates on a blocking thread and passes on what is printed meanwhile. When cancelled, it returns after what the
/// Tiltfile runs has ended.
async fn load(
    settings: Arc<Settings>,
    cancel: &CancellationToken,
    print: &mut impl FnMut(&str),
) -> Result<Project, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    // Unbounded would do as well: a Tiltfile prints little. The evaluation waits when the terminal does.
    let (lines, mut printed) = mpsc::channel::<String>(64);
    let evaluation = tokio::task::spawn_blocking(move || {
        evaluate(&settings, settings.args.clone(), &stopped, &mut |text| {
            // After an interruption nobody listens.
            let _ = lines.blocking_send(text.to_owned());
        })
    });
    let passing_on = async {
        while let Some(text) = printed.recv().await {
            print(&format!("{text}\n"));
        }
    };
    tokio::select! {
        () = passing_on => {}
        () = cancel.cancelled() => {
            stop.store(true, Ordering::Relaxed);
            drop(printed);
            // One that is stuck must not keep the shell's prompt away.
            let _ = tokio::time::timeout(LONGEST_STOP, evaluation).await;
            return Err(Failure::user("interrupted before anything was deleted"));
        }
    }
    match evaluation.await {
        Ok(loaded) => loaded.project,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

fn objects(mut project: Project) -> Vec<Value> {
    // `down -- web` deletes what web deployed and leaves the rest alone.
    let all = std::mem::take(&mut project.resources).into_iter();
    let bodies = all.filter(|resource| project.is_enabled(&resource.name)).map(|resource| resource.body);
    bodies
        .flat_map(|body| match body {
            Body::Kubernetes(kubernetes) => kubernetes.objects,
            // Docker Compose is not supported yet: nothing of it was started.
            Body::Local(_) | Body::Compose(_) => Vec::new(),
        })
        .collect()
}

fn is_deleted(object: &Value, delete_namespaces: bool) -> bool {
    let policy = object.pointer("/metadata/annotations/tilt.dev~1down-policy").and_then(Value::as_str);
    let is_namespace = object.get("kind").and_then(Value::as_str) == Some("Namespace");
    policy != Some("keep") && (delete_namespaces || !is_namespace)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn namespaces_and_what_is_to_be_kept_stay() {
        let namespace = json!({"kind": "Namespace", "metadata": {"name": "n"}});
        let kept = json!({"kind": "Secret", "metadata": {"name": "s", "annotations": {"tilt.dev/down-policy": "keep"}}});
        let service = json!({"kind": "Service", "metadata": {"name": "s"}});
        assert!(!is_deleted(&namespace, false));
        assert!(is_deleted(&namespace, true));
        assert!(!is_deleted(&kept, true));
        assert!(is_deleted(&service, false));
    }
}
