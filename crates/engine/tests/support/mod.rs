//! Event scripts: facts in, plan and holds out, as text.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its part")]

use std::fmt::Write as _;
use std::path::PathBuf;

use lilt_engine::{
    Deployed, Event, FileChanges, Mode, Options, Owner, State, Task, TaskId, UpdateJob, UpdateOutcome,
    WatchId, apply, plan, project_resource, schedule,
};
use lilt_model::cluster::{ClusterInfo, Container, ContainerState, Pod, PodPhase, PodRef, RestartPolicy};
use lilt_model::command::Command;
use lilt_model::files::{Existence, FileSet};
use lilt_model::image::{DockerBuild, ImageBuild, ImageTarget, LiveUpdate, Run, Sync};
use lilt_model::kubernetes::{CustomDeploy, Forward, KubernetesResource, ObjectRef, PodReadiness};
use lilt_model::probe::{Probe, ProbeAction};
use lilt_model::project::{Project, Settings};
use lilt_model::request::Request;
use lilt_model::resource::{Body, LocalResource, Resource, TriggerMode};
use lilt_model::settings::DockerPrune;
use lilt_model::{ClusterName, ContainerId, Failure, ImageName, ResourceName, Timestamp, Uid};
use serde_json::json;

pub struct Script {
    pub state: State,
    pub time: i64,
}

impl Script {
    /// A session whose Tiltfile has just been asked for.
    pub fn new() -> Self {
        Self::with_mode(Mode::Up)
    }

    pub fn with_mode(mode: Mode) -> Self {
        Self::with_options(Options::new("/p/Tiltfile", mode))
    }

    pub fn with_options(options: Options) -> Self {
        let mut script = Self { state: State::new(options), time: 0 };
        script.event(Event::Started);
        script
    }

    /// A session with this project loaded.
    pub fn loaded(resources: Vec<Resource>) -> Self {
        let mut script = Self::new();
        script.load(resources);
        script
    }

    pub fn event(&mut self, event: Event) -> &mut Self {
        self.time += 1;
        apply(&mut self.state, Timestamp(self.time * 1_000_000), event);
        schedule(&mut self.state);
        self.watch();
        self
    }

    /// At a moment that matters.
    pub fn event_at(&mut self, at: Timestamp, event: Event) -> &mut Self {
        apply(&mut self.state, at, event);
        schedule(&mut self.state);
        self
    }

    /// Files are watched as soon as they are to be.
    fn watch(&mut self) {
        for task in plan(&self.state).into_values() {
            if let Task::Watch { watch, version, .. } = task {
                apply(&mut self.state, Timestamp(self.time * 1_000_000), Event::Watching { watch, version });
            }
        }
        schedule(&mut self.state);
    }

    pub fn load(&mut self, resources: Vec<Resource>) -> &mut Self {
        self.load_with(Project { resources, settings: settings(), ..Project::default() })
    }

    pub fn load_with(&mut self, project: Project) -> &mut Self {
        let load = self.running_load().expect("a load runs");
        let files = FileSet::new(vec!["/p/Tiltfile".into()], Vec::new());
        self.event(Event::Loaded {
            load,
            files,
            contents: Default::default(),
            outcome: Ok(Box::new(project)),
        })
    }

    pub fn load_fails(&mut self, words: &str) -> &mut Self {
        let load = self.running_load().expect("a load runs");
        let files = FileSet::new(vec!["/p/Tiltfile".into()], Vec::new());
        self.event(Event::Loaded {
            load,
            files,
            contents: Default::default(),
            outcome: Err(Failure::user(words)),
        })
    }

    pub fn running_load(&self) -> Option<u64> {
        plan(&self.state).into_iter().find_map(|(_, spec)| match spec {
            Task::Load { load, .. } => Some(load),
            _ => None,
        })
    }

    pub fn save_tiltfile(&mut self) -> &mut Self {
        self.event(
            FileChanges {
                watch: WatchId::Tiltfile(ResourceName::tiltfile()),
                paths: vec!["/p/Tiltfile".into()],
                existence: Default::default(),
                written: None,
            }
            .into(),
        )
    }

    pub fn save(&mut self, resource: &str, path: &str) -> &mut Self {
        let watch = WatchId::Local(resource.into());
        self.event(
            FileChanges { watch, paths: vec![path.into()], existence: Default::default(), written: None }
                .into(),
        )
    }

