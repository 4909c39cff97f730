//! Objects become resources: workloads by their names, services with their workloads, and what `k8s_resource` says.

use std::collections::{HashMap, HashSet};

use lilt_model::Failure;
use lilt_model::kubernetes::{Forward, PodReadiness};
use lilt_model::resource::{Link, TriggerMode};

use super::Problems;
use super::naming::{fragments, full_name, unique_names};
use super::object::Object;
use crate::declare::{Declarations, LocalDeclaration, ObjectDeclaration, ResourceOptions};
use crate::failure::Place;
use crate::nearest::nearest;
use lilt_model::reference::Reference;

/// A resource in the making.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) objects: Vec<Object>,
    pub(super) images: Vec<Reference>,
    pub(super) forwards: Vec<Forward>,
    pub(super) pod_readiness: PodReadiness,
    pub(super) trigger_mode: Option<TriggerMode>,
    pub(super) auto_init: bool,
    pub(super) resource_deps: Vec<(String, Place)>,
    pub(super) links: Vec<Link>,
    pub(super) labels: Vec<String>,
}

impl Workload {
    fn new(name: String, pod_readiness: PodReadiness) -> Self {
        Self {
            name,
            objects: Vec::new(),
            images: Vec::new(),
            forwards: Vec::new(),
            pod_readiness,
            trigger_mode: None,
            auto_init: true,
            resource_deps: Vec::new(),
            links: Vec::new(),
            labels: Vec::new(),
        }
    }
}

/// The resources, and the objects that belong to none.
pub(super) fn assemble(
    objects: Vec<ObjectDeclaration>,
    declared: &Declarations,
    problems: &mut Problems,
) -> (Vec<Workload>, Vec<Object>) {
    let locals = local_names(&declared.locals, problems);
    let objects = objects.into_iter().map(Object::from);
    let (workloads, rest): (Vec<Object>, Vec<Object>) = objects.partition(Object::is_workload);
    let mut grouping = Grouping::new(rest, locals);
    let names = unique_names(&workloads);
    for (object, name) in workloads.into_iter().zip(names) {
        grouping.add_workload(object, name, problems);
    }
    let needed = declared.options.iter().any(|options| !options.objects.is_empty());
    let catalogue = if needed { Catalogue::new(&grouping) } else { Catalogue::default() };
    for options in &declared.options {
        grouping.apply(options, &catalogue, problems);
    }
    (grouping.workloads, grouping.rest.into_iter().flatten().collect())
}

fn local_names(locals: &[LocalDeclaration], problems: &mut Problems) -> HashSet<String> {
    let mut seen: HashMap<&str, &Place> = HashMap::new();
    for local in locals {
        if let Some(first) = seen.insert(&local.name, &local.place) {
            let name = &local.name;
            let message =
                format!("there are two resources named {name}, the other one at {}", first.location());
            problems.add(&local.place, Failure::user(message));
        }
    }
    seen.into_keys().map(str::to_owned).collect()
}

struct Grouping {
    workloads: Vec<Workload>,
    by_name: HashMap<String, usize>,
    /// Taken ones leave a gap, so that positions stay.
    rest: Vec<Option<Object>>,
    /// Positions among the rest of the services that select by this label first: saves looking at all of them.
    services: HashMap<String, Vec<usize>>,
    locals: HashSet<String>,
}

fn label(key: &str, value: &serde_json::Value) -> String {
    format!("{key}={value}")
}

/// Which objects there are, by every fragment that names them.
#[derive(Default)]
struct Catalogue {
    /// The position among the rest, or none if a workload has it; and the full name.
    by_fragment: HashMap<String, Vec<(Option<usize>, String)>>,
    full_names: Vec<String>,
}

impl Catalogue {
    fn new(grouping: &Grouping) -> Self {
        let taken =
            grouping.workloads.iter().flat_map(|workload| &workload.objects).map(|object| (None, object));
        let free = grouping
            .rest
            .iter()
            .enumerate()
            .filter_map(|(index, object)| Some((Some(index), object.as_ref()?)));
        let mut catalogue = Self { by_fragment: HashMap::new(), full_names: Vec::new() };
        for (position, object) in taken.chain(free) {
            let name = full_name(object);
            for fragment in fragments(object) {
                catalogue.by_fragment.entry(fragment).or_default().push((position, name.clone()));
            }
            catalogue.full_names.push(name);
        }
        catalogue
    }
}

impl Grouping {
    fn new(rest: Vec<Object>, locals: HashSet<String>) -> Self {
        let mut services: HashMap<String, Vec<usize>> = HashMap::new();
        for (position, object) in rest.iter().enumerate() {
            if let Some((key, value)) = object.selector().and_then(|selector| selector.iter().next()) {
                services.entry(label(key, value)).or_default().push(position);
            }
        }
        let rest = rest.into_iter().map(Some).collect();
        Self { workloads: Vec::new(), by_name: HashMap::new(), rest, services, locals }
    }

    fn push(&mut self, workload: Workload) {
        self.by_name.insert(workload.name.clone(), self.workloads.len());
        self.workloads.push(workload);
    }

