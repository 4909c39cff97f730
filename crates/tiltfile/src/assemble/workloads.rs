//! Turns objects into resources: workloads by their names, services with their workloads, and the options of
//! `k8s_resource`.

use std::collections::{BTreeMap, HashMap};

use lilt_model::Failure;
use lilt_model::kubernetes::{CustomDeploy, DiscoveryStrategy, Forward, PodReadiness};
use lilt_model::reference::Reference;
use lilt_model::resource::{Link, TriggerMode};

use super::Problems;
use super::naming::{fragments, full_name, split, unique_names};
use super::object::Object;
use crate::declarations::{CustomDeployDeclaration, Declarations, ObjectDeclaration, ResourceOptions};
use crate::failure::SourceSpan;
use crate::image_index::ImageIndex;
use crate::values::ObjectId;
use lilt_model::nearest::nearest;

/// A resource before its images are resolved.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) span: SourceSpan,
    pub(super) objects: Vec<Object>,
    pub(super) images: Vec<Reference>,
    /// Must be built by the project.
    pub(super) required_images: Vec<Reference>,
    pub(super) custom_deploy: Option<CustomDeploy>,
    /// Created by `k8s_resource` from objects that are no workloads.
    pub(super) is_grouped: bool,
    pub(super) forwards: Vec<Forward>,
    /// Set by the user.
    pub(super) pod_readiness: Option<PodReadiness>,
    pub(super) extra_pod_selectors: Vec<BTreeMap<String, String>>,
    pub(super) discovery_strategy: Option<DiscoveryStrategy>,
    pub(super) live_update_agent: Option<bool>,
    pub(super) cascade: Option<bool>,
    /// The context and where it was declared; none: that of the session.
    pub(super) context: Option<(String, SourceSpan)>,
    pub(super) trigger_mode: Option<TriggerMode>,
    pub(super) auto_init: bool,
    pub(super) resource_deps: Vec<(String, SourceSpan)>,
    pub(super) links: Vec<Link>,
    pub(super) labels: Vec<String>,
}

impl Workload {
    fn new(name: String, span: SourceSpan) -> Self {
        Self {
            name,
            span,
            objects: Vec::new(),
            images: Vec::new(),
            required_images: Vec::new(),
            custom_deploy: None,
            is_grouped: false,
            forwards: Vec::new(),
            pod_readiness: None,
            extra_pod_selectors: Vec::new(),
            discovery_strategy: None,
            live_update_agent: None,
            cascade: None,
            context: None,
            trigger_mode: None,
            auto_init: true,
            resource_deps: Vec::new(),
            links: Vec::new(),
            labels: Vec::new(),
        }
    }

    fn of_custom_deploy(declaration: CustomDeployDeclaration) -> Self {
        let CustomDeployDeclaration { span, name, deploy, image_deps, live_update_image } = declaration;
        Self {
            images: image_deps.iter().cloned().chain(live_update_image).collect(),
            required_images: image_deps,
            custom_deploy: Some(deploy),
            ..Self::new(name, span)
        }
    }
}

/// The workloads with their images, and the other objects.
struct SortedObjects {
    workloads: Vec<(Object, Vec<Reference>)>,
    rest: Vec<Object>,
    /// The failures of objects whose images cannot be read.
    broken: Vec<(SourceSpan, Failure)>,
}

fn sort(objects: impl Iterator<Item = Object>, declared: &Declarations) -> SortedObjects {
    let index = ImageIndex::new(declared.images.iter().map(|image| image.reference.clone()));
    let wants_env_vars = declared.images.iter().any(|image| image.match_in_env_vars);
    let in_env_vars = |used: &Reference| {
        wants_env_vars && index.find(used).is_some_and(|position| declared.images[position].match_in_env_vars)
    };
    let mut sorted = SortedObjects { workloads: Vec::new(), rest: Vec::new(), broken: Vec::new() };
    for object in objects {
        match object.images(&declared.kinds, in_env_vars) {
            Ok(images) if images.is_empty() && !declared.kinds.contains(object.value()) => {
                sorted.rest.push(object);
            }
            Ok(images) => sorted.workloads.push((object, images)),
            Err(problem) => {
                let failure = Failure::user(format!("the images of {}: {problem}", full_name(&object)));
                let failure = failure.detail(format!("the object stands at {}", object.origin()));
                sorted.broken.push((object.span.clone(), failure));
                sorted.workloads.push((object, Vec::new()));
            }
        }
    }
    sorted
}