    pub fn save_image(&mut self, resource: &str, image: &str, path: &str) -> &mut Self {
        let watch = WatchId::Image(resource.into(), image.into());
        self.event(
            FileChanges { watch, paths: vec![path.into()], existence: Default::default(), written: None }
                .into(),
        )
    }

    /// A file of an image appears where there was nothing.
    pub fn create_file(&mut self, resource: &str, path: &str) -> &mut Self {
        // Longer than anything takes to be noticed.
        self.time += 2;
        let created_since = Some(Timestamp(self.time * 1_000_000));
        let existence = Existence { created: vec![path.into()], created_since, ..Existence::default() };
        self.files_changed(resource, vec![path.into()], existence)
    }

    pub fn delete_file(&mut self, resource: &str, path: &str) -> &mut Self {
        let existence = Existence { deleted: vec![path.into()], ..Existence::default() };
        self.files_changed(resource, vec![path.into()], existence)
    }

    pub fn files_changed(&mut self, resource: &str, paths: Vec<PathBuf>, existence: Existence) -> &mut Self {
        let watch = WatchId::Image(resource.into(), resource.into());
        self.event(FileChanges { watch, paths, existence, written: None }.into())
    }

    pub fn trigger(&mut self, resource: &str) -> &mut Self {
        self.event(Event::Requested {
            request: Request::Trigger { resource: resource.into(), reason: Default::default() },
        })
    }

    /// The update that runs for a resource.
    pub fn update_of(&self, resource: &str) -> Option<u64> {
        plan(&self.state).into_values().find_map(|task| match task {
            Task::Update { resource: name, update, .. } if name.as_str() == resource => Some(update),
            Task::Sync { owner: Owner::Resource(name), task, .. } if name.as_str() == resource => {
                task.job.map(|job| job.update)
            }
            _ => None,
        })
    }

    pub fn succeed(&mut self, resource: &str) -> &mut Self {
        let update = self.update_of(resource).expect("an update runs");
        let outcome = Box::new(UpdateOutcome::success());
        self.event(Event::UpdateEnded { resource: resource.into(), update, outcome })
    }

    pub fn fail(&mut self, resource: &str) -> &mut Self {
        let update = self.update_of(resource).expect("an update runs");
        let outcome = Box::new(UpdateOutcome::failed(Failure::user("it broke")));
        self.event(Event::UpdateEnded { resource: resource.into(), update, outcome })
    }

    /// The deployment of a resource succeeds with the images it was to build, under this tag.
    pub fn deploy(&mut self, resource: &str, tag: &str) -> &mut Self {
        let update = self.update_of(resource).expect("an update runs");
        let outcome = Box::new(self.deployed_outcome(resource, tag));
        self.event(Event::UpdateEnded { resource: resource.into(), update, outcome })
    }

    pub fn deployed_outcome(&self, resource: &str, tag: &str) -> UpdateOutcome {
        let deployed = Deployed {
            objects: vec![(deployment_ref(resource), Uid::from(format!("uid-{resource}")))],
            template_hashes: vec![format!("hash-{tag}")],
            marks: vec![format!("uid-{resource}:{tag}:applied")],
            ..Deployed::default()
        };
        UpdateOutcome {
            failure: None,
            images: self.built_images(resource, tag),
            deployed: Some(deployed),
            ..UpdateOutcome::success()
        }
    }

    fn built_images(&self, resource: &str, tag: &str) -> Vec<(ImageName, String)> {
        let spec = plan(&self.state).remove(&TaskId::Update(resource.into()));
        let Some(Task::Update { job, .. }) = spec else { return Vec::new() };
        let UpdateJob::Deploy(job) = &*job else { return Vec::new() };
        let built = job.images.iter().filter_map(|image| match image {
            lilt_engine::ImageJob::Build(image) => Some(image.name.clone()),
            lilt_engine::ImageJob::Reuse { .. } => None,
        });
        built.map(|name| (name.clone(), format!("{name}:{tag}"))).collect()
    }

    /// When the session wants to be woken.
    pub fn alarm(&self) -> Option<Timestamp> {
        match plan(&self.state).remove(&TaskId::Wake) {
            Some(Task::Wake { at }) => Some(at),
            _ => None,
        }
    }

    /// A pod that ended with an error.
    pub fn fail_pod(&mut self, resource: &str, pod: &str, tag: &str) -> &mut Self {
        let mut fact = running(resource, pod, tag, "c1");
        fact.phase = PodPhase::Failed;
        fact.ready = false;
        fact.status = "Error".into();
        self.pod(fact)
    }

