//! What the builtins collect: declarations in the order of the calls, each with its place. Plain data.

use std::collections::HashMap;
use std::path::PathBuf;

use lilt_model::cluster::Registry;
use lilt_model::command::Command;
use lilt_model::files::IgnoreRule;
use lilt_model::image::{DockerBuild, LiveUpdate};
use lilt_model::kubernetes::{Forward, ObjectRef, PodReadiness};
use lilt_model::resource::{Link, TriggerMode};
use serde_json::Value;

use crate::failure::Place;
use lilt_model::Location;
use lilt_model::reference::Reference;

#[derive(Debug, Default)]
pub(crate) struct Declarations {
    pub(crate) images: Vec<ImageDeclaration>,
    pub(crate) objects: Vec<ObjectDeclaration>,
    /// Where each object was given first.
    pub(crate) object_places: HashMap<ObjectRef, Place>,
    pub(crate) options: Vec<ResourceOptions>,
    pub(crate) locals: Vec<LocalDeclaration>,
    /// From `trigger_mode()`: for resources that do not say.
    pub(crate) trigger_mode: Option<(TriggerMode, Place)>,
    pub(crate) allowed_contexts: Vec<String>,
    pub(crate) registry: Option<Registry>,
    pub(crate) max_parallel_updates: Option<u32>,
    pub(crate) upsert_timeout_secs: Option<u32>,
    /// Images that nothing uses and that are not worth a warning; `*` means all.
    pub(crate) unused_images_are_fine: Vec<String>,
    /// Live update steps that no image has taken.
    pub(crate) loose_steps: Vec<(String, Place)>,
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct ImageDeclaration {
    pub(crate) place: Place,
    pub(crate) reference: Reference,
    pub(crate) build: DockerBuild,
    pub(crate) watch_ignores: Vec<IgnoreRule>,
    pub(crate) live_update: Option<LiveUpdate>,
}

#[derive(Debug)]
pub(crate) struct ObjectDeclaration {
    pub(crate) place: Place,
    /// Its own line in a YAML file, or the call that gave it.
    pub(crate) origin: Location,
    pub(crate) value: Value,
}

/// One call of `k8s_resource`.
#[derive(Debug)]
pub(crate) struct ResourceOptions {
    pub(crate) place: Place,
    /// Empty: a new resource of `objects`.
    pub(crate) workload: String,
    pub(crate) new_name: String,
    pub(crate) forwards: Vec<Forward>,
    pub(crate) trigger_mode: Option<TriggerMode>,
    pub(crate) resource_deps: Vec<String>,
    pub(crate) objects: Vec<String>,
    pub(crate) auto_init: Option<bool>,
    pub(crate) pod_readiness: Option<PodReadiness>,
    pub(crate) links: Vec<Link>,
    pub(crate) labels: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct LocalDeclaration {
    pub(crate) place: Place,
    pub(crate) name: String,
    pub(crate) update: Option<Command>,
    pub(crate) serve: Option<Command>,
    pub(crate) deps: Vec<PathBuf>,
    pub(crate) ignores: Vec<IgnoreRule>,
    pub(crate) trigger_mode: Option<TriggerMode>,
    pub(crate) auto_init: bool,
    pub(crate) resource_deps: Vec<String>,
    pub(crate) allow_parallel: bool,
    pub(crate) links: Vec<Link>,
    pub(crate) labels: Vec<String>,
}
