//! Whether a container needs the agent, and what for.

use lilt_model::image_facts::{Identity, SyncTarget};
use serde_json::Value;

use super::AgentOffer;

pub(super) enum Verdict {
    /// The image can do it alone.
    Alone,
    Agent {
        reason: String,
        plan: Plan,
        /// What is synced and can be changed nowhere.
        left_out: Vec<String>,
    },
    Impossible(String),
}

/// What the agent must do for a container.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// The container's own process.
    pub(super) argv: Vec<String>,
    /// Directories that are copied to where they can be written.
    pub(super) mounts: Vec<String>,
    /// Executables that are kept where they can be written.
    pub(super) kept: Vec<String>,
}

pub(super) fn decide(spec: &Value, container: &Value, offer: &AgentOffer) -> Verdict {
    let argv = argv(container, offer);
    let security = Security::of(spec, container, offer.facts.identity);
    let own_volume = |target: &&SyncTarget| !is_mounted(container, &target.directory);
    let closed: Vec<&SyncTarget> =
        offer.facts.targets.iter().filter(own_volume).filter(|target| !security.may_write(target)).collect();
    let Some(reason) = reason(offer, &security, &closed) else { return Verdict::Alone };
    if argv.is_empty() {
        return Verdict::Impossible("neither the image nor the manifest says what it runs".to_owned());
    }
    let (mut plan, mut left_out) = (Plan::default(), Vec::new());
    for target in &closed {
        match place(target, &argv) {
            Place::Kept(file) => plan.kept.push(file.to_owned()),
            Place::Mounted => plan.mounts.push(target.directory.clone()),
            Place::Nowhere => left_out.push(target.file.as_ref().unwrap_or(&target.directory).clone()),
        }
    }
    if let Some(what) = left_out.first()
        && left_out.len() == offer.facts.targets.len()
    {
        return Verdict::Impossible(nowhere(what));
    }
    plan.kept.dedup();
    plan.mounts.sort();
    // What lies below a directory that is copied comes with it; in this order it stands behind it.
    plan.mounts.dedup_by(|below, above| is_below(below, above));
    plan.argv = argv;
    Verdict::Agent { reason, plan, left_out }
}

pub(super) fn nowhere(what: &str) -> String {
    format!("nothing can be mounted where {what} lies, and the container's command does not name it")
}

/// The first thing that the image cannot do.
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
        false => format!("its user {} may not write to {}", security.identity.user, target.directory),
    })
}

enum Place<'a> {
    Mounted,
    Kept(&'a str),
    Nowhere,
}

/// Where others' programs lie, too: they are not copied for the sake of one.
const SHARED: [&str; 6] = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

fn place<'a>(target: &'a SyncTarget, argv: &'a [String]) -> Place<'a> {
    let kept = match &target.file {
        // What is started, or what a debugger is told to start.
        Some(file) if target.directory == "/" => argv.contains(file).then_some(file),
        Some(file) if SHARED.contains(&target.directory.as_str()) => {
            argv.first().filter(|program| *program == file)
        }
        // Of a whole root directory, one file can be changed.
        None if target.directory == "/" => argv.first().filter(|program| program.rfind('/') == Some(0)),
        // In another directory it may look for what it needs beside itself.
        _ => None,
    };
    match kept {
        Some(file) => Place::Kept(file),
        None if target.directory == "/" => Place::Nowhere,
        None => Place::Mounted,
    }
}

/// What the container starts, as Kubernetes puts it together.
fn argv(container: &Value, offer: &AgentOffer) -> Vec<String> {
    let words = |field: &str| {
        let words = container.get(field).and_then(Value::as_array)?;
        let words: Vec<String> = words.iter().filter_map(|word| Some(word.as_str()?.to_owned())).collect();
        (!words.is_empty()).then_some(words)
    };
    // In a manifest `$(NAME)` is a variable; what comes from the image is not a manifest.
    let literal = |words: &[String]| words.iter().map(|word| word.replace("$(", "$$(")).collect::<Vec<_>>();
    let (entrypoint, command) = (literal(&offer.facts.entrypoint), literal(&offer.facts.command));
    match (words("command"), words("args")) {
        (Some(command), args) => [command, args.unwrap_or_default()].concat(),
        (None, Some(args)) => [entrypoint, args].concat(),
        (None, None) => [entrypoint, command].concat(),
    }
}

/// As whom a container runs, and with which rights.
struct Security {
    identity: Identity,
    /// It may write whatever modes say.
    overrides: bool,
    read_only: bool,
}

impl Security {
    fn of(spec: &Value, container: &Value, image: Identity) -> Self {
        let own = &container["securityContext"];
        let said = |field: &str| own[field].as_u64().or_else(|| spec["securityContext"][field].as_u64());
        let user = said("runAsUser").unwrap_or(image.user);
        // Another user than the image's is in root's group, unless the image knows it.
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

/// Whether a path lies in a volume of the user's.
fn is_mounted(container: &Value, path: &str) -> bool {
    let mounts = container["volumeMounts"].as_array().into_iter().flatten();
    mounts.filter_map(|mount| mount["mountPath"].as_str()).any(|mount| is_below(path, mount))
}

/// Whether a path is another or lies below it.
fn is_below(path: &str, above: &str) -> bool {
    let above = above.trim_end_matches('/');
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
