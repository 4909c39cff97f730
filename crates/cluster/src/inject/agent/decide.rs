//! Decides whether a container needs the agent, and for what.

use lilt_model::image::clean_container_path;
use lilt_model::image_facts::{Identity, SyncTarget};
use serde_json::Value;

use super::AgentOffer;
use super::volumes::{self, Volume};

pub(super) enum AgentDecision {
    /// The image supports live updates without it.
    NotNeeded(Vec<ExcludedTarget>),
    Needed {
        reason: String,
        plan: Plan,
        excluded: Vec<ExcludedTarget>,
    },
    Impossible(String),
}

/// A sync target that cannot be changed, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExcludedTarget {
    pub(super) what: String,
    pub(super) reason: String,
}

/// What the agent must do for a container.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// The container's own command.
    pub(super) argv: Vec<String>,
    /// Directories that are copied to a writable volume.
    pub(super) mounts: Vec<String>,
    /// Executables that are copied to a writable place.
    pub(super) kept: Vec<String>,
}

pub(super) fn decide(spec: &Value, container: &Value, offer: &AgentOffer) -> AgentDecision {
    let command = Command::of(container, offer);
    let security = Security::of(spec, container, offer.facts.identity);
    let (mut closed, mut excluded) = (Vec::new(), Vec::new());
    for target in &offer.facts.targets {
        match volumes::of(spec, container, target) {
            Volume::None if offer.is_unwritable || !security.may_write(target) => closed.push(target),
            Volume::None | Volume::Open => {}
            Volume::Closed(reason) => excluded.push(ExcludedTarget { what: what(target).to_owned(), reason }),
        }
    }
    let Some(reason) = reason(offer, &security, &closed) else { return AgentDecision::NotNeeded(excluded) };
    if command.words.is_empty() {
        return AgentDecision::Impossible("neither the image nor the manifest says what it runs".to_owned());
    }
    let mut plan = Plan::default();
    let mut part = Vec::new();
    for target in closed {
        match write_strategy(target, &command) {
            WriteStrategy::Keep(file) => {
                part.extend(target.file.is_none().then(|| all_but(&file)));
                plan.kept.push(file);
            }
            WriteStrategy::Mount => plan.mounts.push(target.directory.clone()),
            WriteStrategy::Impossible => {
                let what = what(target).to_owned();
                excluded.push(ExcludedTarget { reason: not_mountable(&what), what });
            }
        }
    }
    if excluded.len() == offer.facts.targets.len()
        && let Some(ExcludedTarget { reason, .. }) = excluded.first()
    {
        return AgentDecision::Impossible(reason.clone());
    }
    excluded.extend(part);
    plan.kept.dedup();
    plan.mounts.sort();
    // A directory is copied with its subdirectories, which sort right after it.
    plan.mounts.dedup_by(|below, above| is_below(below, above));
    plan.argv = command.words;
    AgentDecision::Needed { reason, plan, excluded }
}

fn what(target: &SyncTarget) -> &str {
    target.file.as_ref().unwrap_or(&target.directory)
}

fn not_mountable(what: &str) -> String {
    format!("nothing can be mounted where {what} lies, and the container's command does not name it")
}

/// Only the started program of a root directory can be changed.
fn all_but(file: &str) -> ExcludedTarget {
    let reason =
        format!("nothing can be mounted there; {file} can be changed because the container starts it");
    ExcludedTarget { what: format!("/ but for {file}"), reason }
}

/// Returns the first reason why the image needs the agent.
fn reason(offer: &AgentOffer, security: &Security, closed: &[&SyncTarget]) -> Option<String> {
    let facts = &offer.facts;
    if offer.restart.is_some() {
        return Some("its process is started anew in place".to_owned());
    }
    if !facts.has_shell {
        return Some("its image has no sh".to_owned());
    }
    if !facts.has_tar && !facts.targets.is_empty() {
        return Some("its image has no tar".to_owned());
    }
    let target = closed.first()?;
    Some(match security.read_only {
        true => "its root file system is read-only".to_owned(),
        false if security.may_write(target) => {
            format!("{} was closed to its user when it ran", target.directory)
        }
        false => format!("its user {} may not write to {}", security.identity.user, target.directory),
    })
}

enum WriteStrategy {
    Mount,
    Keep(String),
    Impossible,
}

/// Directories with other programs, which are not copied for the sake of one.
const SHARED: [&str; 6] = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

