//! Adds the agent to a pod.
//!
//! All containers share one volume. Each has its own directories in it: one with the agent, mounted at
//! [`lilt_agent::HOME`], and one for each directory of its image that must become writable.

use lilt_agent::{HOME, PROGRAM};
use serde_json::{Value, json};

use super::AgentOffer;
use super::decide::Plan;

pub(super) const VOLUME: &str = "lilt-agent";
const INSTALLER: &str = "lilt-agent";
/// The prefix, followed by a number, for containers with another security context than the first one.
const FURTHER_INSTALLER: &str = "lilt-agent-";
const COPIER: &str = "lilt-copy-";
/// Where init containers mount the whole volume.
const WHOLE: &str = HOME;
/// Container names are DNS labels.
const LONGEST_NAME: usize = 63;

/// Whether a container of this name was added here.
#[must_use]
pub fn is_added(container: &str) -> bool {
    container == INSTALLER || container.starts_with(FURTHER_INSTALLER) || container.starts_with(COPIER)
}

pub(super) fn add(spec: &mut Value, plans: &[(usize, &AgentOffer, Plan)]) {
    let mut installers: Vec<Value> = Vec::new();
    let mut copiers = Vec::new();
    for (index, offer, plan) in plans {
        let container = &mut spec["containers"][*index];
        let name = container["name"].as_str().unwrap_or_default().to_owned();
        install(&mut installers, offer, container, &name);
        if !plan.mounts.is_empty() {
            copiers.push(copier(container, &name, plan));
        }
        run_under_the_agent(container, &name, offer, plan);
    }
    list(spec, "initContainers").splice(0..0, installers.into_iter().chain(copiers));
    list(spec, "volumes").push(json!({"name": VOLUME, "emptyDir": {}}));
}

/// Adds an init container that installs the agent, shared by containers with the same security context.
///
/// The owner of the directory can replace what is in it, so it must be the container's own user where the manifest
/// names one.
fn install(installers: &mut Vec<Value>, offer: &AgentOffer, container: &Value, name: &str) {
    let same = installers.iter().position(|it| it["securityContext"] == container["securityContext"]);
    let index = same.unwrap_or_else(|| {
        let label = match installers.len() {
            0 => INSTALLER.to_owned(),
            count => format!("{FURTHER_INSTALLER}{}", count + 1),
        };
        let command = json!([offer.agent_program, "install"]);
        installers.push(init(&label, &offer.agent_image, command, container));
        installers.len() - 1
    });
    list(&mut installers[index], "command").push(format!("{WHOLE}/{}/agent", home(name)).into());
}

fn run_under_the_agent(container: &mut Value, name: &str, offer: &AgentOffer, plan: &Plan) {
    let mut command: Vec<String> = vec![PROGRAM.to_owned(), "run".to_owned()];
    let mut option = |words: &[&str]| command.extend(words.iter().map(ToString::to_string));
    for path in &plan.kept {
        option(&["--keep", path]);
    }
    if let Some(restart) = &offer.restart {
        if !restart.restart_file.is_empty() {
            option(&["--restart-file", &restart.restart_file]);
        }
        if restart.wait_when_ended {
            option(&["--wait"]);
        }
    }
    option(&["--"]);
    command.extend(plan.argv.iter().cloned());
    container["command"] = command.into();
    if let Some(fields) = container.as_object_mut() {
        fields.remove("args");
    }
    let mounts = list(container, "volumeMounts");
    mounts.push(json!({"name": VOLUME, "mountPath": HOME, "subPath": home(name)}));
    for (index, directory) in plan.mounts.iter().enumerate() {
        mounts.push(json!({"name": VOLUME, "mountPath": directory, "subPath": copy(name, index)}));
    }
}

/// Returns an init container that fills the writable directories from the image, as the image's user.
fn copier(container: &Value, name: &str, plan: &Plan) -> Value {
    let mut command = vec![format!("{WHOLE}/{}/agent", home(name)), "copy".to_owned()];
    for (index, directory) in plan.mounts.iter().enumerate() {
        command.extend([directory.clone(), format!("{WHOLE}/{}", copy(name, index))]);
    }
    let image = container["image"].as_str().unwrap_or_default();
    let label: String = format!("{COPIER}{name}").chars().take(LONGEST_NAME).collect();
    init(label.trim_end_matches('-'), image, command.into(), container)
}

/// Returns an init container with the rights and limits of the container it serves, so that whatever admits one
/// admits the other.
///
/// It runs before that container, so the pod needs no more resources. Fields that the container lacks are omitted
/// here, too: the namespace's defaults apply to both, and a policy may reject lower values.
fn init(name: &str, image: &str, command: Value, like: &Value) -> Value {
    let mut container = json!({
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
        "volumeMounts": [{"name": VOLUME, "mountPath": WHOLE}],
    });
    if like["securityContext"].is_object() {
        container["securityContext"] = like["securityContext"].clone();
    }
    let resources = resources(&like["resources"]);
    if resources.as_object().is_some_and(|lists| !lists.is_empty()) {
        container["resources"] = resources;
    }
    container
}

/// Whether an init container was added here.
pub(super) fn is_ours(container: &Value) -> bool {
    let mounts = container["volumeMounts"].as_array().into_iter().flatten();
    mounts.into_iter().any(|mount| mount["name"] == VOLUME && mount["mountPath"] == WHOLE)
}

fn resources(like: &Value) -> Value {
    let mut resources = json!({});
    for list in ["requests", "limits"] {
        for kind in ["cpu", "memory", "ephemeral-storage"] {
            if let Some(amount) = like[list].get(kind) {
                resources[list][kind] = amount.clone();
            }
        }
    }
    resources
}

fn home(container: &str) -> String {
    format!("{container}-home")
}

fn copy(container: &str, index: usize) -> String {
    format!("{container}-copy-{index}")
}

fn list<'a>(of: &'a mut Value, field: &str) -> &'a mut Vec<Value> {
    if !of[field].is_array() {
        of[field] = json!([]);
    }
    of[field].as_array_mut().expect("invariant: just made a list")
}
