//! Files that the image lacks and that are deleted again are forgotten, and nothing else is.

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;

use lilt_engine::{Event, ImageJob, Owner, SyncFault, Task, TaskId, UpdateJob, plan};
use lilt_model::cluster::ContainerState;
use lilt_model::files::Existence;
use lilt_model::timeline::StageKind;
use lilt_model::{Failure, Timestamp};
use proptest::prelude::*;
use support::*;

fn path(name: &str) -> PathBuf {
    format!("/p/web/src/{name}").into()
}

fn session() -> Script {
    let mut script = Script::loaded(vec![workload("web")]);
    script.connect().deploy("web", "one").pod(running("web", "web-1", "one", "c1"));
    script
}

/// The names of the files that a container is given at this moment.
fn job(script: &Script, container: &str) -> Vec<String> {
    let task = plan(&script.state).into_values().find_map(|task| match task {
        Task::Sync { task, .. } if task.id.as_str() == container => Some(task),
        _ => None,
    });
    let paths = task.and_then(|task| task.job).map(|job| job.paths).unwrap_or_default();
    paths.iter().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
}

impl Step {
    /// Does this to the file `x`, and the container gets it.
    fn sync(&self, script: &mut Script) {
        match self {
            Step::Create(_) => script.create_file("web", "/p/web/src/x"),
            Step::Delete(_) => script.delete_file("web", "/p/web/src/x"),
            _ => script.save_image("web", "web", "/p/web/src/x"),
        };
        script.synced("web", "c1", Ok(()));
    }
}

/// What a container gets that replaces the one which got these changes of `x`, and another one of `y`.
fn replacement(script: &mut Script, tag: &str, changes: &[Step]) -> Vec<String> {
    for change in changes {
        change.sync(script);
    }
    script.save_image("web", "web", "/p/web/src/y").synced("web", "c1", Ok(()));
    script.pod(running("web", "web-1", tag, "c2"));
    job(script, "c2")
}

#[test]
fn replacement_gets_every_change_that_the_image_lacks() {
    use Step::{Create, Delete, Save};
    let get = |changes: &[Step]| replacement(&mut session(), "one", changes);
    assert_eq!(get(&[Create(0), Delete(0)]), ["y"]);
    assert_eq!(get(&[Create(0), Save(0), Delete(0)]), ["y"]);
    assert_eq!(get(&[Create(0), Delete(0), Create(0), Delete(0)]), ["y"]);
    assert_eq!(get(&[Create(0)]), ["x", "y"], "it is there");
    assert_eq!(get(&[Create(0), Delete(0), Create(0)]), ["x", "y"], "it is there again");
    assert_eq!(get(&[Delete(0)]), ["x", "y"], "the image has it");
    assert_eq!(get(&[Delete(0), Create(0), Delete(0)]), ["x", "y"], "the image has it");
    assert_eq!(get(&[Save(0), Delete(0)]), ["x", "y"], "renamed into place, perhaps of another");
}

/// A build may have read a file before that is reported.
#[test]
fn file_created_around_a_build_is_remembered() {
    let building = || {
        let mut script = session();
        script.trigger("web");
        let (resource, update) = ("web".into(), script.update_of("web").expect("it builds"));
        script.event(Event::StageBegan {
            owner: Owner::Resource(resource),
            update,
            stage: StageKind::Deploy,
            detail: String::new(),
        });
        script
    };
    let end = |script: &mut Script| {
        script.deploy("web", "two").pod(running("web", "web-1", "two", "c1"));
    };
    let changes = [Step::Create(0), Step::Delete(0)];

    let mut during = building();
    during.create_file("web", "/p/web/src/x");
    end(&mut during);
    during.synced("web", "c1", Ok(()));
    assert_eq!(replacement(&mut during, "two", &changes[1..]), ["x", "y"]);

    let mut late = building();
    let created_since = Some(Timestamp(late.time * 1_000_000));
    end(&mut late);
    let existence = Existence { created: vec![path("x")], created_since, ..Existence::default() };
    late.files_changed("web", vec![path("x")], existence).synced("web", "c1", Ok(()));
    assert_eq!(replacement(&mut late, "two", &changes[1..]), ["x", "y"]);

    let mut after = building();
    end(&mut after);
    assert_eq!(replacement(&mut after, "two", &changes), ["y"]);
}

