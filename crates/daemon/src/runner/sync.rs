//! Copies changes into one container over a connection that stays open, so that a save costs no new exec.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lilt_cluster::{Changes, Cluster, Content, LiveChannel, Output, Put, Way};
use lilt_engine::{Event, SyncFault, SyncJob, SyncTask, TaskSpec};
use lilt_host::files::{Found, look_below};
use lilt_model::image::{LiveUpdate, RestartProcess, Run, Sync};
use lilt_model::log::Level;
use lilt_model::{Class, Failure, ResourceName};
use lilt_store::Span;
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use super::report;
use crate::context::Context;

/// A connection that breaks is made anew this often before the container counts as out of reach.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(250);
/// How long to wait for a cluster that does not answer at all: building anew would not help, and it may be back soon.
const PATIENCE: Duration = Duration::from_secs(30);

/// `object` is the `LiveUpdate` that asks for it; none: the resource does.
pub(crate) async fn run(
    context: Context,
    resource: ResourceName,
    object: Option<String>,
    mut spec: Receiver<TaskSpec>,
) {
    let Ok(cluster) = context.cluster() else { return };
    // Opened ahead, so that the first save is as quick as the others. A failure is told when there is work.
    let mut target = Target { cluster, channel: None };
    let cancel = context.cancel.clone();
    let serve = async {
        if let Some(task) = task(&mut spec) {
            let _ = target.channel(&task).await;
        }
        let mut done = 0;
        loop {
            if let Some(task) = task(&mut spec)
                && let Some(job) = task.job.as_ref().filter(|job| job.update != done)
            {
                done = job.update;
                let mut span = context.update_span(&resource, job.update);
                let outcome = update(&mut target, &task, job, &mut span).await;
                drop(span);
                let (update, container) = (job.update, task.id.clone());
                context
                    .tell(match object.clone() {
                        Some(name) => Event::ObjectSynced { name, run: update, container, outcome },
                        None => Event::Synced { resource: resource.clone(), update, container, outcome },
                    })
                    .await;
            } else if spec.changed().await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = serve => {}
        () = cancel.cancelled() => {}
    }
}

fn task(spec: &mut Receiver<TaskSpec>) -> Option<SyncTask> {
    match &*spec.borrow_and_update() {
        TaskSpec::Sync(task) => Some((**task).clone()),
        _ => None,
    }
}

struct Target {
    cluster: Cluster,
    channel: Option<LiveChannel>,
}

impl Target {
    async fn channel(&mut self, task: &SyncTask) -> Result<&mut LiveChannel, Failure> {
        let open = match self.channel.take() {
            Some(open) => open,
            None => {
                let way = if task.agent { Way::Agent } else { Way::Shell };
                LiveChannel::open(&self.cluster, &task.pod, &task.container, way).await?
            }
        };
        Ok(self.channel.insert(open))
    }
}

/// Brings one container up to date: all files, then the steps.
async fn update(
    target: &mut Target,
    task: &SyncTask,
    job: &SyncJob,
    span: &mut Span,
) -> Result<(), SyncFault> {
    if let Some(cause) = &job.cause {
        report::begin(span, cause);
    }
    let name = format!("{}/{}", task.pod.name, task.container);
    let result = bring(target, task, job, &name, span).await;
    match &result {
        Ok(()) => span.info(&format!("  → Container {name} updated!")),
        Err(SyncFault::Gone) => span.info(&format!("  → Container {name} is gone")),
        Err(SyncFault::Step(failure)) => {
            span.print(Level::Error, &format!("ERROR: Build Failed: {failure}"));
        }
        Err(SyncFault::Transport(failure)) => {
            span.print(Level::Warn, &format!("Failed to update container {name}: {failure}"));
        }
    }
    result
}

async fn bring(
    target: &mut Target,
    task: &SyncTask,
    job: &SyncJob,
    name: &str,
    span: &mut Span,
) -> Result<(), SyncFault> {
    let changed = Changed::read(&task.live_update, &job.paths).map_err(SyncFault::Transport)?;
    changed.tell(name, span);
    copy(target, task, &changed.changes).await.map_err(SyncFault::Transport)?;
    run_steps(target, task, job, span).await?;
    restart(target, task, job, span).await
}

async fn copy(target: &mut Target, task: &SyncTask, changes: &Changes) -> Result<(), Failure> {
    let mut attempt = 1;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let result = match target.channel(task).await {
            Ok(channel) => channel.update(changes).await,
            Err(failure) => Err(failure),
        };
        match result {
            Ok(()) => return Ok(()),
            // A lost connection heals; a container without tar does not.
            Err(failure) => {
                target.channel = None;
                let worth_it = failure.class == Class::Environment
                    && (attempt < ATTEMPTS
                        || (Instant::now() < deadline && target.cluster.probe().await.is_err()));
                if !worth_it {
                    return Err(failure);
                }
            }
        }
        attempt += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn run_steps(
    target: &mut Target,
    task: &SyncTask,
    job: &SyncJob,
    span: &mut Span,
) -> Result<(), SyncFault> {
    let due: Vec<&Run> =
        task.live_update.runs.iter().filter(|run| is_due(&run.triggers, &job.paths)).collect();
    for (index, run) in due.iter().enumerate() {
        if !run.echo_off {
            span.info(&format!("[CMD {}/{}] {}", index + 1, due.len(), run.argv.join(" ")));
        }
        let channel = target.channel(task).await.map_err(SyncFault::Transport)?;
        let output = |output: Output<'_>| match output {
            Output::Stdout(bytes) | Output::Stderr(bytes) => span.write(bytes),
        };
        match channel.run(&run.argv, output).await {
            Ok(0) => span.end_line(),
            Ok(code) => {
                let words = format!("run step {:?} failed: exit status {code}", run.argv.join(" "));
                return Err(SyncFault::Step(Failure::user(words)));
            }
            Err(failure) => {
                target.channel = None;
                return Err(SyncFault::Step(failure));
            }
        }
    }
    Ok(())
}

/// Starts the process anew, if that is asked for.
async fn restart(
    target: &mut Target,
    task: &SyncTask,
    job: &SyncJob,
    span: &mut Span,
) -> Result<(), SyncFault> {
    let restart = task.live_update.restart_process.as_ref();
    if !restart.is_some_and(|RestartProcess { triggers, .. }| is_due(triggers, &job.paths)) {
        return Ok(());
    }
    let channel = target.channel(task).await.map_err(SyncFault::Transport)?;
    let restarted = channel.restart().await;
    if let Err(failure) = restarted {
        target.channel = None;
        return Err(SyncFault::Transport(failure));
    }
    span.info("  → Process started anew");
    Ok(())
}

fn is_due(triggers: &[PathBuf], paths: &[PathBuf]) -> bool {
    triggers.is_empty() || paths.iter().any(|path| triggers.iter().any(|it| path.starts_with(it)))
}

/// What must happen in the container, and because of which files.
#[derive(Default)]
struct Changed {
    changes: Changes,
    copied: Vec<PathBuf>,
    removed: Vec<(PathBuf, String)>,
}

impl Changed {
    fn read(live_update: &LiveUpdate, paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut changed = Self::default();
        for path in paths {
            if let Some((sync, destination)) = destination(live_update, path) {
                changed.add(sync, path, destination)?;
            }
        }
        Ok(changed)
    }

    fn add(&mut self, sync: &Sync, path: &Path, mut destination: String) -> Result<(), Failure> {
        let found = look_below(&sync.local, path)
            .map_err(|error| Failure::environment(format!("cannot read {}: {error}", path.display())))?;
        let (modified, what) = match found {
            Found::Nothing => {
                self.removed.push((path.to_owned(), destination.clone()));
                self.changes.removals.push(destination);
                return Ok(());
            }
            Found::File { mode, modified, content } => {
                (modified, Content::File { mode, bytes: content.into() })
            }
            // Told of only if it took the place of something else: of another directory with other files, perhaps. What
            // is in it now is told of, too.
            Found::Directory { mode, modified } => {
                if path == sync.local {
                    destination.clone_from(&sync.container);
                }
                self.changes.removals.push(destination.clone());
                (modified, Content::Directory { mode })
            }
            Found::Link { target, modified } => {
                (modified, Content::Link { target: target.to_string_lossy().into_owned() })
            }
            Found::Other => return Ok(()),
        };
        self.copied.push(path.to_owned());
        self.changes.puts.push(Put { path: destination, modified, what });
        Ok(())
    }

    fn tell(&self, name: &str, span: &mut Span) {
        if !self.copied.is_empty() {
            span.info(&format!("Will copy {} file(s) to container: [{name}]", self.copied.len()));
            for (path, Put { path: destination, .. }) in self.copied.iter().zip(&self.changes.puts) {
                span.info(&format!("- '{}' --> '{destination}'", path.display()));
            }
        }
        if !self.removed.is_empty() {
            span.info(&format!("Will delete {} file(s) from container: [{name}]", self.removed.len()));
            for (path, destination) in &self.removed {
                span.info(&format!("- '{destination}' (matched local path: '{}')", path.display()));
            }
        }
    }
}

/// Where a file goes, and by which sync: the one with the longest local path decides.
fn destination<'a>(live_update: &'a LiveUpdate, path: &Path) -> Option<(&'a Sync, String)> {
    let matching = live_update.syncs.iter().filter(|sync| path.starts_with(&sync.local));
    let sync = matching.max_by_key(|sync| sync.local.components().count())?;
    let rest = path.strip_prefix(&sync.local).ok()?;
    let base = sync.container.trim_end_matches('/');
    let place = if !rest.as_os_str().is_empty() {
        format!("{base}/{}", rest.to_string_lossy())
    } else {
        // A single file: into a directory if the target says it is one.
        match (sync.container.ends_with('/'), path.file_name()) {
            (true, Some(name)) => format!("{base}/{}", name.to_string_lossy()),
            _ => sync.container.clone(),
        }
    };
    Some((sync, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(syncs: &[(&str, &str)], path: &str) -> Option<String> {
        let syncs = syncs
            .iter()
            .map(|(local, container)| Sync { local: local.into(), container: (*container).into() });
        let live_update = LiveUpdate { syncs: syncs.collect(), ..LiveUpdate::default() };
        destination(&live_update, Path::new(path)).map(|(_, place)| place)
    }

    #[test]
    fn files_go_below_the_target_of_the_nearest_sync() {
        let syncs = [
            ("/p", "/app"),
            ("/p/www", "/srv/www/"),
            ("/p/one.txt", "/etc/one.txt"),
            ("/p/two.txt", "/etc/"),
        ];
        assert_eq!(to(&syncs, "/p/a/b.py").as_deref(), Some("/app/a/b.py"));
        assert_eq!(to(&syncs, "/p/www/index.html").as_deref(), Some("/srv/www/index.html"));
        assert_eq!(to(&syncs, "/p/one.txt").as_deref(), Some("/etc/one.txt"));
        assert_eq!(to(&syncs, "/p/two.txt").as_deref(), Some("/etc/two.txt"));
        assert_eq!(to(&syncs, "/q/a"), None);
    }

    #[test]
    fn steps_with_triggers_run_only_for_their_files() {
        let triggers = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let changed = [PathBuf::from("/p/requirements.txt")];
        assert!(is_due(&triggers(&[]), &changed));
        assert!(is_due(&triggers(&["/p/requirements.txt"]), &changed));
        assert!(!is_due(&triggers(&["/p/require"]), &changed));
    }
}