/// Returns the workloads that need names, in order.
pub(crate) fn workload_ids(declared: &Declarations) -> Vec<ObjectId> {
    let objects = declared.objects.iter().map(|object| Object::from(object.clone()));
    sort(objects, declared).workloads.iter().map(|(object, _)| object.id()).collect()
}

/// Returns the resources, and the objects that belong to none. `names` are those that the user's function gives to
/// the workloads.
pub(super) fn assemble(
    objects: Vec<ObjectDeclaration>,
    declared: &mut Declarations,
    names: Option<Vec<String>>,
    problems: &mut Problems,
) -> (Vec<Workload>, Vec<Object>) {
    let taken = names_of_other_resources(declared, problems);
    let sorted = sort(objects.into_iter().map(Object::from), declared);
    for (span, failure) in sorted.broken {
        problems.add(&span, failure);
    }
    let mut grouping = Grouping::new(sorted.rest, taken);
    for declaration in std::mem::take(&mut declared.custom_deploys) {
        grouping.add_custom_deploy(declaration, problems);
    }
    let given = names.filter(|names| names.len() == sorted.workloads.len());
    let names = given.unwrap_or_else(|| unique_names(sorted.workloads.iter().map(|(object, _)| object)));
    for ((object, images), name) in sorted.workloads.into_iter().zip(names) {
        grouping.add_workload(object, images, name, problems);
    }
    grouping.add_templates_without_images(problems);
    grouping.assign_remaining_services();
    let needed = declared.options.iter().any(|options| !options.objects.is_empty());
    let object_names = if needed { ObjectNames::new(&grouping) } else { ObjectNames::default() };
    for options in &declared.options {
        grouping.apply(options, &object_names, problems);
    }
    (grouping.workloads, grouping.rest.into_iter().flatten().collect())
}

/// Returns the names of the resources that are not of Kubernetes, with their kinds.
fn names_of_other_resources(
    declared: &Declarations,
    problems: &mut Problems,
) -> HashMap<String, &'static str> {
    let mut seen: HashMap<&str, (&SourceSpan, &'static str)> = HashMap::new();
    let services = declared.compose.iter().flat_map(|compose| {
        compose.services.iter().map(|service| (service.name.as_str(), (&compose.span, "Docker Compose")))
    });
    let locals = declared.locals.iter().map(|local| (local.name.as_str(), (&local.span, "local")));
    for (name, (span, kind)) in services.chain(locals) {
        if let Some((first, _)) = seen.insert(name, (span, kind)) {
            let message =
                format!("there are two resources named {name}, the other one at {}", first.location());
            problems.add(span, Failure::user(message));
        }
    }
    seen.into_iter().map(|(name, (_, kind))| (name.to_owned(), kind)).collect()
}

struct Grouping {
    workloads: Vec<Workload>,
    by_name: HashMap<String, usize>,
    /// An object that is taken leaves a gap, so that positions stay valid.
    rest: Vec<Option<Object>>,
    /// Index of the services in `rest` by the first label of their selectors.
    services: HashMap<String, Vec<usize>>,
    /// Names of resources of other kinds.
    taken: HashMap<String, &'static str>,
}

fn label(key: &str, value: &serde_json::Value) -> String {
    format!("{key}={value}")
}

/// All objects, by every fragment that names them.
#[derive(Default)]
struct ObjectNames {
    /// The position among the rest, or none if a workload has it; and the full name.
    by_fragment: HashMap<String, Vec<(Option<usize>, String)>>,
    full_names: Vec<String>,
}

impl ObjectNames {
    fn new(grouping: &Grouping) -> Self {
        let taken =
            grouping.workloads.iter().flat_map(|workload| &workload.objects).map(|object| (None, object));
        let free = grouping
            .rest
            .iter()
            .enumerate()
            .filter_map(|(index, object)| Some((Some(index), object.as_ref()?)));
        let mut object_names = Self { by_fragment: HashMap::new(), full_names: Vec::new() };
        for (position, object) in taken.chain(free) {
            let name = full_name(object);
            for fragment in fragments(object) {
                object_names.by_fragment.entry(fragment).or_default().push((position, name.clone()));
            }
            object_names.full_names.push(name);
        }
        object_names
    }
}

