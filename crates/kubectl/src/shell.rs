//! `lilt alpha shell`.

use clap::Args;
use lilt_api::ObjectKind;
use lilt_api::kinds::kinds;
use lilt_client::Connect;
use lilt_client::object_api::{Api, ApiPath};
use lilt_host::terminal;
use lilt_host::{environment, process};
use serde_json::Value;

use super::Outcome;
use super::problem::Problem;

/// Open a shell in a container of a Kubernetes resource
///
/// kubectl does it: `kubectl shell` if that is installed, else bash or sh through `kubectl exec`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  lilt alpha shell web\n  lilt alpha shell web -c sidecar")]
pub struct Shell {
    /// The resource
    #[arg(value_name = "RESOURCE")]
    resource: String,
    /// The container, if the pod has several
    #[arg(short, long, value_name = "NAME")]
    container: Option<String>,
    #[command(flatten)]
    connect: Connect,
}

/// Where to go.
struct Pod {
    name: String,
    namespace: String,
    container: String,
    context: Option<String>,
}

pub async fn run(shell: Shell) -> Outcome {
    let mut api = crate::connect(&shell.connect)?;
    let pod = shell.find(&mut api).await?;
    if environment::find_program("kubectl").is_none() {
        return Err(Problem::words("could not find kubectl"));
    }
    let argv =
        command(&pod, environment::find_program("kubectl-shell").is_some(), terminal::is_interactive());
    terminal::aside(&format!("Running: {}", argv.join(" ")));
    let exit = process::run_in_terminal(&argv, &[])?;
    if exit.success() { Ok(()) } else { Err(Problem::words(format!("the shell ended with {exit}"))) }
}

fn command(pod: &Pod, has_plugin: bool, interactive: bool) -> Vec<String> {
    let mut argv = vec!["kubectl".to_owned()];
    argv.push(if has_plugin { "shell" } else { "exec" }.to_owned());
    if !has_plugin {
        argv.push(if interactive { "-it" } else { "-i" }.to_owned());
    }
    argv.extend([pod.name.clone(), "-n".into(), pod.namespace.clone(), "-c".into(), pod.container.clone()]);
    argv.extend(pod.context.iter().flat_map(|context| ["--context".to_owned(), context.clone()]));
    if !has_plugin {
        let best = "command -v bash >/dev/null 2>&1 && exec bash; exec sh";
        argv.extend(["--", "sh", "-c", best].map(str::to_owned));
    }
    argv
}

impl Shell {
    async fn find(&self, api: &mut Api) -> Result<Pod, Problem> {
        let name = &self.resource;
        let resource = object(api, ObjectKind::UIResource, name).await?.ok_or_else(|| {
            Problem::words(format!(
                "resource {name} not found. To see available resources, run:\nlilt get uiresources"
            ))
        })?;
        if resource.pointer("/status/k8sResourceInfo").is_none_or(Value::is_null) {
            return Err(Problem::words(format!(
                "resource {name} is not a Kubernetes resource. Only Kubernetes pods currently supported"
            )));
        }
        let none = || Problem::words(format!("no pod found for resource {name}"));
        let discovery = object(api, ObjectKind::KubernetesDiscovery, name).await?.ok_or_else(none)?;
        let pods = discovery.pointer("/status/pods").and_then(Value::as_array);
        let pod = pods.and_then(|pods| best(pods)).ok_or_else(none)?;
        let cluster = object(api, ObjectKind::Cluster, "default").await?;
        let context = cluster.as_ref().and_then(|it| it.pointer("/status/connection/kubernetes/context"));
        Ok(Pod {
            name: text(pod, "name"),
            namespace: text(pod, "namespace"),
            container: self.container(pod)?,
            context: context.and_then(Value::as_str).map(str::to_owned),
        })
    }

    fn container(&self, pod: &Value) -> Result<String, Problem> {
        let names = |list: &str| {
            let items = pod.get(list).and_then(Value::as_array);
            items.into_iter().flatten().map(|item| text(item, "name")).collect::<Vec<_>>()
        };
        let (init, main) = (names("initContainers"), names("containers"));
        match (&self.container, main.as_slice()) {
            (None, [only]) => Ok(only.clone()),
            (None, several) => Err(Problem::words(format!(
                "pod {} has several containers, say with -c which one: {}",
                text(pod, "name"),
                several.join(", ")
            ))),
            (Some(name), _) if main.contains(name) || init.contains(name) => Ok(name.clone()),
            (Some(name), _) => {
                Err(Problem::words(format!("container {name} not found in pod {}", text(pod, "name"))))
            }
        }
    }
}

async fn object(api: &mut Api, kind: ObjectKind, name: &str) -> Result<Option<Value>, Problem> {
    Ok(api.find_object(&ApiPath::one(kinds().of(kind), name)).await?)
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The newest that is not on its way out, a running one before others.
fn best(pods: &[Value]) -> Option<&Value> {
    let staying = pods.iter().filter(|pod| pod.get("deleting") != Some(&Value::Bool(true)));
    staying.max_by_key(|pod| (text(pod, "phase") == "Running", text(pod, "createdAt")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_best_pod_is_taken_and_kubectl_called() {
        let pods = [
            json!({"name": "old", "phase": "Running", "createdAt": "2026-01-01T00:00:00Z"}),
            json!({"name": "new", "phase": "Running", "createdAt": "2026-01-02T00:00:00Z"}),
            json!({"name": "going", "phase": "Running", "createdAt": "2026-01-03T00:00:00Z", "deleting": true}),
            json!({"name": "starting", "phase": "Pending", "createdAt": "2026-01-03T00:00:00Z"}),
        ];
        assert_eq!(best(&pods).map(|pod| text(pod, "name")).as_deref(), Some("new"));
        let pod =
            Pod { name: "p".into(), namespace: "n".into(), container: "c".into(), context: Some("x".into()) };
        assert_eq!(command(&pod, true, true).join(" "), "kubectl shell p -n n -c c --context x");
        let line = command(&pod, false, true).join(" ");
        assert!(line.starts_with("kubectl exec -it p -n n -c c --context x -- sh -c "), "{line}");
    }
}
