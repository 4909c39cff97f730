//! Deploys with a command of the user, which prints the objects that it applied.

use std::time::Duration;

use lilt_cluster::FoundObject;
use lilt_engine::{DeployJob, Deployed};
use lilt_model::kubernetes::{CustomDeploy, ObjectRef};
use lilt_model::secret::Redactor;
use lilt_model::timeline::StageKind;
use lilt_model::{ClusterName, Failure, ImageName, Unreachable, yaml};
use serde_json::Value;

use super::steps::Steps;
use super::{collect_hashes, shown, variables};
use crate::context::Context;
use crate::runner::api_retry::{self, ApiRetry};
use crate::runner::local;

/// `helm_resource` prints the manifests before this line, and the applied objects after it.
const SEPARATOR: &str = "\n# lilt: as they are in the cluster\n";
/// A slower response counts as none.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// How much of an unusable output is shown: charts print megabytes.
const SHOWN: usize = 500;

pub(crate) async fn deploy(
    context: &Context,
    job: &DeployJob,
    custom: &CustomDeploy,
    references: &[(ImageName, String)],
    steps: &mut Steps,
) -> Result<Deployed, Failure> {
    steps.begin(StageKind::Deploy, "", "Deploying".into()).await;
    if job.rerun {
        delete_first(context, job, custom, steps).await?;
    }
    let mut command = context.connections.with_kubeconfig(&job.kubernetes.cluster, &custom.apply);
    let reference = |name: &ImageName| references.iter().find(|(known, _)| known == name);
    let needed = job.kubernetes.image_deps.iter().filter_map(reference);
    command.env.extend(variables::of_images(needed.map(|(name, reference)| (name, reference.as_str()))));
    let seconds = u64::from(job.kubernetes.apply_timeout_secs);
    let (exit, printed) = steps.run_capturing(&command, Duration::from_secs(seconds)).await?;
    let (objects, found) =
        find(context, &job.kubernetes.cluster, job.unattended, exit, &printed, seconds).await?;
    steps.detail("Objects applied to cluster:");
    for found in &found {
        steps.detail(&format!("  → {}", shown(&found.object, &job.namespace)));
    }
    steps.end().await;
    let mut template_hashes = Vec::new();
    objects.iter().for_each(|object| collect_hashes(object, &mut template_hashes));
    let makes_pods = objects.iter().any(makes_pods);
    let result = yaml::stream(&with_identities(&objects, &found));
    let (mut marks, mut manifests, mut references) = (Vec::new(), Vec::new(), Vec::new());
    for FoundObject { object, uid, fingerprint, manifest } in found {
        references.push((object, uid));
        marks.push(fingerprint);
        manifests.push(manifest);
    }
    Ok(Deployed {
        objects: references,
        marks,
        manifests,
        template_hashes,
        makes_pods,
        result,
        ..Deployed::default()
    })
}

/// Deletes the deployed objects before a manually triggered update, as in Tilt.
async fn delete_first(
    context: &Context,
    job: &DeployJob,
    custom: &CustomDeploy,
    steps: &mut Steps,
) -> Result<(), Failure> {
    steps.detail("Deleting what is deployed, so that it starts anew");
    let exit = steps
        .run(&context.connections.with_kubeconfig(&job.kubernetes.cluster, &custom.delete), None)
        .await?;
    if let Some(how) = local::exit_failure(exit) {
        steps.warn(format!("Command {:?} failed: {how}", custom.delete.display()));
    }
    Ok(())
}

/// Returns the objects that a command printed, and their state in the cluster.
pub(crate) async fn find(
    context: &Context,
    cluster: &ClusterName,
    unattended: bool,
    exit: Option<lilt_host::process::Exit>,
    printed: &[u8],
    seconds: u64,
) -> Result<(Vec<Value>, Vec<FoundObject>), Failure> {
    let cluster = context.connections.cluster(cluster)?;
    let (manifests, printed) = split_output(printed);
    let objects = match read(exit, printed, seconds, &context.logs.redactor()) {
        Ok(objects) => objects,
        // An unreachable cluster is the probable cause.
        Err(failure) if !cluster.is_reachable(RESPONSE_TIMEOUT).await => {
            return Err(failure.of_kind(Unreachable::Cluster));
        }
        Err(failure) => return Err(failure),
    };
    let mut retry = ApiRetry::new(&cluster, api_retry::deadline(unattended, Duration::from_secs(seconds)));
    loop {
        let failure = match retry.attempt(cluster.find(&objects)).await {
            Ok(mut found) => {
                attach_manifests(&mut found, &manifests);
                return Ok((objects, found));
            }
            Err(failure) => failure,
        };
        if !retry.should_retry(&failure, |_| {}).await {
            return Err(
                failure.hint("apply_cmd must print, as YAML, the objects that it applied, and nothing else")
            );
        }
    }
}

/// Splits the output into manifests and objects. Most commands print objects only.
fn split_output(printed: &[u8]) -> (String, &[u8]) {
    let Some(at) = printed.windows(SEPARATOR.len()).position(|it| it == SEPARATOR.as_bytes()) else {
        return (String::new(), printed);
    };
    let (manifests, objects) = printed.split_at(at);
    (String::from_utf8_lossy(manifests).into_owned(), &objects[SEPARATOR.len()..])
}

fn attach_manifests(found: &mut [FoundObject], text: &str) {
    // Manifests are only used to detect drift, so unreadable ones are no failure.
    let manifests = yaml::objects(text).unwrap_or_else(|error| {
        tracing::warn!(error = error.message, "the manifests that a command printed cannot be read");
        Vec::new()
    });
    for (_, manifest) in manifests {
        let Some(named) = ObjectRef::of(&manifest) else { continue };
        if let Some(found) = found.iter_mut().find(|found| named.means(&found.object)) {
            let namespace = found.object.namespace.clone();
            found.manifest = manifest;
            if !namespace.is_empty() {
                found.manifest["metadata"]["namespace"] = namespace.into();
            }
        }
    }
}

