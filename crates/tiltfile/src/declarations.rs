//! What the builtins collect: declarations in the order of the calls, each with its source span. Plain data.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use lilt_model::command::Command;
use lilt_model::compose::ComposeProject;
use lilt_model::files::IgnoreRule;
use lilt_model::image::{ImageBuild, LiveUpdate};
use lilt_model::kubernetes::{CustomDeploy, DiscoveryStrategy, Forward, ObjectRef, PodReadiness};
use lilt_model::probe::Probe;
use lilt_model::project::Settings;
use lilt_model::registry::Registry;
use lilt_model::resource::{Link, TriggerMode};
use serde_json::Value;

use crate::configuration::ConfigDeclarations;
use crate::failure::SourceSpan;
use crate::kinds::ObjectKinds;
use lilt_model::Location;
use lilt_model::reference::Reference;

#[derive(Debug, Default)]
pub(crate) struct Declarations {
    pub(crate) images: Vec<ImageDeclaration>,
    pub(crate) objects: Vec<ObjectDeclaration>,
    /// Where each object was declared first.
    pub(crate) object_places: HashMap<ObjectRef, SourceSpan>,
    pub(crate) options: Vec<ResourceOptions>,
    pub(crate) custom_deploys: Vec<CustomDeployDeclaration>,
    /// Kinds of objects that are workloads, and where they keep images.
    pub(crate) kinds: ObjectKinds,
    /// Where `workload_to_resource_function` was called last.
    pub(crate) workload_function: Option<SourceSpan>,
    pub(crate) compose: Vec<ComposeDeclaration>,
    pub(crate) locals: Vec<LocalDeclaration>,
    /// The default of `trigger_mode()`.
    pub(crate) trigger_mode: Option<(TriggerMode, SourceSpan)>,
    pub(crate) allowed_contexts: Vec<String>,
    pub(crate) registry: Option<Registry>,
    /// The other settings of the session; `registry` is added at the end.
    pub(crate) settings: Settings,
    pub(crate) upsert_timeout_secs: Option<u32>,
    /// From `secret_settings`: values of Secrets may be shown.
    pub(crate) show_secrets: bool,
    pub(crate) config: ConfigDeclarations,
    /// Objects of Tilt's API, made by `v1alpha1.*`.
    pub(crate) api_objects: Vec<Value>,
    /// Extensions that were loaded, in the order of the loads.
    pub(crate) loaded_extensions: Vec<LoadedExtension>,
    /// Live update steps that no image uses.
    pub(crate) unused_steps: Vec<(String, SourceSpan)>,
    pub(crate) warnings: Vec<String>,
}

impl Declarations {
    /// Whether something was declared that needs a cluster.
    pub(crate) fn uses_kubernetes(&self) -> bool {
        !self.objects.is_empty()
            || !self.custom_deploys.is_empty()
            || !self.options.is_empty()
            || !self.allowed_contexts.is_empty()
    }
}

#[derive(Debug)]
pub(crate) struct ImageDeclaration {
    pub(crate) span: SourceSpan,
    pub(crate) reference: Reference,
    pub(crate) build: ImageBuild,
    /// The watched paths, except `watch_ignores`.
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) watch_ignores: Vec<IgnoreRule>,
    pub(crate) live_update: Option<LiveUpdate>,
    pub(crate) match_in_env_vars: bool,
    pub(crate) entrypoint: Option<Vec<String>>,
    pub(crate) container_args: Option<Vec<String>>,
    /// Images that the user declares it depends on, besides those that a Dockerfile names.
    pub(crate) image_deps: Vec<Reference>,
}

impl ImageDeclaration {
    pub(crate) fn new(span: SourceSpan, reference: Reference, build: ImageBuild) -> Self {
        Self {
            span,
            reference,
            build,
            roots: Vec::new(),
            watch_ignores: Vec::new(),
            live_update: None,
            match_in_env_vars: false,
            entrypoint: None,
            container_args: None,
            image_deps: Vec::new(),
        }
    }
}

