//! Adds lilt's agent to pods whose containers cannot take live updates alone: a volume, init containers that fill it,
//! and a command that runs under the agent.
//!
//! Pure: the decision is based on known facts, not on trials.

mod decide;
mod pod;
mod strip;
mod volumes;

use std::collections::BTreeSet;

use lilt_model::image::RestartProcess;
use lilt_model::image_facts::ImageFacts;
use serde_json::{Value, json};

use super::{hash, labels, pod_spec, template};
use decide::{AgentDecision, ExcludedTarget};
pub use pod::is_added;
pub(crate) use strip::{strip_agent, strip_image_content, uses_agent};

/// On a pod template: the images whose containers refused to have files changed.
const UNWRITABLE_IMAGES: &str = "lilt.dev/closed-images";

/// The means to run containers of an image under the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOffer {
    /// The image's name in the Tiltfile.
    pub name: String,
    /// The image's reference in containers.
    pub deployed: String,
    /// The image that contains the agent.
    pub agent_image: String,
    /// The agent's path in it.
    pub agent_program: String,
    pub facts: ImageFacts,
    pub restart: Option<RestartProcess>,
    /// Whether containers of the image refused to have files changed.
    pub is_unwritable: bool,
}

/// A decision about a container that takes live updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentNote {
    /// It runs under the agent, with the reason.
    Used { container: String, reason: String },
    /// It needs the agent and cannot have it, with the reason.
    Impossible { container: String, reason: String },
    /// It takes changes, except of this sync target, with the reason.
    ExcludedTarget { container: String, what: String, reason: String },
}

/// Adds the agent where it is needed. Images must be injected before.
pub fn add(objects: &mut [Value], offers: &[AgentOffer]) -> Vec<AgentNote> {
    let mut notes = Vec::new();
    for object in objects {
        let Some(spec) = pod_spec(object) else { continue };
        let mut plans = Vec::new();
        for (index, container) in containers(spec).iter().enumerate() {
            let image = container["image"].as_str().unwrap_or_default();
            let Some(offer) = offers.iter().find(|offer| offer.deployed == image) else { continue };
            let name = container["name"].as_str().unwrap_or_default().to_owned();
            let excluded = match decide::decide(spec, container, offer) {
                AgentDecision::NotNeeded(excluded) => excluded,
                AgentDecision::Needed { reason, plan, excluded } => {
                    notes.push(AgentNote::Used { container: name.clone(), reason });
                    plans.push((index, offer, plan));
                    excluded
                }
                AgentDecision::Impossible(reason) => {
                    notes.push(AgentNote::Impossible { container: name.clone(), reason });
                    Vec::new()
                }
            };
            let note = |ExcludedTarget { what, reason }| AgentNote::ExcludedTarget {
                container: name.clone(),
                what,
                reason,
            };
            notes.extend(excluded.into_iter().map(note));
        }
        if !plans.is_empty() {
            pod::add(spec, &plans);
            let closed = plans.iter().filter(|(_, offer, _)| offer.is_unwritable);
            record_unwritable_images(object, closed.map(|(_, offer, _)| offer.name.as_str()).collect());
            update_hash(object);
        }
    }
    notes
}

/// Records in the template which images need the agent because their containers refused changes.
///
/// Neither manifest nor image says so: without the record, the next session would create another template from the
/// same files.
fn record_unwritable_images(object: &mut Value, names: BTreeSet<&str>) {
    let Some(template) = template(object).filter(|_| !names.is_empty()) else { return };
    let metadata = &mut template["metadata"];
    if !metadata["annotations"].is_object() {
        metadata["annotations"] = json!({});
    }
    metadata["annotations"][UNWRITABLE_IMAGES] = names.into_iter().collect::<Vec<_>>().join(",").into();
}

/// Returns the images that a workload in the cluster records as needing the agent.
pub fn unwritable_images(in_cluster: &Value) -> Vec<String> {
    let template = super::template_pointer(in_cluster).and_then(|pointer| in_cluster.pointer(pointer));
    let noted = template.and_then(|template| template["metadata"]["annotations"][UNWRITABLE_IMAGES].as_str());
    noted.into_iter().flat_map(|names| names.split(',')).map(str::to_owned).collect()
}

fn containers(spec: &Value) -> &[Value] {
    spec["containers"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Updates the hash of the changed template.
fn update_hash(object: &mut Value) {
    if let Some(template) = template(object) {
        labels(template).remove(super::TEMPLATE_HASH);
        let hash = hash(template);
        labels(template).insert(super::TEMPLATE_HASH.to_owned(), hash.into());
    }
}

#[cfg(test)]
mod tests;