/// Adds uid and namespace to the printed objects.
pub(crate) fn with_identities(objects: &[Value], found: &[FoundObject]) -> Vec<Value> {
    let known = |(object, found): (&Value, &FoundObject)| {
        let mut object = object.clone();
        object["metadata"]["uid"] = Value::from(found.uid.as_str());
        if !found.object.namespace.is_empty() {
            object["metadata"]["namespace"] = Value::from(found.object.namespace.as_str());
        }
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        object
    };
    objects.iter().zip(found).map(known).collect()
}

/// Parses the objects that a command printed.
fn read(
    exit: Option<lilt_host::process::Exit>,
    printed: &[u8],
    seconds: u64,
    redactor: &Redactor,
) -> Result<Vec<Value>, Failure> {
    let text = String::from_utf8_lossy(printed);
    let detailed = |failure: Failure| match text.trim() {
        "" => failure,
        _ => failure.detail(format!("stdout:\n{}", shortened(&redactor.redact(&text)))),
    };
    let Some(exit) = exit else {
        let failure = Failure::user(format!("apply command timed out after {seconds}s"));
        return Err(detailed(failure).hint("update_settings(k8s_upsert_timeout_secs=…) gives it more time"));
    };
    if let Some(how) = local::exit_failure(exit) {
        return Err(detailed(Failure::user(format!("apply command failed: {how}"))));
    }
    let invalid =
        |why: String| detailed(Failure::user(format!("apply command returned malformed YAML: {why}")));
    let objects = yaml::objects(&text).map_err(|error| invalid(error.to_string()))?;
    let objects: Vec<Value> =
        objects.into_iter().map(|(_, object)| object).filter(|object| !object.is_null()).collect();
    match objects.iter().find(|object| lilt_model::kubernetes::ObjectRef::of(object).is_none()) {
        Some(_) => Err(invalid("an object lacks apiVersion, kind or metadata.name".to_owned())
            .hint("apply_cmd must print the objects that it applied, and everything else to stderr")),
        None => Ok(objects),
    }
}

fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= SHOWN {
        return text.to_owned();
    }
    let (begin, end) = (SHOWN / 2, count - SHOWN / 2);
    let begin: String = text.chars().take(begin).collect();
    let end: String = text.chars().skip(end).collect();
    format!("{begin}\n… and in the end …\n{end}")
}

fn makes_pods(object: &Value) -> bool {
    let wants = object.pointer("/spec/replicas").and_then(Value::as_u64) != Some(0);
    object["kind"] == "Pod" || (wants && object.pointer("/spec/template/spec/containers").is_some())
}

#[cfg(test)]
mod tests {
    use lilt_host::process::Exit;

    use super::*;

    #[test]
    fn output_of_an_apply_command_is_parsed() {
        let list = "kind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: web}}\n---\n";
        let objects = read(Some(Exit::Code(0)), list.as_bytes(), 30, &Redactor::default()).unwrap();
        assert_eq!(objects.len(), 1);
        assert_eq!(objects[0]["kind"], "Service");
        assert_eq!(read(Some(Exit::Code(0)), b"", 30, &Redactor::default()).unwrap(), Vec::<Value>::new());
        let secret = lilt_model::secret::Secret {
            name: "db".into(),
            key: "pw".into(),
            value: b"hunter2hunter2".to_vec(),
            encoded: "aHVudGVyMmh1bnRlcjI=".into(),
        };
        let redactor = Redactor::new(&[secret]);
        let failure = |exit, text: &str| read(exit, text.as_bytes(), 30, &redactor).unwrap_err().to_string();
        assert!(failure(None, "").starts_with("apply command timed out after 30s\nhint: update_settings("));
        assert_eq!(
            failure(Some(Exit::Code(3)), "so far"),
            "apply command failed: exit status 3\nstdout:\nso far"
        );
        assert!(failure(Some(Exit::Code(0)), "a: [").starts_with("apply command returned malformed YAML: "));
        let message = failure(Some(Exit::Code(0)), "release: installed");
        assert!(message.contains("lacks apiVersion"), "{message}");
        let long = failure(Some(Exit::Code(1)), &"x".repeat(10_000));
        assert!(long.len() < 700 && long.contains("… and in the end …"), "{long}");
        // A value that is cut in two.
        let cut = format!("{}hunter2hunter2{}", "x".repeat(SHOWN / 2 - 7), "x".repeat(10_000));
        let cut = failure(Some(Exit::Code(1)), &cut);
        assert!(!cut.contains("hunter2"), "{cut}");
    }

    #[test]
    fn manifests_are_split_from_the_objects() {
        assert_eq!(split_output(b"kind: Pod\n"), (String::new(), &b"kind: Pod\n"[..]));
        let text = format!("a: \u{fffd}1{SEPARATOR}kind: List\n");
        assert_eq!(split_output(text.as_bytes()), ("a: \u{fffd}1".to_owned(), &b"kind: List\n"[..]));
    }

    #[test]
    fn objects_with_pod_templates_make_pods() {
        let deployment = |replicas: u64| {
            serde_json::json!({"kind": "Deployment",
                "spec": {"replicas": replicas, "template": {"spec": {"containers": []}}}})
        };
        assert!(makes_pods(&deployment(1)));
        assert!(!makes_pods(&deployment(0)));
        assert!(makes_pods(&serde_json::json!({"kind": "Pod"})));
        assert!(!makes_pods(&serde_json::json!({"kind": "Service", "spec": {}})));
    }
}