    /// The deletion that runs.
    pub fn cleanup(&self) -> Option<u64> {
        plan(&self.state).into_keys().find_map(|id| match id {
            TaskId::Cleanup(cleanup) => Some(cleanup),
            _ => None,
        })
    }

    pub fn connect(&mut self) -> &mut Self {
        self.connect_to("")
    }

    /// To the cluster of a context.
    pub fn connect_to(&mut self, cluster: &str) -> &mut Self {
        let info =
            ClusterInfo { context: "kind".into(), namespace: "default".into(), ..ClusterInfo::default() };
        self.event(Event::ClusterConnected { cluster: cluster.into(), info: Box::new(info) })
    }

    pub fn pod(&mut self, pod: Pod) -> &mut Self {
        self.event(Event::PodChanged { pod: Box::new(pod) })
    }

    pub fn synced(
        &mut self,
        resource: &str,
        container: &str,
        outcome: Result<(), lilt_engine::SyncFault>,
    ) -> &mut Self {
        let update = self.update_of(resource).expect("a live update runs");
        let container = ContainerId::new(container);
        self.event(Event::Synced { owner: Owner::Resource(resource.into()), update, container, outcome })
    }

    pub fn status(&self, resource: &str) -> String {
        let Some(object) = project_resource(&self.state, &resource.into()) else { return "gone".into() };
        format!("{:?}/{:?}", object.status.update_status, object.status.runtime_status)
    }

    /// Plan and holds as text, for snapshots.
    pub fn show(&self) -> String {
        let mut text = String::new();
        for (id, spec) in plan(&self.state) {
            writeln!(text, "{}", task_words(&id, &spec)).unwrap();
        }
        for name in self.state.resource_names() {
            if let Some(hold) = self.state.hold(name) {
                writeln!(text, "{name} holds: {}", hold.words()).unwrap();
            }
        }
        text
    }
}

fn task_words(id: &TaskId, spec: &Task) -> String {
    let id = match id {
        TaskId::Load(name) if name.is_tiltfile() => "load".to_owned(),
        TaskId::Load(name) => format!("load {name}"),
        TaskId::Watch(WatchId::Tiltfile(name)) if name.is_tiltfile() => "watch Tiltfile".to_owned(),
        TaskId::Watch(watch) => format!("watch {watch:?}"),
        TaskId::Update(name) => format!("update {name}"),
        TaskId::Command(Owner::Resource(name)) => format!("serve {name}"),
        TaskId::Probe(Owner::Resource(name)) => format!("probe {name}"),
        TaskId::Probe(Owner::Object(object)) => format!("probe cmd {}", object.name),
        TaskId::LogStream(Owner::Resource(name), pod) => format!("follow {name} {}", pod.name),
        TaskId::Forward(Owner::Resource(name), slot) => format!("forward {name} {}", slot.place.port),
        TaskId::Objects(scope) => format!("objects {} {}", scope.kind, scope.namespace),
        TaskId::Sync(Owner::Resource(name), container) => format!("sync {name} {container}"),
        TaskId::Connect(cluster) => in_cluster("connect", cluster),
        TaskId::Kubeconfig(cluster) => in_cluster("kubeconfig", cluster),
        TaskId::Namespace(cluster, namespace) => in_cluster(&format!("namespace({namespace:?})"), cluster),
        other => format!("{other:?}").to_lowercase(),
    };
    match spec {
        Task::Load { cause, .. } => format!("{id}: {}", cause.headline()),
        Task::Update { cause, job, .. } => format!("{id}: {} {}", cause.headline(), job_words(job)),
        Task::Command { owner: Owner::Resource(_), command, .. } => format!("{id}: {}", command.display()),
        Task::Forward { target, .. } => {
            let target =
                target.as_ref().map_or("nothing".into(), |it| format!("{}:{}", it.pod.name, it.port));
            format!("{id}: to {target}")
        }
        Task::Sync { task, .. } => match &task.job {
            Some(job) => format!("{id}: {:?}", job.paths),
            None => format!("{id}: idle"),
        },
        Task::Cleanup { leftovers, .. } => {
            let names = leftovers.objects.iter().filter_map(ObjectRef::of).map(|it| it.to_string());
            let names: Vec<String> = names.chain(leftovers.command.iter().map(Command::display)).collect();
            format!("{id}: {}", names.join(" "))
        }
        _ => id,
    }
}

