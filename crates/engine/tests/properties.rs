//! Properties that must hold after any sequence of events.

#[path = "properties/objects.rs"]
mod objects;
mod support;

use std::collections::{BTreeMap, BTreeSet};

use lilt_api::{Object, ObjectKey};
use lilt_engine::{
    Entry, Event, FileChanges, Mode, Options, Owner, Plan, Recorder, State, SyncFault, Task, TaskId,
    UpdateJob, WatchId, apply, dump, plan, plan_object, plan_resource, plan_session, project_object, replay,
    schedule,
};
use lilt_model::cluster::PodPhase;
use lilt_model::request::{Request, TriggerReason};
use lilt_model::resource::{Body, Resource, TriggerMode};
use lilt_model::timeline::StageKind;
use lilt_model::{ClusterName, ContainerId, Failure, ResourceName, Timestamp};
use objects::{ObjectStep, check_settled, object_step, settling};
use proptest::prelude::*;
use support::*;

/// One thing that may happen; numbers choose among what is possible then.
#[derive(Clone, Debug)]
enum Step {
    Save(usize, u8),
    Trigger(usize),
    Finish(usize, bool),
    SaveTiltfile,
    Load(u8, bool),
    Connect,
    Pod(usize, u8, u8),
    PodGone(u8),
    Sync(usize, u8),
    ServeEnds,
    Switch(usize, bool),
    Cancel(usize),
    CleanUp,
    SetMode(usize, bool),
    Stage(usize, bool),
    Built(usize, u8),
    Wake,
    Object(ObjectStep),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0usize..6, 0u8..4).prop_map(|(resource, file)| Step::Save(resource, file)),
        2 => (0usize..6).prop_map(Step::Trigger),
        8 => (0usize..6, any::<bool>()).prop_map(|(which, good)| Step::Finish(which, good)),
        1 => Just(Step::SaveTiltfile),
        3 => (0u8..4, any::<bool>()).prop_map(|(which, good)| Step::Load(which, good)),
        1 => Just(Step::Connect),
        4 => (0usize..2, 0u8..3, 0u8..3).prop_map(|(resource, pod, state)| Step::Pod(resource, pod, state)),
        1 => (0u8..3).prop_map(Step::PodGone),
        4 => (0usize..4, 0u8..4).prop_map(|(which, outcome)| Step::Sync(which, outcome)),
        1 => Just(Step::ServeEnds),
        2 => (0usize..6, any::<bool>()).prop_map(|(which, enable)| Step::Switch(which, enable)),
        1 => (0usize..6).prop_map(Step::Cancel),
        1 => Just(Step::CleanUp),
        2 => (0usize..6, any::<bool>()).prop_map(|(which, deploys)| Step::Stage(which, deploys)),
        3 => (0usize..6, 0u8..4).prop_map(|(which, tag)| Step::Built(which, tag)),
        1 => Just(Step::Wake),
        12 => object_step().prop_map(Step::Object),
        1 => (0usize..6, any::<bool>()).prop_map(|(which, manual)| Step::SetMode(which, manual)),
    ];
    proptest::collection::vec(step, 1..120)
}

/// A few projects that differ in every way a reload can change them.
fn project(which: u8) -> Vec<Resource> {
    let all: Vec<Resource> = [
        local("a"),
        parallel("b"),
        manual(local("c")),
        after(server("d"), &["a"]),
        workload("w"),
        after(workload("x"), &["w"]),
        with_image_of(workload("y"), "w"),
        objects("uncategorized", &["Namespace"]),
    ]
    .map(|resource| restarted(cascading(resource)))
    .into();
    match which {
        0 => all,
        1 => all.into_iter().filter(|resource| resource.name.as_str() != "b").collect(),
        2 => all.into_iter().rev().collect(),
        _ => all
            .into_iter()
            .map(|mut resource| {
                if let Body::Kubernetes(kubernetes) = &mut resource.body {
                    for image in &mut kubernetes.images {
                        image.build = docker_build("FROM debian");
                    }
                }
                resource
            })
            .collect(),
    }
}

fn options() -> Options {
    Options::new("/p/Tiltfile", Mode::Up)
}

/// The owner of a part of the plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Session,
    Owner(Owner),
}

