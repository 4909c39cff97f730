//! Evaluates the Tiltfile.

use lilt_api::ObjectKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lilt_engine::{Cause, Event};
use lilt_host::process::Guardian;
use lilt_model::command::Command;
use lilt_model::image::{DockerBuild, ImageBuild, ImageTarget};
use lilt_model::log::Level;
use lilt_model::project::Project;
use lilt_model::resource::{Body, Resource};
use lilt_model::secret::Secret;
use lilt_model::{Failure, ResourceName, Unreachable};
use lilt_store::Span;
use lilt_tiltfile::{LoadMessage, LoadRequest, Loaded};
use tokio::sync::watch;

use super::deploy::build_inputs;
use super::report;
use crate::context::Context;
use crate::host_system::HostSystem;
use crate::settings::Settings;

/// Between the first two attempts, and between two checks for free file descriptors.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(500);
/// A Tiltfile may run commands, which must not run twice a second.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// What to load.
#[derive(Clone)]
pub(crate) struct LoadJob {
    /// The name of the Tiltfile.
    pub(crate) name: ResourceName,
    pub(crate) load: u64,
    pub(crate) cause: Cause,
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<String>,
    /// Secrets of other Tiltfiles: they stay redacted.
    pub(crate) secrets: Vec<Secret>,
}