/// One call of `k8s_custom_deploy`.
#[derive(Debug)]
pub(crate) struct CustomDeployDeclaration {
    pub(crate) span: SourceSpan,
    pub(crate) name: String,
    pub(crate) deploy: CustomDeploy,
    /// Must be built by the project.
    pub(crate) image_deps: Vec<Reference>,
    /// The image whose containers take live updates; it need not be built by the project.
    pub(crate) live_update_image: Option<Reference>,
}

/// One Compose project: all calls of `docker_compose` and `dc_resource` for it.
#[derive(Debug)]
pub(crate) struct ComposeDeclaration {
    /// Of the first call.
    pub(crate) span: SourceSpan,
    pub(crate) project: ComposeProject,
    pub(crate) services: Vec<ServiceDeclaration>,
}

#[derive(Clone, Debug)]
pub(crate) struct ServiceDeclaration {
    /// Of the resource.
    pub(crate) name: String,
    /// In the Compose files.
    pub(crate) service: String,
    pub(crate) config: Value,
    pub(crate) image: Reference,
    /// The image that Compose itself builds, if it does.
    pub(crate) build: Option<ServiceBuild>,
    pub(crate) published_ports: Vec<u16>,
    pub(crate) options: ServiceOptions,
}

#[derive(Clone, Debug)]
pub(crate) struct ServiceBuild {
    pub(crate) context: Option<PathBuf>,
    pub(crate) watch_ignores: Vec<IgnoreRule>,
}

/// The options of all calls of `dc_resource`, merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceOptions {
    pub(crate) image: Option<Reference>,
    pub(crate) trigger_mode: Option<TriggerMode>,
    pub(crate) infer_links: Option<bool>,
    pub(crate) links: Vec<Link>,
    pub(crate) labels: Vec<String>,
    pub(crate) auto_init: Option<bool>,
    pub(crate) cascade: Option<bool>,
    /// Also those that the Compose files name.
    pub(crate) resource_deps: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct ObjectDeclaration {
    pub(crate) span: SourceSpan,
    /// Its line in a YAML file, or the call that declared it.
    pub(crate) origin: Location,
    pub(crate) value: Value,
}

/// One call of `k8s_resource`.
#[derive(Debug)]
pub(crate) struct ResourceOptions {
    pub(crate) span: SourceSpan,
    /// Empty: a new resource of `objects`.
    pub(crate) workload: String,
    pub(crate) new_name: String,
    pub(crate) forwards: Vec<Forward>,
    pub(crate) trigger_mode: Option<TriggerMode>,
    pub(crate) resource_deps: Vec<String>,
    pub(crate) objects: Vec<String>,
    pub(crate) auto_init: Option<bool>,
    pub(crate) pod_readiness: Option<PodReadiness>,
    pub(crate) extra_pod_selectors: Vec<BTreeMap<String, String>>,
    pub(crate) discovery_strategy: Option<DiscoveryStrategy>,
    pub(crate) live_update_agent: Option<bool>,
    pub(crate) cascade: Option<bool>,
    /// A context of kubeconfig; empty: that of the session.
    pub(crate) context: String,
    pub(crate) links: Vec<Link>,
    pub(crate) labels: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct LocalDeclaration {
    pub(crate) span: SourceSpan,
    pub(crate) name: String,
    pub(crate) update: Option<Command>,
    pub(crate) serve: Option<Command>,
    pub(crate) deps: Vec<PathBuf>,
    pub(crate) ignores: Vec<IgnoreRule>,
    pub(crate) trigger_mode: Option<TriggerMode>,
    pub(crate) auto_init: bool,
    pub(crate) resource_deps: Vec<String>,
    pub(crate) allow_parallel: bool,
    pub(crate) readiness_probe: Option<Probe>,
    pub(crate) restart: bool,
    pub(crate) cascade: Option<bool>,
    pub(crate) links: Vec<Link>,
    pub(crate) labels: Vec<String>,
}

/// An extension and its location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoadedExtension {
    pub(crate) name: String,
    pub(crate) repository: String,
    /// Below the repository's folder of extensions.
    pub(crate) path: String,
}