fn in_cluster(task: &str, cluster: &ClusterName) -> String {
    if cluster.is_session() { task.to_owned() } else { format!("{task} in {cluster}") }
}

fn job_words(job: &UpdateJob) -> String {
    match job {
        UpdateJob::Local(local) => local.command.as_ref().map_or("(no command)".into(), Command::display),
        UpdateJob::Refused(failure) => format!("(refused: {})", failure.message),
        UpdateJob::Deploy(deploy) => {
            let images = deploy.images.iter().map(|image| match image {
                lilt_engine::ImageJob::Build(image) => format!("build {}", image.name),
                lilt_engine::ImageJob::Reuse { reference, .. } => format!("reuse {reference}"),
            });
            let closed = deploy.closed.iter().map(|image| format!("open {image}"));
            format!("({})", images.chain(closed).chain(["deploy".to_owned()]).collect::<Vec<_>>().join(", "))
        }
    }
}

pub fn local(name: &str) -> Resource {
    let body = LocalResource {
        update: Some(Command::shell(format!("make {name}"), "/p")),
        files: FileSet::new(vec![PathBuf::from(format!("/p/{name}"))], Vec::new()),
        ..LocalResource::default()
    };
    resource(name, Body::Local(body))
}

pub fn server(name: &str) -> Resource {
    let body = LocalResource {
        serve: Some(Command::shell(format!("serve {name}"), "/p")),
        ..LocalResource::default()
    };
    resource(name, Body::Local(body))
}

/// With a readiness probe.
pub fn probed(mut resource: Resource) -> Resource {
    if let Body::Local(local) = &mut resource.body {
        let action = ProbeAction::TcpSocket { port: 80, host: String::new() };
        local.readiness_probe = Some(Probe::new(action));
    }
    resource
}

pub fn parallel(name: &str) -> Resource {
    let mut resource = local(name);
    if let Body::Local(local) = &mut resource.body {
        local.allow_parallel = true;
    }
    resource
}

pub fn manual(mut resource: Resource) -> Resource {
    resource.trigger_mode = TriggerMode::Manual;
    resource
}

pub fn after(mut resource: Resource, dependencies: &[&str]) -> Resource {
    resource.resource_deps = dependencies.iter().map(ResourceName::new).collect();
    resource
}

/// An update of one of its dependencies updates it, too.
pub fn cascading(mut resource: Resource) -> Resource {
    resource.cascade = true;
    resource
}

/// Its server is restarted when it exits.
pub fn restarted(mut resource: Resource) -> Resource {
    if let Body::Local(local) = &mut resource.body {
        local.restart = true;
    }
    resource
}

pub fn resource(name: &str, body: Body) -> Resource {
    Resource {
        name: name.into(),
        labels: Vec::new(),
        links: Vec::new(),
        resource_deps: Vec::new(),
        trigger_mode: TriggerMode::Auto,
        auto_init: true,
        cascade: false,
        body,
    }
}

/// A Deployment with one image `name` whose context is `/p/name` and whose `/p/name/src` is synced.
pub fn workload(name: &str) -> Resource {
    let files = FileSet::new(vec![PathBuf::from(format!("/p/{name}"))], Vec::new());
    let image = ImageTarget {
        name: name.into(),
        build: ImageBuild::Docker(DockerBuild {
            context: files.clone(),
            dockerfile: "FROM busybox".into(),
            ..DockerBuild::default()
        }),
        files,
        live_update: Some(LiveUpdate {
            stop_paths: vec![PathBuf::from(format!("/p/{name}/src/stop"))],
            syncs: vec![Sync { local: format!("/p/{name}/src").into(), container: "/app".into() }],
            runs: vec![Run { argv: vec!["true".into()], triggers: Vec::new(), echo_off: false }],
            ..LiveUpdate::default()
        }),
        ..ImageTarget::default()
    };
    let kubernetes = KubernetesResource {
        images: vec![image],
        objects: vec![deployment(name)],
        origins: Vec::new(),
        forwards: vec![Forward {
            host: "localhost".into(),
            local_port: 8000,
            container_port: 0,
            name: String::new(),
            path: String::new(),
        }],
        pod_readiness: PodReadiness::Wait,
        apply_timeout_secs: 30,
        ..KubernetesResource::default()
    };
    resource(name, Body::Kubernetes(kubernetes))
}

/// The same resource in the cluster of a context.
pub fn in_context(mut resource: Resource, context: &str) -> Resource {
    if let Body::Kubernetes(kubernetes) = &mut resource.body {
        kubernetes.cluster = context.into();
    }
    resource
}