fn write_strategy(target: &SyncTarget, command: &Command) -> WriteStrategy {
    let kept = match &target.file {
        // The program itself, or one that a debugger gets as an argument.
        Some(file) if target.directory == "/" => command.names(file).then(|| file.clone()),
        Some(file) if SHARED.contains(&target.directory.as_str()) => {
            command.program().filter(|program| program == file)
        }
        // One file of a root directory can be changed.
        None if target.directory == "/" => command.program().filter(|it| it.rfind('/') == Some(0)),
        // In another directory, the program may expect other files beside itself.
        _ => None,
    };
    match kept {
        Some(file) => WriteStrategy::Keep(file),
        None if target.directory == "/" => WriteStrategy::Impossible,
        None => WriteStrategy::Mount,
    }
}

/// The command of a container and its working directory.
struct Command {
    words: Vec<String>,
    directory: String,
}

impl Command {
    /// Combines image and manifest as Kubernetes does.
    fn of(container: &Value, offer: &AgentOffer) -> Self {
        let directory = container["workingDir"].as_str().filter(|directory| !directory.is_empty());
        let directory = directory.unwrap_or(&offer.facts.working_directory).to_owned();
        Self { words: argv(container, offer), directory }
    }

    /// Returns the path of the started program; none if it is searched for in PATH.
    fn program(&self) -> Option<String> {
        self.words.first().filter(|program| program.contains('/')).map(|program| self.path(program))
    }

    /// Whether the command starts the file or has it as an argument.
    fn names(&self, file: &str) -> bool {
        let mut arguments = self.words.iter().skip(1).map(|word| self.path(word));
        self.program().is_some_and(|program| program == file) || arguments.any(|path| path == file)
    }

    fn path(&self, word: &str) -> String {
        clean_container_path(&match word.starts_with('/') {
            true => word.to_owned(),
            false => format!("/{}/{word}", self.directory),
        })
    }
}

fn argv(container: &Value, offer: &AgentOffer) -> Vec<String> {
    let words = |field: &str| {
        let words = container.get(field).and_then(Value::as_array)?;
        let words: Vec<String> = words.iter().filter_map(|word| Some(word.as_str()?.to_owned())).collect();
        (!words.is_empty()).then_some(words)
    };
    // `$(NAME)` is a variable in a manifest, but literal in an image.
    let literal = |words: &[String]| words.iter().map(|word| word.replace("$(", "$$(")).collect::<Vec<_>>();
    let (entrypoint, command) = (literal(&offer.facts.entrypoint), literal(&offer.facts.command));
    match (words("command"), words("args")) {
        (Some(command), args) => [command, args.unwrap_or_default()].concat(),
        (None, Some(args)) => [entrypoint, args].concat(),
        (None, None) => [entrypoint, command].concat(),
    }
}

/// The user and the capabilities of a container.
struct Security {
    identity: Identity,
    /// Whether it may write regardless of file modes.
    overrides: bool,
    read_only: bool,
}

impl Security {
    fn of(spec: &Value, container: &Value, image: Identity) -> Self {
        let own = &container["securityContext"];
        let said = |field: &str| own[field].as_u64().or_else(|| spec["securityContext"][field].as_u64());
        let user = said("runAsUser").unwrap_or(image.user);
        // Kubernetes puts a user that the image does not define into root's group.
        let group = said("runAsGroup").unwrap_or(if user == image.user { image.group } else { 0 });
        let names = |list: &str| {
            let names = own["capabilities"][list].as_array().into_iter().flatten();
            names.filter_map(Value::as_str).map(|name| name.trim_start_matches("CAP_").to_owned())
        };
        let all_or_this = |name: String| name == "ALL" || name == "DAC_OVERRIDE";
        let dropped = names("drop").any(all_or_this) && !names("add").any(all_or_this);
        Self {
            identity: Identity { user, group },
            overrides: user == 0 && (own["privileged"] == true || !dropped),
            read_only: own["readOnlyRootFilesystem"] == true,
        }
    }

    fn may_write(&self, target: &SyncTarget) -> bool {
        let all = || std::iter::once(&target.access).chain(&target.inner);
        !self.read_only && (self.overrides || all().all(|access| access.lets_write(self.identity)))
    }
}

/// Whether a path equals another or lies below it.
pub(super) fn is_below(path: &str, above: &str) -> bool {
    let above = above.trim_end_matches('/');
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