/// Loads the Tiltfile. Retries while this machine lacks the means: that says nothing about the Tiltfile.
pub(crate) async fn run(context: Context, job: LoadJob) {
    let mut pause = SHORTAGE_PAUSE;
    let mut is_first = true;
    while load(&context, job.clone(), is_first).await == Attempt::Shortage {
        is_first = false;
        // Whether there is enough memory and disk space is seen by the next attempt.
        let spare = async {
            tokio::time::sleep(pause).await;
            while !lilt_host::limits::has_spare_files() {
                tokio::time::sleep(SHORTAGE_PAUSE).await;
            }
        };
        tokio::select! {
            () = spare => {}
            () = context.cancel.cancelled() => return,
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// How an attempt to load ended.
#[derive(PartialEq, Eq)]
enum Attempt {
    /// Its result was sent, or it was cancelled.
    Done,
    /// This machine lacked files, processes, memory or disk space.
    Shortage,
}

/// Returns whether a load failed for lack of files, processes, memory or disk space, as far as that is known.
///
/// If a library worded the error, a lack of descriptors can only be detected while it lasts.
fn is_shortage(failure: &Failure) -> bool {
    failure.unreachable() == Some(&Unreachable::Machine) || !lilt_host::limits::has_spare_files()
}

async fn load(context: &Context, job: LoadJob, is_first: bool) -> Attempt {
    let LoadJob { name, load, cause, path, args, secrets } = job;
    let mut span = context.update_span(&name, load);
    if is_first {
        report::begin(&mut span, &cause);
        span.info(&format!("Loading Tiltfile at: {}", path.display()));
    }
    let begun = lilt_host::clock::now();
    let cancelled = Arc::new(AtomicBool::new(false));
    // The evaluation polls this flag. Dropping the future sets it, too.
    let guard = CancelOnDrop(Arc::clone(&cancelled));
    let settings = Arc::clone(&context.settings);
    let guardian = context.guardian.clone();
    // The latest progress replaces one that was not sent yet.
    let (reports, mut reported) = watch::channel(None);
    let mut evaluation = tokio::task::spawn_blocking(move || {
        let loaded = evaluate(&settings, path, args, &guardian, &cancelled, &mut |message| match message {
            LoadMessage::Line(line) => span.info(line),
            LoadMessage::Warning(_) => span.print(Level::Warn, &message.to_string()),
            LoadMessage::Progress(progress) => {
                span.info(&progress.to_string());
                reports.send_replace(Some(progress.clone()));
            }
        });
        (loaded, span)
    });
    let (loaded, mut span) = loop {
        tokio::select! {
            ended = &mut evaluation => match ended {
                Ok(ended) => break ended,
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            },
            Ok(()) = reported.changed() => {
                let progress = reported.borrow_and_update().clone();
                if let Some(progress) = progress {
                    let (activity, files) = (progress.activity(), progress.files);
                    context.send(Event::LoadIsSlow { load, activity, files }).await;
                }
            }
            () = context.cancel.cancelled() => {
                drop(guard);
                // Commands of the Tiltfile end with it. A stuck evaluation is abandoned at the end of the session.
                let _ = evaluation.await;
                return Attempt::Done;
            }
        }
    };
    drop(guard);
    if let Err(failure) = &loaded.project
        && is_shortage(failure)
    {
        if is_first {
            let condition = Unreachable::Machine.return_condition();
            let message = format!("WARNING: {failure}\nThe Tiltfile is loaded again when {condition}");
            span.print(Level::Warn, &message);
        }
        return Attempt::Shortage;
    }
    if let Ok(project) = &loaded.project {
        context.logs.set_secrets(project.secrets.iter().chain(&secrets));
    }
    print_result(&mut span, &loaded.project, lilt_host::clock::now().since(begun));
    drop(span);
    let outcome = loaded.project.map(Box::new);
    context.send(Event::Loaded { load, files: loaded.files, contents: loaded.contents, outcome }).await;
    Attempt::Done
}

/// Evaluates a Tiltfile with the settings of a session.
pub(crate) fn evaluate(
    settings: &Settings,
    path: PathBuf,
    args: Vec<String>,
    guardian: &Guardian,
    cancelled: &AtomicBool,
    print: &mut dyn FnMut(LoadMessage<'_>),
) -> Loaded {
    let request = LoadRequest {
        path,
        args,
        subcommand: settings.subcommand.to_owned(),
        variables: settings.environment.clone(),
        programs: settings.programs.clone(),
        ..LoadRequest::default()
    };
    let system = HostSystem::new(guardian.clone(), settings.kubeconfig.clone());
    let mut loaded =
        lilt_tiltfile::load(&request, &system, &|| cancelled.load(Ordering::Relaxed), &mut *print);
    if let Ok(project) = &mut loaded.project {
        // As in Tilt, commands use the session's cluster, even if the Tiltfile has set another KUBECONFIG.
        pin_context(settings, project, print);
        let is_frozen = |name: &str| settings.kubeconfig.written().is_some() && name == "KUBECONFIG";
        let set: Vec<_> = loaded.environment.iter().filter(|(name, _)| !is_frozen(name)).cloned().collect();
        pass_environment(&set, project);
        if settings.live_update.is_none() {
            drop_live_updates(project);
        }
        let unsupported = unsupported_objects(project);
        unsupported.iter().for_each(|warning| print(LoadMessage::Warning(warning)));
        project.warnings.extend(unsupported);
    }
    loaded
}

/// Pins the context for commands of a project that deploys, whatever kubeconfig selects later.
fn pin_context(settings: &Settings, project: &mut Project, print: &mut dyn FnMut(LoadMessage<'_>)) {
    let deploys = |resource: &Resource| matches!(resource.body, Body::Kubernetes(_));
    if !project.resources.iter().any(deploys) {
        return;
    }
    if let Err(failure) = settings.kubeconfig.ensure_written() {
        let warning = format!("commands find their own kubeconfig: {failure}");
        if !project.warnings.contains(&warning) {
            print(LoadMessage::Warning(&warning));
            project.warnings.push(warning);
        }
    }
}

/// Passes variables that the Tiltfile has set to the commands that it declares. Their own variables take precedence.
fn pass_environment(environment: &[(String, Option<String>)], project: &mut Project) {
    if let Some(telemetry) = &mut project.settings.telemetry {
        set_environment(environment, &mut telemetry.command);
    }
    for resource in &mut project.resources {
        for command in commands(&mut resource.body) {
            set_environment(environment, command);
        }
        for recipe in recipes(&mut resource.body) {
            let looked_at = build_inputs::names(recipe);
            recipe.variables =
                environment.iter().filter(|(name, _)| looked_at.contains(name)).cloned().collect();
        }
    }
}

fn recipes(body: &mut Body) -> impl Iterator<Item = &mut DockerBuild> {
    let images = match body {
        Body::Kubernetes(kubernetes) => kubernetes.images.as_mut_slice(),
        Body::Compose(compose) => compose.images.as_mut_slice(),
        Body::Local(_) => &mut [],
    };
    images.iter_mut().filter_map(|image| match &mut image.build {
        ImageBuild::Docker(recipe) => Some(recipe),
        _ => None,
    })
}

fn commands(body: &mut Body) -> Vec<&mut Command> {
    match body {
        Body::Local(local) => [&mut local.update, &mut local.serve].into_iter().flatten().collect(),
        Body::Kubernetes(kubernetes) => {
            let deploy = kubernetes.custom_deploy.as_mut();
            let deploy = deploy.into_iter().flat_map(|deploy| [&mut deploy.apply, &mut deploy.delete]);
            kubernetes.images.iter_mut().filter_map(build_command).chain(deploy).collect()
        }
        Body::Compose(compose) => compose.images.iter_mut().filter_map(build_command).collect(),
    }
}

fn build_command(image: &mut ImageTarget) -> Option<&mut Command> {
    match &mut image.build {
        ImageBuild::Custom(recipe) => Some(&mut recipe.command),
        _ => None,
    }
}

fn set_environment(environment: &[(String, Option<String>)], command: &mut Command) {
    let own = std::mem::take(&mut command.env);
    for (name, value) in environment {
        match value {
            _ if own.iter().any(|(known, _)| known == name) => {}
            Some(value) => command.env.push((name.clone(), value.clone())),
            None => command.unset.push(name.clone()),
        }
    }
    command.env.extend(own);
}

/// Removes the live updates of all images.
fn drop_live_updates(project: &mut Project) {
    for resource in &mut project.resources {
        let images = match &mut resource.body {
            Body::Kubernetes(kubernetes) => kubernetes.images.as_mut_slice(),
            Body::Compose(compose) => &mut compose.images,
            Body::Local(_) => &mut [],
        };
        images.iter_mut().for_each(|image| image.live_update = None);
    }
}

/// Returns a warning about API objects that lilt does not support yet.
fn unsupported_objects(project: &Project) -> Vec<String> {
    let objects = project.api_objects.iter().filter_map(|object| object["kind"].as_str());
    let idle = |kind: &&str| !ObjectKind::named(kind).is_some_and(lilt_engine::has_controller);
    let mut objects: Vec<&str> = objects.filter(idle).collect();
    objects.sort_unstable();
    objects.dedup();
    if objects.is_empty() {
        return Vec::new();
    }
    vec![format!("not supported yet: objects of v1alpha1 have no effect ({})", objects.join(", "))]
}

pub(super) struct CancelOnDrop(pub(super) Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn print_result(span: &mut Span, project: &Result<Project, Failure>, took: Duration) {
    match project {
        Ok(_) => span.info(&format!("Successfully loaded Tiltfile ({took:?})")),
        Err(failure) => span.print(Level::Error, &format!("ERROR: {failure}")),
    }
}

#[cfg(test)]
mod tests {
    use lilt_model::resource::{LocalResource, TriggerMode};

    use super::*;

    fn server(name: &str) -> Resource {
        Resource {
            name: ResourceName::new(name),
            labels: Vec::new(),
            links: Vec::new(),
            resource_deps: Vec::new(),
            trigger_mode: TriggerMode::Auto,
            auto_init: true,
            cascade: false,
            body: Body::Local(LocalResource {
                serve: Some(Command::shell("serve", "/")),
                ..LocalResource::default()
            }),
        }
    }

    #[test]
    fn load_that_lacked_descriptors_is_retried() {
        let error = std::io::Error::from_raw_os_error(24);
        let failure = Failure::environment(format!("cannot read x: {error}")).caused_by(&error);
        assert!(is_shortage(&failure));
        assert!(!is_shortage(&Failure::user("no such file")));
    }

    #[test]
    fn unsupported_api_objects_are_warned_of() {
        let api_objects = [
            "ToggleButton",
            "DockerComposeService",
            "DockerComposeService",
            "DockerImage",
            "PortForward",
            "Extension",
            "Cmd",
            "FileWatch",
            "UIButton",
            "ConfigMap",
        ]
        .map(|kind| serde_json::json!({"kind": kind}))
        .to_vec();
        let project = Project { resources: vec![server("a")], api_objects, ..Project::default() };
        let warnings = unsupported_objects(&project);
        assert_eq!(
            warnings,
            ["not supported yet: objects of v1alpha1 have no effect (DockerComposeService)"]
        );
        assert!(unsupported_objects(&Project::default()).is_empty());
    }

    #[test]
    fn variables_of_the_tiltfile_yield_to_those_of_a_command() {
        let mut command = Command::shell("run", "/");
        command.env = vec![("B".into(), "own".into())];
        let set = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        set_environment(&[set("A", Some("1")), set("B", Some("2")), set("C", None)], &mut command);
        assert_eq!(command.env, [("A".to_owned(), "1".to_owned()), ("B".to_owned(), "own".to_owned())]);
        assert_eq!(command.unset, ["C"]);
    }
}