/// The same resource with the image of another workload beside its own.
pub fn with_image_of(mut resource: Resource, other: &str) -> Resource {
    let Body::Kubernetes(other) = workload(other).body else { return resource };
    if let Body::Kubernetes(kubernetes) = &mut resource.body {
        kubernetes.images.extend(other.images);
    }
    resource
}

/// Deployed by a command that depends on `/p/name.yaml`.
pub fn deployed_by_command(name: &str) -> Resource {
    let mut workload = workload(name);
    if let Body::Kubernetes(kubernetes) = &mut workload.body {
        kubernetes.objects.clear();
        kubernetes.custom_deploy = Some(CustomDeploy {
            apply: Command::shell(format!("deploy {name}"), "/p"),
            delete: Command::shell(format!("delete {name}"), "/p"),
            files: FileSet::new(vec![format!("/p/{name}.yaml").into()], Vec::new()),
        });
    }
    workload
}

/// The same resource with images that come from elsewhere.
pub fn not_built(mut resource: Resource) -> Resource {
    if let Body::Kubernetes(kubernetes) = &mut resource.body {
        kubernetes.images.iter_mut().for_each(|image| image.build = ImageBuild::LiveUpdateOnly);
    }
    resource
}

/// A recipe that differs from the one of [`workload`].
pub fn docker_build(dockerfile: &str) -> ImageBuild {
    ImageBuild::Docker(DockerBuild { dockerfile: dockerfile.into(), ..DockerBuild::default() })
}

/// Objects without pods or images.
pub fn objects(name: &str, kinds: &[&str]) -> Resource {
    let objects = kinds
        .iter()
        .map(|kind| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}))
        .collect();
    let kubernetes = KubernetesResource { objects, apply_timeout_secs: 30, ..KubernetesResource::default() };
    resource(name, Body::Kubernetes(kubernetes))
}

pub fn deployment(name: &str) -> serde_json::Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}})
}

fn deployment_ref(name: &str) -> ObjectRef {
    let mut object = ObjectRef::of(&deployment(name)).expect("a whole object");
    object.namespace = "default".into();
    object
}

/// A running pod of a workload that was deployed under a tag.
pub fn running(resource: &str, pod: &str, tag: &str, container: &str) -> Pod {
    Pod {
        cluster: ClusterName::default(),
        namespace: "default".into(),
        name: pod.into(),
        uid: Uid::from(format!("uid-{pod}")),
        owners: vec![Uid::from(format!("uid-{resource}"))],
        nearest_owner: None,
        owner_kind: None,
        owner_created: None,
        template_hash: Some(format!("hash-{tag}")),
        labels: [("app".to_owned(), resource.to_owned())].into(),
        created: Timestamp(1),
        deleting: false,
        phase: PodPhase::Running,
        ready: true,
        status: "Running".into(),
        message: None,
        conditions: Vec::new(),
        containers: vec![Container {
            name: "main".into(),
            init: false,
            id: Some(ContainerId::new(container)),
            previous: None,
            previous_exit: None,
            image: format!("{resource}:{tag}"),
            agent: false,
            ports: vec![80],
            state: ContainerState::Running { since: Timestamp(1) },
            ready: true,
            restarts: 0,
            restart_policy: RestartPolicy::default(),
        }],
    }
}

/// A pod that has not started yet.
pub fn starting(resource: &str, pod: &str, tag: &str) -> Pod {
    let mut pod = running(resource, pod, tag, "none");
    pod.phase = PodPhase::Pending;
    pod.ready = false;
    pod.status = "ContainerCreating".into();
    pod.containers[0].id = None;
    pod.containers[0].ready = false;
    pod.containers[0].state =
        ContainerState::Waiting { reason: "ContainerCreating".into(), message: String::new() };
    pod
}

pub fn pod_ref(name: &str) -> PodRef {
    PodRef { namespace: "default".into(), name: name.into(), ..PodRef::default() }
}

/// Old images are a matter of their own.
fn settings() -> Settings {
    let docker_prune = DockerPrune { enabled: false, ..DockerPrune::default() };
    Settings { docker_prune, ..Settings::default() }
}

pub fn limited(resources: Vec<Resource>, max_parallel_updates: u32) -> Project {
    let settings = Settings { max_parallel_updates, ..settings() };
    Project { resources, settings, ..Project::default() }
}
