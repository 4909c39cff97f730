//! Turns declarations into resources. Pure: everything it needs was read before.
//!
//! Independent mistakes are all reported, not only the first.

mod compose;
mod context;
mod dependencies;
mod enabled;
mod images;
mod naming;
mod object;
mod workloads;

use lilt_model::cluster::KubeContext;
use lilt_model::files::{FileSet, IgnoreRule};
use lilt_model::image::ImageTarget;
use lilt_model::kubernetes::{KubernetesResource, PodReadiness};
use lilt_model::project::{Project, Settings};
use lilt_model::resource::{Body, LocalResource, Resource, TriggerMode};
use lilt_model::{ClusterName, Failure, ResourceName};

use crate::declarations::{Declarations, LocalDeclaration};
use crate::failure::SourceSpan;
use crate::kinds::ObjectKinds;
use context::Contexts;
use dependencies::Dependencies;
use images::{Consumers, Images};
use workloads::Workload;

pub(crate) use workloads::workload_ids;

const UPSERT_TIMEOUT_SECS: u32 = 30;

/// The input of the assembly besides the declarations.
#[derive(Debug, Default)]
pub(crate) struct AssemblyInputs {
    /// From `.tiltignore` and `watch_settings`: neither triggers nor syncs anything.
    pub(crate) ignored_everywhere: Vec<IgnoreRule>,
    /// Read only if there are Kubernetes objects.
    pub(crate) context: Option<KubeContext>,
    /// All contexts of kubeconfig, if resources name some of them.
    pub(crate) contexts: Vec<KubeContext>,
    /// The arguments after `--` on the command line.
    pub(crate) arguments: Vec<String>,
    /// The names that `workload_to_resource_function` gives to the workloads, in their order.
    pub(crate) workload_names: Option<Vec<String>>,
}

/// Defaults for what resources do not set.
#[derive(Clone, Copy, Debug)]
struct Defaults<'d> {
    trigger_mode: TriggerMode,
    timeout: u32,
    live_update_agent: bool,
    cascade: bool,
    kinds: &'d ObjectKinds,
}

/// Collects failures, so that the rest is still checked.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Failure>);

impl Problems {
    pub(crate) fn add(&mut self, span: &SourceSpan, failure: Failure) {
        let detail = match &failure.detail {
            Some(detail) => format!("{}\n{detail}", span.excerpt()),
            None => span.excerpt(),
        };
        let failure = failure.at(span.location()).detail(detail);
        if !self.0.contains(&failure) {
            self.0.push(failure);
        }
    }

    /// Returns the failures in the order of the Tiltfile.
    fn in_source_order(mut self) -> Vec<Failure> {
        let position = |failure: &Failure| {
            failure.location.as_ref().map(|location| (location.path.clone(), location.line, location.column))
        };
        self.0.sort_by_key(position);
        self.0
    }
}

