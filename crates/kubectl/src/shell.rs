//! `lilt alpha shell`.

use clap::Args;
use lilt_api::kinds::kinds;
use lilt_api::{ApiContent, Cluster, Container, KubernetesDiscovery, Pod, UIResource, parse_content};
use lilt_client::Connect;
use lilt_client::object_api::{Api, ApiPath};
use lilt_host::terminal;
use lilt_host::{environment, process};
use serde::de::DeserializeOwned;
use serde_json::Map;

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

/// The container to open the shell in.
struct ShellTarget {
    name: String,
    namespace: String,
    container: String,
    context: Option<String>,
}

pub async fn run(shell: Shell) -> Outcome {
    let mut api = crate::connect(&shell.connect)?;
    let target = shell.find(&mut api).await?;
    if environment::find_program("kubectl").is_none() {
        return Err(Problem::message("could not find kubectl"));
    }
    let argv =
        command(&target, environment::find_program("kubectl-shell").is_some(), terminal::is_interactive());
    terminal::aside(&format!("Running: {}", argv.join(" ")));
    let exit = process::run_in_terminal(&argv, &[])?;
    if exit.success() { Ok(()) } else { Err(Problem::message(format!("the shell ended with {exit}"))) }
}

fn command(target: &ShellTarget, has_plugin: bool, interactive: bool) -> Vec<String> {
    let mut argv = vec!["kubectl".to_owned()];
    argv.push(if has_plugin { "shell" } else { "exec" }.to_owned());
    if !has_plugin {
        argv.push(if interactive { "-it" } else { "-i" }.to_owned());
    }
    argv.extend([
        target.name.clone(),
        "-n".into(),
        target.namespace.clone(),
        "-c".into(),
        target.container.clone(),
    ]);
    argv.extend(target.context.iter().flat_map(|context| ["--context".to_owned(), context.clone()]));
    if !has_plugin {
        let shell = "command -v bash >/dev/null 2>&1 && exec bash; exec sh";
        argv.extend(["--", "sh", "-c", shell].map(str::to_owned));
    }
    argv
}

impl Shell {
    async fn find(&self, api: &mut Api) -> Result<ShellTarget, Problem> {
        let name = &self.resource;
        let Some(resource) = read::<UIResource>(api, name).await? else {
            return Err(Problem::message(format!(
                "resource {name} not found. To see available resources, run:\nlilt get uiresources"
            )));
        };
        if resource.status.k8s_resource_info.is_none() {
            return Err(Problem::message(format!(
                "resource {name} is not a Kubernetes resource. Only Kubernetes pods currently supported"
            )));
        }
        let none = || Problem::message(format!("no pod found for resource {name}"));
        let discovery = read::<KubernetesDiscovery>(api, name).await?.ok_or_else(none)?;
        let pod = newest_pod(&discovery.status.pods).ok_or_else(none)?;
        let cluster = read::<Cluster>(api, "default").await?;
        let connection = cluster.and_then(|cluster| cluster.status.connection);
        Ok(ShellTarget {
            name: pod.name.clone(),
            namespace: pod.namespace.clone(),
            container: self.container(pod)?,
            context: connection.and_then(|connection| connection.kubernetes).map(|it| it.context),
        })
    }

    fn container(&self, pod: &Pod) -> Result<String, Problem> {
        let names = |containers: &[Container]| -> Vec<String> {
            containers.iter().map(|container| container.name.clone()).collect()
        };
        let (init, main) = (names(&pod.init_containers), names(&pod.containers));
        match (&self.container, main.as_slice()) {
            (None, [only]) => Ok(only.clone()),
            (None, several) => Err(Problem::message(format!(
                "pod {} has several containers, say with -c which one: {}",
                pod.name,
                several.join(", ")
            ))),
            (Some(name), _) if main.contains(name) || init.contains(name) => Ok(name.clone()),
            (Some(name), _) => {
                Err(Problem::message(format!("container {name} not found in pod {}", pod.name)))
            }
        }
    }
}

/// Reads an object; none if there is no such object.
async fn read<C: ApiContent + DeserializeOwned>(api: &mut Api, name: &str) -> Result<Option<C>, Problem> {
    let Some(object) = api.find_object(&ApiPath::one(kinds().of(C::KIND), name)).await? else {
        return Ok(None);
    };
    let content = parse_content(object.as_object().unwrap_or(&Map::new()));
    content.map(Some).map_err(|error| Problem::message(format!("cannot read {} {name}: {error}", C::KIND)))
}

/// Returns the newest pod that is not being deleted, a running one before others.
fn newest_pod(pods: &[Pod]) -> Option<&Pod> {
    let staying = pods.iter().filter(|pod| !pod.deleting);
    staying.max_by_key(|pod| (pod.phase == "Running", pod.created_at))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shell_selects_newest_running_pod() {
        let pods = [
            json!({"name": "old", "phase": "Running", "createdAt": "2026-01-01T00:00:00Z"}),
            json!({"name": "new", "phase": "Running", "createdAt": "2026-01-02T00:00:00Z"}),
            json!({"name": "going", "phase": "Running", "createdAt": "2026-01-03T00:00:00Z", "deleting": true}),
            json!({"name": "starting", "phase": "Pending", "createdAt": "2026-01-03T00:00:00Z"}),
        ];
        let pods = pods.map(|pod| serde_json::from_value::<Pod>(pod).expect("a pod"));
        assert_eq!(newest_pod(&pods).map(|pod| pod.name.as_str()), Some("new"));
        let target = ShellTarget {
            name: "p".into(),
            namespace: "n".into(),
            container: "c".into(),
            context: Some("x".into()),
        };
        assert_eq!(command(&target, true, true).join(" "), "kubectl shell p -n n -c c --context x");
        let line = command(&target, false, true).join(" ");
        assert!(line.starts_with("kubectl exec -it p -n n -c c --context x -- sh -c "), "{line}");
    }
}