impl Grouping {
    fn new(rest: Vec<Object>, taken: HashMap<String, &'static str>) -> Self {
        let mut services: HashMap<String, Vec<usize>> = HashMap::new();
        for (position, object) in rest.iter().enumerate() {
            if let Some((key, value)) = object.selector().and_then(|selector| selector.iter().next()) {
                services.entry(label(key, value)).or_default().push(position);
            }
        }
        let rest = rest.into_iter().map(Some).collect();
        Self { workloads: Vec::new(), by_name: HashMap::new(), rest, services, taken }
    }

    fn push(&mut self, workload: Workload) {
        self.by_name.insert(workload.name.clone(), self.workloads.len());
        self.workloads.push(workload);
    }

    /// Returns the positions of services that may select its pods, in the order of their declaration.
    fn candidate_services(&self, workload: &Object) -> Vec<usize> {
        let labels = workload.pod_labels().into_iter().flatten();
        let mut positions: Vec<usize> = labels
            .filter_map(|(key, value)| self.services.get(&label(key, value)))
            .flatten()
            .copied()
            .collect();
        positions.sort_unstable();
        positions
    }

    /// Takes the services of a workload, in the order of their declaration.
    fn take_services_of(&mut self, workload: &Object) -> Vec<Object> {
        let mut taken: Vec<Object> = Vec::new();
        for position in self.candidate_services(workload) {
            // Of a duplicate (see allow_duplicates), the second is for another workload.
            let is_wanted = |service: &mut Object| {
                service.selects_pods_of(workload) && !taken.iter().any(|it| it.id() == service.id())
            };
            let service = self.rest[position].take_if(is_wanted);
            taken.extend(service);
        }
        taken
    }

    /// Gives duplicate services that are left to the first workload that they select.
    fn assign_remaining_services(&mut self) {
        for index in 0..self.workloads.len() {
            let objects = &self.workloads[index].objects;
            let near: Vec<(usize, usize)> = objects
                .iter()
                .enumerate()
                .flat_map(|(owner, object)| {
                    self.candidate_services(object).into_iter().map(move |position| (owner, position))
                })
                .collect();
            for (owner, position) in near {
                let workload = &mut self.workloads[index];
                let selects = |service: &mut Object| service.selects_pods_of(&workload.objects[owner]);
                let service = self.rest[position].take_if(selects);
                workload.objects.extend(service);
            }
        }
    }