/// Its files may lie in a volume that outlives it.
#[test]
fn stopped_container_gets_the_deletion_when_it_runs_again() {
    let mut script = session();
    script.pod(running("web", "web-2", "one", "d1"));
    script.create_file("web", "/p/web/src/x");
    script.synced("web", "c1", Ok(())).synced("web", "d1", Ok(()));
    let mut stopped = running("web", "web-2", "one", "d1");
    stopped.containers[0].state = ended();
    script.pod(stopped);
    script.delete_file("web", "/p/web/src/x").synced("web", "c1", Ok(()));
    script.pod(running("web", "web-2", "one", "d2"));
    assert_eq!(job(&script, "d2"), ["x"]);
    script.synced("web", "d2", Ok(()));
    script.pod(running("web", "web-1", "one", "c2"));
    assert_eq!(job(&script, "c2"), Vec::<String>::new(), "now it is forgotten");
}

fn ended() -> ContainerState {
    ContainerState::Terminated {
        exit_code: 1,
        reason: "Error".into(),
        message: String::new(),
        started: None,
        finished: Timestamp(1),
    }
}

/// Something that happens to a file, by its number, or to a pod.
#[derive(Clone, Debug)]
enum Step {
    Create(u8),
    /// Written, or replaced by another one.
    Save(u8),
    Delete(u8),
    Report,
    Build,
    ReadContext,
    EndBuild,
    /// A container answers; whether well.
    Sync(u8, bool),
    /// It ends, perhaps after it got what it is given.
    Stop(u8, bool),
    /// It runs again, perhaps with its files.
    Start(u8, bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u8..3).prop_map(Step::Create),
        2 => (0u8..3).prop_map(Step::Save),
        6 => (0u8..3).prop_map(Step::Delete),
        9 => Just(Step::Report),
        1 => Just(Step::Build),
        1 => Just(Step::ReadContext),
        1 => Just(Step::EndBuild),
        12 => (0u8..2, prop::bool::weighted(0.9)).prop_map(|(pod, good)| Step::Sync(pod, good)),
        1 => (0u8..2, any::<bool>()).prop_map(|(pod, gets)| Step::Stop(pod, gets)),
        3 => (0u8..2, any::<bool>()).prop_map(|(pod, keeps)| Step::Start(pod, keeps)),
    ]
}

/// Files with the number of what is in them.
type Files = BTreeMap<PathBuf, u32>;

#[derive(Debug)]
struct PodModel {
    container: String,
    is_running: bool,
    files: Files,
}

impl PodModel {
    fn name(&self) -> &str {
        self.container.split('/').next().unwrap_or_default()
    }
}