/// Turns steps into events that could really come, given the state.
struct World {
    state: State,
    time: i64,
    /// Kept from turn to turn by looking at touched resources only, as the daemon does.
    incremental: BTreeMap<Section, Plan>,
    /// Objects as readers saw them last.
    shown: BTreeMap<ObjectKey, (String, Object)>,
    recorded: Vec<(Timestamp, Event)>,
    deployments: u32,
    watched: BTreeMap<WatchId, u64>,
    saved: BTreeMap<ResourceName, i64>,
    /// When the newest update of a resource that has not failed began.
    covered: BTreeMap<ResourceName, i64>,
    /// Updates that have reported a stage.
    begun: BTreeSet<u64>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            state: State::new(options()),
            time: 0,
            incremental: BTreeMap::new(),
            shown: BTreeMap::new(),
            recorded: Vec::new(),
            deployments: 0,
            watched: BTreeMap::new(),
            saved: BTreeMap::new(),
            covered: BTreeMap::new(),
            begun: BTreeSet::new(),
        };
        world.event(Event::Started);
        world
    }

    fn event(&mut self, event: Event) {
        self.turn(event);
        let watches = plan(&self.state).into_values().filter_map(|task| match task {
            Task::Watch { watch, version, .. } => Some((watch, version)),
            _ => None,
        });
        for (watch, version) in watches.collect::<Vec<_>>() {
            if self.watched.get(&watch) != Some(&version) {
                self.watched.insert(watch.clone(), version);
                self.turn(Event::Watching { watch, version });
            }
        }
    }

    fn turn(&mut self, event: Event) {
        self.time += 1;
        let before = self.updates();
        let at = Timestamp(self.time);
        self.recorded.push((at, event.clone()));
        apply(&mut self.state, at, event);
        schedule(&mut self.state);
        self.note_starts(&before);
        self.check_schedule_is_stable();
        self.follow_plan();
        self.check_limits();
    }

    /// Running updates, live ones too.
    fn updates(&self) -> BTreeMap<ResourceName, u64> {
        plan(&self.state)
            .into_values()
            .filter_map(|task| match task {
                Task::Update { resource: name, update, .. } => Some((name, update)),
                Task::Sync { owner: Owner::Resource(name), task, .. } => Some((name, task.job?.update)),
                _ => None,
            })
            .collect()
    }

    fn note_starts(&mut self, before: &BTreeMap<ResourceName, u64>) {
        for (name, update) in self.updates() {
            if before.get(&name) != Some(&update) {
                self.covered.insert(name, self.time);
            }
        }
    }

    fn check_schedule_is_stable(&self) {
        let mut again = self.state.clone();
        schedule(&mut again);
        assert!(again == self.state, "scheduling twice must change nothing");
    }

    fn follow_plan(&mut self) {
        let touched = self.state.take_touched();
        self.state.take_notes();
        self.state.take_records();
        if touched.session {
            self.incremental.insert(Section::Session, plan_session(&self.state));
        }
        for name in touched.resources {
            let plan = plan_resource(&self.state, &name);
            self.incremental.insert(Section::Owner(Owner::Resource(name)), plan);
        }
        for key in touched.objects {
            self.incremental
                .insert(Section::Owner(Owner::Object(key.clone())), plan_object(&self.state, &key));
            match project_object(&self.state, &key) {
                Some(object) => self.shown.insert(key, object),
                None => self.shown.remove(&key),
            };
        }
        let followed: Plan = self.incremental.values().flat_map(|plan| plan.clone().into_values()).collect();
        let whole = plan(&self.state);
        let wrong: Vec<&TaskId> =
            whole.keys().chain(followed.keys()).filter(|id| whole.get(*id) != followed.get(*id)).collect();
        assert!(wrong.is_empty(), "looking at touched resources must be enough: {wrong:?}");
    }

    fn check_shown(&self) {
        let keys: Vec<&ObjectKey> = self.state.object_keys().collect();
        assert_eq!(self.shown.keys().collect::<Vec<_>>(), keys, "every object that is there is shown");
        for key in keys {
            assert_eq!(
                project_object(&self.state, key).as_ref(),
                self.shown.get(key),
                "{key} is shown as it is"
            );
        }
    }

    fn check_limits(&self) {
        let plan = plan(&self.state);
        let jobs: Vec<(&ResourceName, &UpdateJob)> = plan
            .values()
            .filter_map(|task| match task {
                Task::Update { resource: name, job, .. } => Some((name, &**job)),
                _ => None,
            })
            .collect();
        assert!(jobs.len() <= 3, "at most three updates at once");
        let alone = |name: &ResourceName| matches!(name.as_str(), "a" | "c");
        if jobs.iter().any(|(name, _)| alone(name)) {
            assert_eq!(jobs.len(), 1, "one that must run alone does");
        }
    }

    fn take(&mut self, step: Step) {
        let names: Vec<ResourceName> = self.state.resource_names().cloned().collect();
        match step {
            Step::Save(which, file) => {
                if let Some(name) = names.get(which % names.len().max(1)) {
                    self.save(name, file);
                }
            }
            Step::Trigger(which) => {
                if let Some(name) = names.get(which % names.len().max(1)) {
                    self.event(Event::Requested {
                        request: Request::Trigger { resource: name.clone(), reason: TriggerReason::WEB },
                    });
                }
            }
            Step::Finish(which, good) => self.finish(which, good),
            Step::Switch(which, enable) => {
                if let Some(name) = names.get(which % names.len().max(1)).cloned() {
                    // Disabled: it restarts from scratch later, so its former saves do not count.
                    self.saved.remove(&name);
                    let (on, off) = if enable { (vec![name], vec![]) } else { (vec![], vec![name]) };
                    self.event(Event::Requested { request: Request::Switch { enable: on, disable: off } });
                }
            }
            Step::Cancel(which) => {
                if let Some(name) = names.get(which % names.len().max(1)).cloned() {
                    self.event(Event::Requested { request: Request::Cancel { resource: name } });
                }
            }
            Step::CleanUp => self.clean_up(),
            Step::Stage(which, deploys) => {
                let updates: Vec<(ResourceName, u64)> = self.updates().into_iter().collect();
                if let Some((resource, update)) = updates.get(which % updates.len().max(1)).cloned() {
                    let stage = if deploys { StageKind::Deploy } else { StageKind::Build };
                    self.begun.insert(update);
                    self.event(Event::StageBegan {
                        owner: Owner::Resource(resource),
                        update,
                        stage,
                        detail: String::new(),
                    });
                }
            }
            Step::Built(which, tag) => {
                let updates: Vec<(ResourceName, u64)> = self.updates().into_iter().collect();
                if let Some((resource, update)) = updates.get(which % updates.len().max(1)).cloned() {
                    let image = if tag % 2 == 0 { "w".into() } else { resource.as_str().into() };
                    self.event(Event::ImageBuilt { resource, update, image, reference: format!("it:{tag}") });
                }
            }
            Step::Wake => self.wake(),
            Step::Object(step) => {
                if let Some(event) = objects::event(&self.state, &step, self.time) {
                    // Disabled resources restart from scratch later, so their former saves do not count.
                    if matches!(step, ObjectStep::Put(..) | ObjectStep::Click(_)) {
                        self.saved.retain(|name, _| !matches!(name.as_str(), "a" | "w"));
                    }
                    self.event(event);
                }
            }
            Step::SetMode(which, manual) => {
                if let Some(name) = names.get(which % names.len().max(1)).cloned() {
                    let mode = if manual { TriggerMode::Manual } else { TriggerMode::Auto };
                    self.event(Event::Requested {
                        request: Request::SetTriggerMode { resources: vec![name], mode },
                    });
                }
            }
            Step::SaveTiltfile => {
                let paths = vec!["/p/Tiltfile".into()];
                let watch = WatchId::Tiltfile(ResourceName::tiltfile());
                self.event(FileChanges { watch, paths, existence: Default::default(), written: None }.into());
            }
            Step::Load(which, good) => self.load(which, good),
            Step::Connect => {
                if plan(&self.state).contains_key(&TaskId::Connect(ClusterName::default())) {
                    let info = lilt_model::cluster::ClusterInfo {
                        namespace: "default".into(),
                        ..Default::default()
                    };
                    self.event(Event::ClusterConnected {
                        cluster: ClusterName::default(),
                        info: Box::new(info),
                    });
                }
            }
            Step::Pod(which, pod, how) => self.pod(["w", "x"][which % 2], pod, how),
            Step::PodGone(pod) => self.event(Event::PodGone { pod: pod_ref(&format!("pod-{pod}")) }),
            Step::Sync(which, outcome) => self.sync(which, outcome),
            Step::ServeEnds => {
                let run = plan(&self.state).into_values().find_map(|task| match task {
                    Task::Command { owner: Owner::Resource(_), run, .. } => Some(run),
                    _ => None,
                });
                if let Some(run) = run {
                    let exit = lilt_engine::CommandExit::Code(0);
                    self.event(Event::CommandEnded { owner: Owner::Resource("d".into()), run, exit });
                }
            }
        }
    }

    /// The running update of a resource, if it waits for files of a command to be reported.
    fn update_that_will_read_files(&self, name: &ResourceName) -> Option<u64> {
        let Some(Task::Update { job, .. }) = plan(&self.state).remove(&TaskId::Update(name.clone())) else {
            return None;
        };
        let UpdateJob::Deploy(job) = &*job else { return None };
        let update = self.updates().get(name).copied();
        update.filter(|update| job.follows_command && !self.begun.contains(update))
    }

    fn save(&mut self, name: &ResourceName, file: u8) {
        let is_image = matches!(name.as_str(), "w" | "x");
        let (watch, path) = match (is_image, file) {
            (true, 0) => (WatchId::Image(name.clone(), name.as_str().into()), format!("/p/{name}/other")),
            (true, _) => {
                (WatchId::Image(name.clone(), name.as_str().into()), format!("/p/{name}/src/{file}"))
            }
            (false, _) => (WatchId::Local(name.clone()), format!("/p/{name}/{file}")),
        };
        if plan(&self.state).contains_key(&TaskId::Watch(watch.clone())) {
            self.saved.insert(name.clone(), self.time + 1);
            let will_read = self.update_that_will_read_files(name);
            self.event(
                FileChanges { watch, paths: vec![path.into()], existence: Default::default(), written: None }
                    .into(),
            );
            if will_read.is_some() && self.updates().get(name) == will_read.as_ref() {
                self.covered.insert(name.clone(), self.time);
            }
        }
    }

    /// It is so late, and what did not answer does again.
    fn wake(&mut self) {
        let outage = plan(&self.state).into_values().find_map(|spec| match spec {
            Task::Outage { id, .. } => Some(id),
            _ => None,
        });
        if let Some(outage) = outage {
            self.event(Event::OutageOver { outage });
        }
        if let Some(Task::Wake { at }) = plan(&self.state).remove(&TaskId::Wake) {
            self.time = self.time.max(at.0);
            self.event(Event::Woke);
        }
    }

    fn clean_up(&mut self) {
        let cleanup = plan(&self.state).into_keys().find_map(|id| match id {
            TaskId::Cleanup(cleanup) => Some(cleanup),
            _ => None,
        });
        if let Some(cleanup) = cleanup {
            self.event(Event::CleanedUp { cleanup });
        }
    }

    fn finish(&mut self, which: usize, good: bool) {
        let running: Vec<ResourceName> = plan(&self.state)
            .into_keys()
            .filter_map(|id| match id {
                TaskId::Update(name) => Some(name),
                _ => None,
            })
            .collect();
        if running.is_empty() {
            return;
        }
        let name = running[which % running.len()].clone();
        self.deployments += 1;
        let tag = format!("tag{}", self.deployments % 3);
        // The script's own helpers make the right answer for this kind of update.
        let script = Script { state: self.state.clone(), time: 0 };
        let update = script.update_of(name.as_str()).expect("it runs");
        let outcome = match (good, matches!(name.as_str(), "w" | "x")) {
            (false, true) if self.deployments.is_multiple_of(2) => {
                let failure =
                    Failure::environment("nobody answers").of_kind(lilt_model::Unreachable::DockerEngine);
                lilt_engine::UpdateOutcome::failed(failure)
            }
            (false, _) => lilt_engine::UpdateOutcome::failed(Failure::user("it broke")),
            (true, false) => lilt_engine::UpdateOutcome::success(),
            (true, true) => script.deployed_outcome(name.as_str(), &tag),
        };
        self.event(Event::UpdateEnded { resource: name, update, outcome: Box::new(outcome) });
    }

    fn load(&mut self, which: u8, good: bool) {
        let running = plan(&self.state).into_values().find_map(|spec| match spec {
            Task::Load { load, .. } => Some(load),
            _ => None,
        });
        let Some(load) = running else { return };
        let files = lilt_model::files::FileSet::new(vec!["/p/Tiltfile".into()], Vec::new());
        let project = lilt_model::project::Project { resources: project(which), ..Default::default() };
        let outcome = if good { Ok(Box::new(project)) } else { Err(Failure::user("syntax")) };
        self.event(Event::Loaded { load, files, contents: Default::default(), outcome });
        for name in ["a", "b", "c", "d", "w", "x"] {
            // Resources that a load removed and another restored start from scratch: their former saves do
            // not count.
            if self.state.resource_names().all(|known| known.as_str() != name) {
                self.saved.remove(name);
            }
        }
    }

    fn pod(&mut self, resource: &str, pod: u8, how: u8) {
        let tag = format!("tag{}", self.deployments % 3);
        let name = format!("pod-{pod}");
        let mut fact = running(resource, &name, &tag, &format!("c-{pod}-{}", self.time));
        match how {
            0 => {}
            1 => fact = starting(resource, &name, &tag),
            _ => {
                fact.phase = PodPhase::Failed;
                fact.ready = false;
                fact.status = "Error".into();
            }
        }
        self.event(Event::PodChanged { pod: Box::new(fact) });
    }

    fn sync(&mut self, which: usize, outcome: u8) {
        let jobs: Vec<(Owner, ContainerId, u64)> = plan(&self.state)
            .into_values()
            .filter_map(|task| match task {
                Task::Sync { owner, task, .. } => Some((owner, task.id, task.job?.update)),
                _ => None,
            })
            .collect();
        if jobs.is_empty() {
            return;
        }
        let (owner, container, update) = jobs[which % jobs.len()].clone();
        let outcome = match outcome {
            0 => Err(SyncFault::Step(Failure::user("run failed"))),
            1 => Err(SyncFault::Transport(Failure::user("no tar"))),
            2 => Err(SyncFault::Gone),
            _ => Ok(()),
        };
        self.event(Event::Synced { owner, update, container, outcome });
    }

    /// Lets everything that runs succeed until nothing runs.
    fn settle(&mut self) {
        for _ in 0..500 {
            let before = self.recorded.len();
            self.load(0, true);
            self.take(Step::Connect);
            self.sync(0, 3);
            self.clean_up();
            self.finish(0, true);
            if let Some(event) = settling(&self.state) {
                self.event(event);
            }
            if self.recorded.len() == before {
                return;
            }
        }
        panic!("it never comes to rest: {:#?}", plan(&self.state).keys());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    /// Limits, stable scheduling and incremental planning are checked after every event.
    #[test]
    fn invariants_hold_after_every_event(steps in steps()) {
        let mut world = World::new();
        for step in steps {
            world.take(step);
        }
        world.check_shown();
    }

    #[test]
    fn nothing_pending_is_lost(steps in steps()) {
        let mut world = World::new();
        world.load(0, true);
        world.take(Step::Connect);
        for step in steps {
            world.take(step);
        }
        world.settle();
        for (name, saved) in &world.saved {
            let held = world.state.hold(name).is_some();
            let covered = world.covered.get(name).copied().unwrap_or(0);
            prop_assert!(held || covered >= *saved, "{name}: saved at {saved}, last update began at {covered}");
        }
        check_settled(&world.state);
    }

    #[test]
    fn a_replay_gives_the_same_state(steps in steps()) {
        let mut world = World::new();
        for step in steps {
            world.take(step);
        }
        // As it would be written to a file and read again.
        let mut recorder = Recorder::default();
        let mut entries = vec![Entry::Session { options: options() }];
        for (at, event) in world.recorded.clone() {
            entries.extend([Entry::Event { at, fact: Box::new(event) }, Entry::Turn]);
        }
        let lines: Vec<String> = entries.into_iter().map(|entry| recorder.line(entry)).collect();
        let read = lines.iter().map(|line| serde_json::from_str(line).expect("a recording can be read"));
        let replayed = replay(read.collect::<Vec<Entry>>(), |_| {}).expect("and replayed");
        prop_assert_eq!(dump(&replayed), dump(&world.state));
        prop_assert!(replayed == world.state, "a replay must give the same state");
    }
}
