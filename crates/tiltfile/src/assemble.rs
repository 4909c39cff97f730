//! From declarations to resources. Pure: everything it needs was read before.
//!
//! Independent mistakes are all reported, not only the first.

mod context;
mod dependencies;
mod images;
mod naming;
mod object;
mod workloads;

use lilt_model::files::{FileSet, IgnoreRule};
use lilt_model::kubernetes::{KubernetesResource, PodReadiness};
use lilt_model::project::{Project, Settings};
use lilt_model::resource::{Body, LocalResource, Resource, TriggerMode};
use lilt_model::{Failure, ResourceName};

use crate::declare::{Declarations, LocalDeclaration};
use crate::failure::Place;
use crate::outside::KubeContext;
use dependencies::Dependencies;
use images::Images;
use workloads::Workload;

/// The resource of all objects that belong to no other.
const UNCATEGORIZED: &str = "uncategorized";
const UPSERT_TIMEOUT_SECS: u32 = 30;

/// What assembling needs to know besides the declarations.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    /// From `.tiltignore`: neither triggers nor syncs anything.
    pub(crate) tiltignore: Option<IgnoreRule>,
    /// Read only if there are Kubernetes objects.
    pub(crate) context: Option<KubeContext>,
}

/// What goes wrong on the way is collected, so that the rest can still be looked at.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Failure>);

impl Problems {
    pub(crate) fn add(&mut self, place: &Place, failure: Failure) {
        let detail = match &failure.detail {
            Some(detail) => format!("{}\n{detail}", place.excerpt()),
            None => place.excerpt(),
        };
        let failure = failure.at(place.location()).detail(detail);
        if !self.0.contains(&failure) {
            self.0.push(failure);
        }
    }

    /// As they stand in the Tiltfile.
    fn in_order(mut self) -> Vec<Failure> {
        let place = |failure: &Failure| {
            failure.location.as_ref().map(|location| (location.path.clone(), location.line, location.column))
        };
        self.0.sort_by_key(place);
        self.0
    }
}

pub(crate) fn assemble(
    mut declared: Declarations,
    surroundings: Surroundings,
) -> Result<Project, Vec<Failure>> {
    let mut problems = Problems::default();
    context::guard(&declared, surroundings.context.as_ref(), &mut problems);
    for (step, place) in &declared.loose_steps {
        let failure = Failure::user(format!("this live update step belongs to no image: {step}"));
        problems.add(place, failure.hint("pass it to docker_build(live_update=[…])"));
    }
    let objects = std::mem::take(&mut declared.objects);
    let (workloads, rest) = workloads::assemble(objects, &declared, &mut problems);
    let mut images = Images::new(&declared.images, surroundings.tiltignore.as_ref());
    let mut dependencies = Dependencies::default();
    let mut resources = Vec::new();
    let default_mode = declared.trigger_mode.as_ref().map_or(TriggerMode::Auto, |(mode, _)| *mode);
    let timeout = declared.upsert_timeout_secs.unwrap_or(UPSERT_TIMEOUT_SECS);
    for workload in workloads {
        dependencies.add(&workload.name, &workload.resource_deps);
        resources.push(kubernetes_resource(workload, default_mode, timeout, &mut images, &mut problems));
    }
    for local in &declared.locals {
        let named: Vec<_> =
            local.resource_deps.iter().map(|name| (name.clone(), local.place.clone())).collect();
        dependencies.add(&local.name, &named);
        resources.push(local_resource(local, default_mode, surroundings.tiltignore.as_ref()));
    }
    if !rest.is_empty() {
        resources.push(uncategorized(rest, timeout));
    }
    dependencies.check(resources.iter().map(|resource| resource.name.as_str()), &mut problems);
    let mut warnings = std::mem::take(&mut declared.warnings);
    warnings.extend(images.unused(&declared.unused_images_are_fine, resources.iter().any(is_kubernetes)));
    if !problems.0.is_empty() {
        return Err(problems.in_order());
    }
    let max_parallel_updates =
        declared.max_parallel_updates.unwrap_or(Settings::default().max_parallel_updates);
    let settings = Settings { max_parallel_updates, default_registry: declared.registry.take() };
    Ok(Project { resources, settings, warnings })
}

fn is_kubernetes(resource: &Resource) -> bool {
    matches!(resource.body, Body::Kubernetes(_))
}

fn kubernetes_resource(
    workload: Workload,
    default_mode: TriggerMode,
    timeout: u32,
    images: &mut Images<'_>,
    problems: &mut Problems,
) -> Resource {
    let targets = images.targets(&workload.images, problems);
    let (objects, origins) = object::in_apply_order(workload.objects);
    Resource {
        name: ResourceName::new(&workload.name),
        labels: workload.labels,
        links: workload.links,
        resource_deps: names(workload.resource_deps.into_iter().map(|(name, _)| name)),
        trigger_mode: workload.trigger_mode.unwrap_or(default_mode),
        auto_init: workload.auto_init,
        body: Body::Kubernetes(KubernetesResource {
            images: targets,
            objects,
            origins,
            forwards: workload.forwards,
            pod_readiness: workload.pod_readiness,
            apply_timeout_secs: timeout,
        }),
    }
}

fn local_resource(
    local: &LocalDeclaration,
    default_mode: TriggerMode,
    tiltignore: Option<&IgnoreRule>,
) -> Resource {
    let mut files = FileSet { roots: local.deps.clone(), ignores: local.ignores.clone() };
    files.ignores.extend(tiltignore.cloned());
    Resource {
        name: ResourceName::new(&local.name),
        labels: local.labels.clone(),
        links: local.links.clone(),
        resource_deps: names(local.resource_deps.iter().cloned()),
        trigger_mode: local.trigger_mode.unwrap_or(default_mode),
        auto_init: local.auto_init,
        body: Body::Local(LocalResource {
            update: local.update.clone(),
            serve: local.serve.clone(),
            files,
            allow_parallel: local.allow_parallel,
        }),
    }
}

fn uncategorized(objects: Vec<object::Object>, timeout: u32) -> Resource {
    let (objects, origins) = object::in_apply_order(objects);
    Resource {
        name: ResourceName::new(UNCATEGORIZED),
        labels: Vec::new(),
        links: Vec::new(),
        resource_deps: Vec::new(),
        trigger_mode: TriggerMode::Auto,
        auto_init: true,
        body: Body::Kubernetes(KubernetesResource {
            objects,
            origins,
            pod_readiness: PodReadiness::Ignore,
            apply_timeout_secs: timeout,
            ..KubernetesResource::default()
        }),
    }
}

/// In order, each once.
fn names(given: impl Iterator<Item = String>) -> Vec<ResourceName> {
    let mut names: Vec<ResourceName> = Vec::new();
    for name in given.map(ResourceName::from) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