pub(crate) fn assemble(mut declared: Declarations, inputs: AssemblyInputs) -> Result<Project, Vec<Failure>> {
    let mut problems = Problems::default();
    let first = context::first_deploy_span(&declared);
    for (step, span) in &declared.unused_steps {
        let failure = Failure::user(format!("this live update step belongs to no image: {step}"));
        problems.add(span, failure.hint("pass it to the live_update of an image"));
    }
    let objects = std::mem::take(&mut declared.objects);
    compose::declare_images(&mut declared);
    let (workloads, rest) = workloads::assemble(objects, &mut declared, inputs.workload_names, &mut problems);
    let contexts = Contexts::new(&inputs.context, &inputs.contexts, &declared.allowed_contexts);
    if !rest.is_empty() || workloads.iter().any(|workload| contexts.cluster_of(workload).is_session()) {
        contexts.check_session(first.as_ref(), &mut problems);
    }
    let mut images = Images::new(&declared.images, &inputs.ignored_everywhere, &mut problems);
    let consumers = consumers(&declared, !workloads.is_empty(), !rest.is_empty());
    let mut dependencies = Dependencies::default();
    let mut resources = Vec::new();
    let default_mode = declared.trigger_mode.as_ref().map_or(TriggerMode::Auto, |(mode, _)| *mode);
    let timeout = declared.upsert_timeout_secs.unwrap_or(UPSERT_TIMEOUT_SECS);
    let defaults = Defaults {
        trigger_mode: default_mode,
        timeout,
        live_update_agent: declared.settings.live_update_agent,
        cascade: declared.settings.cascade,
        kinds: &declared.kinds,
    };
    for mut workload in workloads {
        dependencies.add(&workload.name, &workload.resource_deps);
        if let Some(deploy) = &mut workload.custom_deploy {
            deploy.files.ignores.extend_from_slice(&inputs.ignored_everywhere);
        }
        let cluster = contexts.check(&workload, &mut problems);
        resources.push(kubernetes_resource(workload, cluster, defaults, &mut images, &mut problems));
    }
    for compose in &declared.compose {
        if let Some(registry) = &declared.registry {
            let message =
                format!("default_registry('{}') is not supported with Docker Compose", registry.host);
            problems.add(&compose.span, Failure::user(message));
        }
        let services = compose::resources(compose, defaults, &mut images, &mut dependencies, &mut problems);
        resources.extend(services);
    }
    for local in &declared.locals {
        let named: Vec<_> =
            local.resource_deps.iter().map(|name| (name.clone(), local.span.clone())).collect();
        dependencies.add(&local.name, &named);
        resources.push(local_resource(local, defaults, &inputs.ignored_everywhere));
    }
    if !rest.is_empty() {
        resources.push(uncategorized(rest, timeout));
    }
    let unknown_dependencies = dependencies.check(&mut resources, &mut problems);
    let enabled = enabled::enabled(&declared.config, &inputs.arguments, &resources, &mut problems);
    let mut warnings = std::mem::take(&mut declared.warnings);
    warnings.extend(unknown_dependencies);
    warnings.extend(images.unused(&declared.settings.suppress_unused_image_warnings, consumers));
    if !problems.0.is_empty() {
        return Err(problems.in_source_order());
    }
    let settings = Settings { default_registry: declared.registry, ..declared.settings };
    let api_objects = declared.api_objects;
    Ok(Project { resources, settings, warnings, enabled, api_objects, secrets: Vec::new() })
}

fn consumers(declared: &Declarations, has_workloads: bool, has_others: bool) -> Consumers {
    match (declared.compose.is_empty(), has_workloads, has_others) {
        (false, ..) => Consumers::Compose,
        (true, true, _) => Consumers::Kubernetes,
        (true, false, true) => Consumers::OtherObjects,
        (true, false, false) => Consumers::Nothing,
    }
}

fn kubernetes_resource(
    workload: Workload,
    cluster: ClusterName,
    defaults: Defaults<'_>,
    images: &mut Images<'_>,
    problems: &mut Problems,
) -> Resource {
    for image in workload.required_images.iter().filter(|image| !images.builds(image)) {
        problems.add(&workload.span, images.missing(image));
    }
    let needed = images.needed(&workload.images, problems);
    refuse_restarts(&workload, &needed.targets, images, problems);
    let values = || workload.objects.iter().map(object::Object::value);
    // A group of objects without pods is ready at once.
    let has_no_pods =
        workload.is_grouped && workload.extra_pod_selectors.is_empty() && needed.targets.is_empty();
    let inferred = if has_no_pods { PodReadiness::Ignore } else { PodReadiness::Wait };
    let explicit_readiness = workload.pod_readiness.or_else(|| defaults.kinds.readiness(values()));
    let image_locators = defaults.kinds.locators_for(values());
    // The image in a custom resource is run by its operator.
    let runs_an_image =
        !needed.deployed.is_empty() && !image_locators.is_empty() && values().any(is_custom_resource);
    let (objects, origins) = object::in_apply_order(workload.objects);
    Resource {
        name: ResourceName::new(&workload.name),
        labels: workload.labels,
        links: workload.links,
        resource_deps: names(workload.resource_deps.into_iter().map(|(name, _)| name)),
        trigger_mode: workload.trigger_mode.unwrap_or(defaults.trigger_mode),
        auto_init: workload.auto_init,
        cascade: workload.cascade.unwrap_or(defaults.cascade),
        body: Body::Kubernetes(KubernetesResource {
            cluster,
            images: needed.targets,
            image_deps: needed.deployed,
            image_locators,
            objects,
            origins,
            forwards: workload.forwards,
            pod_readiness: explicit_readiness.unwrap_or(inferred),
            expects_pods: runs_an_image || explicit_readiness == Some(PodReadiness::Wait),
            extra_pod_selectors: workload.extra_pod_selectors,
            discovery_strategy: workload.discovery_strategy,
            custom_deploy: workload.custom_deploy,
            apply_timeout_secs: defaults.timeout,
            without_agent: !workload.live_update_agent.unwrap_or(defaults.live_update_agent),
        }),
    }
}

