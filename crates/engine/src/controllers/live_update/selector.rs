//! The containers that the selector of a `LiveUpdate` finds.

use lilt_api::{Content, LiveUpdateKubernetesSelector, ObjectKind};
use lilt_model::cluster::{Container, ContainerState, Pod, PodPhase, PodRef};
use lilt_model::reference::Reference;
use lilt_model::{ContainerId, ResourceName};
use serde::Serialize;

use super::object::Trouble;
use crate::objects::{discovered_pods, image_map};
use crate::runtime::current_pods;
use crate::state::State;

/// The containers that were found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) running: Vec<(ContainerId, FoundContainer)>,
    /// They have not started, or not been restarted, yet.
    pub(super) waiting: Vec<Waiting>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct FoundContainer {
    pub(super) pod: PodRef,
    pub(super) name: String,
    /// It runs under lilt's agent.
    pub(super) agent: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Waiting {
    pub(super) id: Option<ContainerId>,
    pub(super) container: FoundContainer,
}

pub(super) fn find(state: &State, selector: &LiveUpdateKubernetesSelector) -> Result<Found, Trouble> {
    let name = selector.discovery_name.as_str();
    let object = state.objects.get(ObjectKind::KubernetesDiscovery, name).map(|record| &record.content);
    let resource = state.resources.get(&ResourceName::new(name)).and_then(|resource| resource.kubernetes());
    let pods: Vec<&Pod> = match (object, resource) {
        (Some(Content::KubernetesDiscovery(discovery)), _) => {
            discovered_pods(state, &discovery.spec).into_iter().map(|pod| &**pod).collect()
        }
        (_, Some(kubernetes)) => current_pods(state, kubernetes).collect(),
        (_, None) => {
            return Err(("ObjectNotFound", format!("kubernetesdiscoveries.tilt.dev {name:?} not found")));
        }
    };
    let is_selected = selected(state, selector)?;
    let mut found = Found::default();
    for pod in pods.into_iter().filter(|pod| !pod.deleting) {
        for container in pod.containers.iter().filter(|it| !it.init && is_selected(it)) {
            found.add(pod, container);
        }
    }
    Ok(found)
}

impl Found {
    /// Adds a container that runs or will run; one that has ended does neither, nor does any of a pod that has ended.
    fn add(&mut self, pod: &Pod, container: &Container) {
        let found =
            FoundContainer { pod: pod.reference(), name: container.name.clone(), agent: container.agent };
        let has_ended = matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed);
        match (&container.state, container.id.clone()) {
            (ContainerState::Running { .. }, Some(id)) => self.running.push((id, found)),
            (ContainerState::Terminated { .. }, _) => {}
            (ContainerState::Running { .. } | ContainerState::Waiting { .. }, id) if !has_ended => {
                self.waiting.push(Waiting { id, container: found });
            }
            _ => {}
        }
    }
}

/// Returns which containers are selected: by name, by image or by the image of a map.
fn selected(
    state: &State,
    selector: &LiveUpdateKubernetesSelector,
) -> Result<impl Fn(&Container) -> bool + use<>, Trouble> {
    let LiveUpdateKubernetesSelector { container_name, image, image_map_name: map, .. } = selector;
    let (name, mut image) = (container_name.clone(), image.clone());
    let mut built = None;
    if !map.is_empty() {
        let missing = || ("ObjectNotFound", format!("imagemaps.tilt.dev {map:?} not found"));
        let (target, reference) = image_map(state, map).ok_or_else(missing)?;
        image = target.name.as_str().to_owned();
        built = reference;
    }
    Ok(move |container: &Container| {
        if !name.is_empty() {
            return container.name == name;
        }
        if built.is_some() {
            return built.as_deref() == Some(container.image.as_str());
        }
        match (Reference::parse(&image), Reference::parse(&container.image)) {
            (Ok(wanted), Ok(used)) => wanted.matches(&used),
            _ => false,
        }
    })
}