/// The files on the disk, in the image and in the containers.
struct World {
    script: Script,
    disk: Files,
    image: Files,
    pods: Vec<PodModel>,
    /// Changes that are not reported yet, and when each file was created that is new.
    unreported: BTreeMap<PathBuf, Option<i64>>,
    /// What this update has read.
    context: Option<(u64, Files)>,
    tag: String,
    count: u32,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            script: Script::loaded(vec![workload("web")]),
            disk: Files::new(),
            image: Files::new(),
            pods: Vec::new(),
            unreported: BTreeMap::new(),
            context: None,
            tag: String::new(),
            count: 0,
        };
        world.disk.insert(path("0"), 0);
        world.script.connect();
        world.take(Step::EndBuild);
        world
    }

    fn next(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Create(file) => {
                let path = path(&file.to_string());
                if !self.disk.contains_key(&path) {
                    self.script.time += 2;
                    self.unreported.entry(path.clone()).or_insert(Some(self.script.time));
                    let content = self.next();
                    self.disk.insert(path, content);
                }
            }
            Step::Save(file) => {
                let path = path(&file.to_string());
                self.unreported.entry(path.clone()).or_insert(None);
                let content = self.next();
                self.disk.insert(path, content);
            }
            Step::Delete(file) => {
                let path = path(&file.to_string());
                if self.disk.contains_key(&path) {
                    if self.unreported.get(&path).is_some_and(Option::is_some) {
                        self.report();
                    }
                    self.disk.remove(&path);
                    self.unreported.insert(path, None);
                }
            }
            Step::Report => self.report(),
            Step::Build => {
                self.script.trigger("web");
            }
            Step::ReadContext => {
                self.context = self.script.update_of("web").map(|update| (update, self.disk.clone()));
            }
            Step::EndBuild => self.end_build(),
            Step::Sync(pod, good) => self.sync(usize::from(pod), good),
            Step::Stop(pod, gets) => self.stop(usize::from(pod), gets),
            Step::Start(pod, keeps) => self.start(usize::from(pod), keeps),
        }
        let update = self.script.update_of("web");
        self.context.take_if(|(reader, _)| Some(*reader) != update);
    }

    fn report(&mut self) {
        let changes = std::mem::take(&mut self.unreported);
        if changes.is_empty() {
            return;
        }
        let is_there = |path: &&PathBuf| self.disk.contains_key(*path);
        let created = changes.iter().filter(|(_, created)| created.is_some()).map(|(path, _)| path);
        let existence = Existence {
            created: created.filter(is_there).cloned().collect(),
            created_since: changes.values().flatten().min().map(|at| Timestamp(at * 1_000_000)),
            deleted: changes.keys().filter(|path| !is_there(path)).cloned().collect(),
        };
        self.script.files_changed("web", changes.into_keys().collect(), existence);
    }

    /// Whether an update runs that is no live update, and whether it builds.
    fn update(&self) -> Option<bool> {
        let task = plan(&self.script.state).remove(&TaskId::Update("web".into()))?;
        let Task::Update { job, .. } = task else { return None };
        let UpdateJob::Deploy(job) = &*job else { return None };
        Some(job.images.iter().any(|image| matches!(image, ImageJob::Build(_))))
    }

    fn end_build(&mut self) {
        let Some(builds) = self.update() else { return };
        if builds {
            self.image = self.context.take().map_or_else(|| self.disk.clone(), |(_, files)| files);
            self.tag = self.next().to_string();
        }
        let tag = self.tag.clone();
        self.script.deploy("web", &tag);
        if builds {
            for pod in std::mem::take(&mut self.pods) {
                self.script.event(Event::PodGone { pod: pod_ref(pod.name()) });
            }
            for _ in 0..2 {
                let container = format!("web-{}/0", self.next());
                let files = self.image.clone();
                self.pods.push(PodModel { container, is_running: true, files });
                self.tell_pod(self.pods.len() - 1);
            }
        }
    }

    fn tell_pod(&mut self, which: usize) {
        let PodModel { container, is_running, .. } = &self.pods[which];
        let name = self.pods[which].name();
        let mut pod = running("web", name, &self.tag, container);
        if !is_running {
            pod.containers[0].state = ended();
        }
        self.script.pod(pod);
    }

    /// The files that a container is given are as they are on the disk now.
    fn apply_job(&mut self, which: usize) -> bool {
        let pod = &mut self.pods[which];
        let names = job(&self.script, &pod.container);
        for path in names.iter().map(|name| path(name)) {
            match self.disk.get(&path) {
                Some(content) => pod.files.insert(path, *content),
                None => pod.files.remove(&path),
            };
        }
        !names.is_empty()
    }

    fn sync(&mut self, which: usize, good: bool) {
        if which < self.pods.len() && self.apply_job(which) {
            let outcome = if good { Ok(()) } else { Err(SyncFault::Step(Failure::user("run failed"))) };
            let container = self.pods[which].container.clone();
            self.script.synced("web", &container, outcome);
        }
    }

    fn stop(&mut self, which: usize, gets: bool) {
        if self.pods.get(which).is_some_and(|pod| pod.is_running) {
            if gets {
                self.apply_job(which);
            }
            self.pods[which].is_running = false;
            self.tell_pod(which);
        }
    }

    fn start(&mut self, which: usize, keeps: bool) {
        if self.pods.get(which).is_some_and(|pod| !pod.is_running) {
            let number = self.next();
            let pod = &mut self.pods[which];
            let name = pod.name().to_owned();
            pod.container = format!("{name}/{number}");
            pod.is_running = true;
            if !keeps {
                pod.files = self.image.clone();
            }
            self.tell_pod(which);
        }
    }

    /// Everything is reported and brought where it belongs; the last save has containers try again what failed.
    fn settle(&mut self) {
        for round in 0..20 {
            if round < 2 {
                self.take(Step::Save(9));
            }
            self.take(Step::Report);
            for _ in 0..3 {
                self.take(Step::EndBuild);
                for pod in 0..2 {
                    self.take(Step::Start(pod, true));
                    self.take(Step::Sync(pod, true));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn containers_have_the_files_of_the_disk(steps in prop::collection::vec(step(), 1..80)) {
        let mut world = World::new();
        for step in steps {
            world.take(step);
        }
        world.settle();
        // One more that has nothing but the image, and then what it lacks.
        world.take(Step::Stop(0, false));
        world.take(Step::Start(0, false));
        world.settle();
        prop_assert_eq!(world.pods.len(), 2);
        for pod in &world.pods {
            prop_assert_eq!(&pod.files, &world.disk);
        }
    }
}