    fn check_name_is_free(&self, name: &str) -> Result<(), Failure> {
        let kind = match (self.taken.get(name), self.position(name)) {
            (Some(kind), _) => kind,
            (None, Some(_)) => "Kubernetes",
            (None, None) => return Ok(()),
        };
        Err(Failure::user(format!("there is already a {kind} resource named {name}")))
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    fn add_custom_deploy(&mut self, declaration: CustomDeployDeclaration, problems: &mut Problems) {
        if let Err(failure) = self.check_name_is_free(&declaration.name) {
            return problems.add(&declaration.span, failure);
        }
        self.push(Workload::of_custom_deploy(declaration));
    }

    fn add_workload(
        &mut self,
        object: Object,
        images: Vec<Reference>,
        name: String,
        problems: &mut Problems,
    ) {
        if let Err(failure) = self.check_name_is_free(&name) {
            problems.add(
                &object.span,
                failure.hint(format!(
                    "rename one of them, for example with k8s_resource('{name}', new_name='…')"
                )),
            );
        }
        let mut workload = Workload::new(name, object.span.clone());
        workload.images = images;
        let services = self.take_services_of(&object);
        workload.objects.push(object);
        workload.objects.extend(services);
        self.push(workload);
    }

    /// Turns pod templates without images into resources of their names, or adds them to the resource of that name.
    fn add_templates_without_images(&mut self, problems: &mut Problems) {
        for index in 0..self.rest.len() {
            let Some(object) = self.rest[index].take_if(|object| object.has_pod_template()) else { continue };
            let name = object.name().to_owned();
            match self.position(&name) {
                Some(position) => {
                    let services = self.take_services_of(&object);
                    self.workloads[position].objects.push(object);
                    self.workloads[position].objects.extend(services);
                }
                None => self.add_workload(object, Vec::new(), name, problems),
            }
        }
    }

    fn apply(&mut self, options: &ResourceOptions, object_names: &ObjectNames, problems: &mut Problems) {
        let position = if options.workload.is_empty() {
            if let Err(failure) = self.check_name_is_free(&options.new_name) {
                return problems.add(&options.span, failure);
            }
            let mut grouped = Workload::new(options.new_name.clone(), options.span.clone());
            grouped.is_grouped = true;
            self.push(grouped);
            self.workloads.len() - 1
        } else {
            match self.position(&options.workload) {
                Some(position) => position,
                None => return problems.add(&options.span, self.unknown(&options.workload)),
            }
        };
        let renamed = !options.new_name.is_empty() && options.new_name != self.workloads[position].name;
        if renamed {
            match self.check_name_is_free(&options.new_name) {
                Ok(()) => self.rename(position, &options.new_name),
                Err(failure) => problems.add(&options.span, failure),
            }
        }
        for fragment in &options.objects {
            match self.take(fragment, object_names) {
                Ok(object) => self.workloads[position].objects.push(object),
                Err(failure) => problems.add(&options.span, failure),
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

    fn take(&mut self, fragment: &str, object_names: &ObjectNames) -> Result<Object, Failure> {
        let refuse =
            |problem: String| Failure::user(format!("k8s_resource: objects: {fragment:?}: {problem}"));
        let parts = split(fragment).map_err(refuse)?;
        if parts.len() > 3 {
            return Err(refuse(format!(
                "it has {} parts; an object is named name:kind:namespace",
                parts.len()
            )));
        }
        let found =
            object_names.by_fragment.get(&fragment.to_lowercase()).map(Vec::as_slice).unwrap_or_default();
        match found {
            [] => {
                let failure = Failure::user(format!("k8s_resource: no object is named {fragment}"));
                let all = || object_names.full_names.iter().map(String::as_str);
                Err(failure.hint(match nearest(&fragment.to_lowercase(), all()) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("there are: {}", all().collect::<Vec<_>>().join(", ")),
                }))
            }
            // Duplicates (see allow_duplicates) are taken one after another.
            [(_, name), others @ ..] if others.iter().all(|(_, other)| other == name) => {
                let mut free = found.iter().filter_map(|(position, _)| *position);
                let found = free.find_map(|position| self.rest[position].take());
                found.ok_or_else(|| {
                    let failure = Failure::user(format!(
                        "k8s_resource: the object {fragment} already belongs to another resource"
                    ));
                    let free: Vec<String> = self.rest.iter().flatten().map(full_name).collect();
                    match free.is_empty() {
                        true => failure.hint("all objects belong to resources already"),
                        false => failure.hint(format!("those that belong to none are: {}", free.join(", "))),
                    }
                })
            }
            several => {
                let names: Vec<&str> = several.iter().map(|(_, name)| name.as_str()).collect();
                let failure = Failure::user(format!("k8s_resource: {fragment} names more than one object"));
                Err(failure.hint(format!("say which: {}", names.join(", "))))
            }
        }
    }
}

impl Workload {
    /// Adds the options of a call to those of earlier ones.
    fn extend(&mut self, options: &ResourceOptions) {
        self.forwards.extend(options.forwards.iter().cloned());
        self.trigger_mode = options.trigger_mode.or(self.trigger_mode);
        self.auto_init = options.auto_init.unwrap_or(self.auto_init);
        self.pod_readiness = options.pod_readiness.or(self.pod_readiness);
        self.extra_pod_selectors.extend(options.extra_pod_selectors.iter().cloned());
        self.discovery_strategy = options.discovery_strategy.or(self.discovery_strategy);
        self.live_update_agent = options.live_update_agent.or(self.live_update_agent);
        self.cascade = options.cascade.or(self.cascade);
        if !options.context.is_empty() {
            self.context = Some((options.context.clone(), options.span.clone()));
        }
        let deps = options.resource_deps.iter().map(|name| (name.clone(), options.span.clone()));
        self.resource_deps.extend(deps);
        self.links.extend(options.links.iter().cloned());
        self.labels.extend(options.labels.iter().cloned());
        self.labels.sort();
        self.labels.dedup();
    }
}