    /// In the order in which they were given.
    fn take_services_of(&mut self, workload: &Object) -> Vec<Object> {
        let labels = workload.pod_labels().into_iter().flatten();
        let mut positions: Vec<usize> = labels
            .filter_map(|(key, value)| self.services.get(&label(key, value)))
            .flatten()
            .copied()
            .collect();
        positions.sort_unstable();
        let taken = positions
            .into_iter()
            .filter_map(|position| self.rest[position].take_if(|service| service.selects_pods_of(workload)));
        taken.collect()
    }

    fn name_is_free(&self, name: &str) -> Result<(), Failure> {
        let kind = match (self.locals.contains(name), self.position(name)) {
            (true, _) => "local",
            (false, Some(_)) => "Kubernetes",
            (false, None) => return Ok(()),
        };
        Err(Failure::user(format!("there is already a {kind} resource named {name}")))
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    fn add_workload(&mut self, object: Object, name: String, problems: &mut Problems) {
        // Names of workloads are unique among themselves: only a local resource can be in the way.
        if self.locals.contains(&name) {
            let failure = Failure::user(format!("there is already a local resource named {name}"));
            problems.add(
                &object.place,
                failure.hint(format!(
                    "rename one of them, for example with k8s_resource('{name}', new_name='…')"
                )),
            );
        }
        let mut workload = Workload::new(name, object.pod_readiness());
        workload.images = object.images();
        let services = self.take_services_of(&object);
        workload.objects.push(object);
        workload.objects.extend(services);
        self.push(workload);
    }

    fn apply(&mut self, options: &ResourceOptions, catalogue: &Catalogue, problems: &mut Problems) {
        let position = if options.workload.is_empty() {
            if let Err(failure) = self.name_is_free(&options.new_name) {
                return problems.add(&options.place, failure);
            }
            self.push(Workload::new(options.new_name.clone(), PodReadiness::Ignore));
            self.workloads.len() - 1
        } else {
            match self.position(&options.workload) {
                Some(position) => position,
                None => return problems.add(&options.place, self.unknown(&options.workload)),
            }
        };
        let renamed = !options.new_name.is_empty() && options.new_name != self.workloads[position].name;
        if renamed {
            match self.name_is_free(&options.new_name) {
                Ok(()) => self.rename(position, &options.new_name),
                Err(failure) => problems.add(&options.place, failure),
            }
        }
        for fragment in &options.objects {
            match self.take(fragment, catalogue) {
                Ok(object) => self.workloads[position].objects.push(object),
                Err(failure) => problems.add(&options.place, failure),
            }
        }
        self.workloads[position].extend(options);
    }

    fn rename(&mut self, position: usize, name: &str) {
        let old = std::mem::replace(&mut self.workloads[position].name, name.to_owned());
        self.by_name.remove(&old);
        self.by_name.insert(name.to_owned(), position);
    }

    fn unknown(&self, name: &str) -> Failure {
        let known: Vec<&str> = self.workloads.iter().map(|workload| workload.name.as_str()).collect();
        let failure = Failure::user(format!("k8s_resource: there is no Kubernetes resource named {name}"));
        failure.hint(match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None if known.is_empty() => "no k8s_yaml() of this Tiltfile contains a workload".to_owned(),
            None => format!("there are: {}", known.join(", ")),
        })
    }

    fn take(&mut self, fragment: &str, catalogue: &Catalogue) -> Result<Object, Failure> {
        let found =
            catalogue.by_fragment.get(&fragment.to_lowercase()).map(Vec::as_slice).unwrap_or_default();
        match found {
            [] => {
                let failure = Failure::user(format!("k8s_resource: no object is named {fragment}"));
                let all = || catalogue.full_names.iter().map(String::as_str);
                Err(failure.hint(match nearest(&fragment.to_lowercase(), all()) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("there are: {}", all().collect::<Vec<_>>().join(", ")),
                }))
            }
            [(position, _)] => position.and_then(|position| self.rest[position].take()).ok_or_else(|| {
                Failure::user(format!(
                    "k8s_resource: the object {fragment} already belongs to another resource"
                ))
            }),
            several => {
                let names: Vec<&str> = several.iter().map(|(_, name)| name.as_str()).collect();
                let failure = Failure::user(format!("k8s_resource: {fragment} names more than one object"));
                Err(failure.hint(format!("say which: {}", names.join(", "))))
            }
        }
    }
}

impl Workload {
    /// Later calls add to earlier ones.
    fn extend(&mut self, options: &ResourceOptions) {
        self.forwards.extend(options.forwards.iter().cloned());
        self.trigger_mode = options.trigger_mode.or(self.trigger_mode);
        self.auto_init = options.auto_init.unwrap_or(self.auto_init);
        self.pod_readiness = options.pod_readiness.unwrap_or(self.pod_readiness);
        let deps = options.resource_deps.iter().map(|name| (name.clone(), options.place.clone()));
        self.resource_deps.extend(deps);
        self.links.extend(options.links.iter().cloned());
        self.labels.extend(options.labels.iter().cloned());
        self.labels.sort();
        self.labels.dedup();
    }
}