/// Whether an object is a custom resource.
fn is_custom_resource(object: &serde_json::Value) -> bool {
    let group =
        object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map(|(group, _)| group);
    group.is_some_and(|group| group.contains('.') && !group.ends_with(".k8s.io"))
}

/// Refuses `restart_container()`: Kubernetes restarts a container from its image, and synced files would be lost.
fn refuse_restarts(
    workload: &Workload,
    targets: &[ImageTarget],
    images: &Images<'_>,
    problems: &mut Problems,
) {
    for target in targets.iter().filter(|target| target.live_update.as_ref().is_some_and(|it| it.restart)) {
        let failure = Failure::user(format!(
            "restart_container() works for Docker Compose only, and {} runs {} on Kubernetes",
            workload.name, target.name
        ));
        let span = images.span(&target.name).unwrap_or(&workload.span);
        problems.add(
            span,
            failure.hint(
                "use restart_process() in its place: it starts the process anew, and nothing that was synced is lost",
            ),
        );
    }
}

fn local_resource(
    local: &LocalDeclaration,
    defaults: Defaults<'_>,
    ignored_everywhere: &[IgnoreRule],
) -> Resource {
    let mut files = FileSet::new(local.deps.clone(), local.ignores.clone());
    files.ignores.extend_from_slice(ignored_everywhere);
    Resource {
        name: ResourceName::new(&local.name),
        labels: local.labels.clone(),
        links: local.links.clone(),
        resource_deps: names(local.resource_deps.iter().cloned()),
        trigger_mode: local.trigger_mode.unwrap_or(defaults.trigger_mode),
        auto_init: local.auto_init,
        cascade: local.cascade.unwrap_or(defaults.cascade),
        body: Body::Local(LocalResource {
            update: local.update.clone(),
            serve: local.serve.clone(),
            files,
            allow_parallel: local.allow_parallel,
            readiness_probe: local.readiness_probe.clone(),
            restart: local.restart,
        }),
    }
}

fn uncategorized(objects: Vec<object::Object>, timeout: u32) -> Resource {
    let (objects, origins) = object::in_apply_order(objects);
    Resource {
        name: ResourceName::new(ResourceName::UNCATEGORIZED),
        labels: Vec::new(),
        links: Vec::new(),
        resource_deps: Vec::new(),
        trigger_mode: TriggerMode::Auto,
        auto_init: true,
        cascade: false,
        body: Body::Kubernetes(KubernetesResource {
            objects,
            origins,
            pod_readiness: PodReadiness::Ignore,
            apply_timeout_secs: timeout,
            ..KubernetesResource::default()
        }),
    }
}

/// Returns the names in order, each once.
fn names(given: impl Iterator<Item = String>) -> Vec<ResourceName> {
    let mut names: Vec<ResourceName> = Vec::new();
    for name in given.map(ResourceName::from) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
