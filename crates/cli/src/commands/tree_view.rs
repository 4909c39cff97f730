//! `lilt alpha tree-view`: the dependencies between resources.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use clap::Args;
use lilt_api::{RuntimeStatus, UIResource, UpdateStatus, annotation};
use lilt_client::{Connect, sessions};
use lilt_host::terminal;
use lilt_model::ResourceName;

/// Print the resources as a tree: under each one those that depend on it
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt alpha tree-view                 all resources
  lilt alpha tree-view --blockers      only what is not well, and what waits for it
  lilt alpha tree-view --dedupe        each branch once")]
pub(crate) struct TreeView {
    /// Only resources that are not well and depend on none that is not, with what depends on them
    #[arg(long)]
    blockers: bool,
    /// Print what hangs below a resource only once
    #[arg(long)]
    dedupe: bool,
    #[command(flatten)]
    connect: Connect,
}

pub(crate) async fn run(command: TreeView) -> anyhow::Result<ExitCode> {
    let client = sessions::choose(&command.connect)?;
    let resources: Vec<UIResource> = client.get_json("/api/resources").await?;
    terminal::write(text(&resources, &command, terminal::has_colours()).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn text(resources: &[UIResource], command: &TreeView, colours: bool) -> String {
    let graph = Graph::new(resources);
    let tiltfile = resources.iter().find(|it| ResourceName::new(&it.metadata.name).is_tiltfile());
    let tiltfile_failed = tiltfile.is_some_and(|it| Health::of(it) == Health::Error);
    let (title, roots) = if command.blockers {
        let blockers = graph.blockers();
        if blockers.is_empty() && tiltfile_failed {
            return "No blocked resources found, but the Tiltfile failed to load.\n".to_owned();
        }
        if blockers.is_empty() {
            return "No blocked resources found. All resources are OK.\n".to_owned();
        }
        ("Blocked resources (root blockers and their dependents):", blockers)
    } else {
        if graph.by_name.is_empty() {
            return "No resources found.\n".to_owned();
        }
        (if tiltfile_failed { "Tiltfile (load error)" } else { "Tiltfile" }, graph.roots())
    };
    let mut tree = Tree {
        graph: &graph,
        dedupe: command.dedupe,
        colours,
        expanded: BTreeSet::new(),
        out: format!("{title}\n"),
    };
    tree.children(&roots, "", None);
    let mut shown = BTreeSet::new();
    roots.iter().for_each(|root| graph.descend(root, &mut shown));
    tree.out.push_str(&graph.summary(&shown));
    tree.out
}

/// The health of a resource.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Ok,
    Pending,
    Building,
    Error,
}

impl Health {
    fn of(resource: &UIResource) -> Health {
        let status = &resource.status;
        match (status.update_status, status.runtime_status) {
            (UpdateStatus::Error, _) | (_, RuntimeStatus::Error) => Health::Error,
            (UpdateStatus::InProgress, _) => Health::Building,
            (UpdateStatus::Pending | UpdateStatus::None, _)
            | (_, RuntimeStatus::Pending | RuntimeStatus::Unknown | RuntimeStatus::None) => Health::Pending,
            _ => Health::Ok,
        }
    }

    fn colour(self) -> u8 {
        match self {
            Health::Ok => 32,
            Health::Pending | Health::Building => 33,
            Health::Error => 31,
        }
    }
}

/// Returns whether a resource fails or is in progress. A disabled or never started one is
/// not ok either, but does not count, because it waits for its user.
fn is_blocking(resource: &UIResource) -> bool {
    let (update, runtime) = (resource.status.update_status, resource.status.runtime_status);
    matches!(update, UpdateStatus::Pending | UpdateStatus::InProgress | UpdateStatus::Error)
        || matches!(runtime, RuntimeStatus::Pending | RuntimeStatus::Error | RuntimeStatus::Unknown)
}

/// Describes the statuses of a resource, in Tilt's words; only `disabled` is ours.
fn status_text(resource: &UIResource) -> &'static str {
    let status = &resource.status;
    if status.disable_status.as_ref().is_some_and(|it| it.state == "Disabled") {
        return "disabled";
    }
    match (status.update_status, status.runtime_status) {
        (UpdateStatus::Error, RuntimeStatus::Error) => "error",
        (UpdateStatus::Error, _) => "build error",
        (_, RuntimeStatus::Error) => "runtime error",
        (UpdateStatus::InProgress, _) => "building",
        (UpdateStatus::Pending, RuntimeStatus::Pending) => "pending",
        (UpdateStatus::Pending, _) => "build pending",
        (_, RuntimeStatus::Pending) => "starting",
        (_, RuntimeStatus::Unknown) => "unknown",
        (UpdateStatus::None, _) | (_, RuntimeStatus::None) => "not started",
        _ => "ok",
    }
}

struct Graph<'a> {
    by_name: BTreeMap<&'a str, &'a UIResource>,
    parents: BTreeMap<&'a str, Vec<String>>,
    children: BTreeMap<String, Vec<String>>,
}

impl<'a> Graph<'a> {
    fn new(resources: &'a [UIResource]) -> Graph<'a> {
        let is_resource = |it: &&UIResource| !ResourceName::new(&it.metadata.name).is_tiltfile();
        let resources = resources.iter().filter(is_resource);
        let by_name: BTreeMap<&str, &UIResource> =
            resources.map(|resource| (resource.metadata.name.as_str(), resource)).collect();
        let mut children: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut parents = BTreeMap::new();
        for (name, resource) in &by_name {
            let deps = resource.metadata.annotations.get(annotation::RESOURCE_DEPS);
            let deps: Vec<String> = deps.and_then(|deps| serde_json::from_str(deps).ok()).unwrap_or_default();
            let known: Vec<String> =
                deps.into_iter().filter(|dep| by_name.contains_key(dep.as_str())).collect();
            for dep in &known {
                children.entry(dep.clone()).or_default().push((*name).to_owned());
            }
            parents.insert(*name, known);
        }
        Graph { by_name, parents, children }
    }

    fn health(&self, name: &str) -> Health {
        self.by_name.get(name).map_or(Health::Ok, |resource| Health::of(resource))
    }

    fn status_text(&self, name: &str) -> &'static str {
        self.by_name.get(name).map_or("ok", |resource| status_text(resource))
    }

    fn parents(&self, name: &str) -> &[String] {
        self.parents.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    fn roots(&self) -> Vec<String> {
        let names = self.by_name.keys().filter(|name| self.parents(name).is_empty());
        names.map(|name| (*name).to_owned()).collect()
    }

    /// Returns the root blockers: resources that block others and are not blocked themselves, those with most dependents first.
    fn blockers(&self) -> Vec<String> {
        let is_blocking = |name: &str| self.by_name.get(name).is_some_and(|resource| is_blocking(resource));
        let names = self.by_name.keys().filter(|name| is_blocking(name));
        let roots = names.filter(|name| !self.parents(name).iter().any(|parent| is_blocking(parent)));
        let mut roots: Vec<String> = roots.map(|name| (*name).to_owned()).collect();
        roots.sort_by_cached_key(|root| {
            let mut below = BTreeSet::new();
            self.descend(root, &mut below);
            (usize::MAX - below.len(), root.clone())
        });
        roots
    }

    fn descend(&self, name: &str, seen: &mut BTreeSet<String>) {
        if seen.insert(name.to_owned()) {
            self.children.get(name).into_iter().flatten().for_each(|child| self.descend(child, seen));
        }
    }

    fn summary(&self, shown: &BTreeSet<String>) -> String {
        let count = |health: Health| shown.iter().filter(|name| self.health(name) == health).count();
        format!(
            "\n{} resources: {} ok, {} pending, {} building, {} error\n",
            shown.len(),
            count(Health::Ok),
            count(Health::Pending),
            count(Health::Building),
            count(Health::Error)
        )
    }
}

struct Tree<'a> {
    graph: &'a Graph<'a>,
    dedupe: bool,
    colours: bool,
    expanded: BTreeSet<String>,
    out: String,
}

impl Tree<'_> {
    fn children(&mut self, names: &[String], indent: &str, parent: Option<&str>) {
        for (at, name) in names.iter().enumerate() {
            let last = at + 1 == names.len();
            let (branch, below) = if last { ("└── ", "    ") } else { ("├── ", "│   ") };
            let again = !self.expanded.insert(name.clone());
            let also = if self.dedupe && again { self.also(name, parent) } else { String::new() };
            let words = self.painted(name, &format!("{name} ({})", self.graph.status_text(name)));
            self.out.push_str(&format!("{indent}{branch}{words}{also}\n"));
            if !(self.dedupe && again) {
                let children = self.graph.children.get(name).cloned().unwrap_or_default();
                self.children(&children, &format!("{indent}{below}"), Some(name));
            }
        }
    }

    fn also(&self, name: &str, parent: Option<&str>) -> String {
        let others = self.graph.parents(name).iter().filter(|other| Some(other.as_str()) != parent);
        let others: Vec<String> = others.map(|other| self.painted(other, other)).collect();
        if others.is_empty() { String::new() } else { format!(" [also depends on: {}]", others.join(", ")) }
    }

    fn painted(&self, name: &str, words: &str) -> String {
        if !self.colours {
            return words.to_owned();
        }
        format!("\x1b[{}m{words}\x1b[0m", self.graph.health(name).colour())
    }
}

#[cfg(test)]
mod tests {
    use lilt_api::{DisableResourceStatus, ObjectMeta, UIResourceStatus};

    use super::*;

    fn resource(name: &str, update_status: UpdateStatus) -> UIResource {
        UIResource::new(
            ObjectMeta { name: name.into(), ..ObjectMeta::default() },
            UIResourceStatus {
                update_status,
                runtime_status: RuntimeStatus::NotApplicable,
                ..UIResourceStatus::default()
            },
        )
    }

    #[test]
    fn failed_load_of_the_tiltfile_is_shown() {
        let view = |tiltfile: UpdateStatus, blockers: bool| {
            let resources = [resource("(Tiltfile)", tiltfile), resource("web", UpdateStatus::Ok)];
            text(&resources, &TreeView { blockers, dedupe: false, connect: Connect::default() }, false)
        };
        assert!(view(UpdateStatus::Ok, false).starts_with("Tiltfile\n"));
        assert!(view(UpdateStatus::Error, false).starts_with("Tiltfile (load error)\n└── web (ok)\n"));
        assert!(view(UpdateStatus::Ok, true).contains("All resources are OK"));
        assert!(!view(UpdateStatus::Error, true).contains("All resources are OK"));
    }

    #[test]
    fn resource_that_never_started_or_is_disabled_is_no_blocker() {
        let view = |resources: &[UIResource]| {
            text(resources, &TreeView { blockers: true, dedupe: false, connect: Connect::default() }, false)
        };
        let manual = resource("manual", UpdateStatus::None);
        let mut disabled = resource("disabled", UpdateStatus::None);
        disabled.status.runtime_status = RuntimeStatus::None;
        let web = resource("web", UpdateStatus::Ok);
        assert!(view(&[manual.clone(), disabled, web]).contains("All resources are OK"));
        let mut crashing = resource("crashing", UpdateStatus::Ok);
        crashing.status.runtime_status = RuntimeStatus::Error;
        let shown = view(&[manual, crashing, resource("building", UpdateStatus::InProgress)]);
        assert!(
            shown.contains("crashing (runtime error)") && shown.contains("building (building)"),
            "{shown}"
        );
        assert!(!shown.contains("manual"), "{shown}");
    }

    #[test]
    fn resource_that_never_started_is_not_ok() {
        let mut resource = resource("job", UpdateStatus::None);
        let is = |resource: &UIResource, text: &str, health: Health| {
            assert_eq!(status_text(resource), text);
            assert!(Health::of(resource) == health, "{text}");
        };
        is(&resource, "not started", Health::Pending);
        resource.status.runtime_status = RuntimeStatus::None;
        is(&resource, "not started", Health::Pending);
        resource.status.disable_status =
            Some(DisableResourceStatus { state: "Disabled".into(), ..DisableResourceStatus::default() });
        is(&resource, "disabled", Health::Pending);
        resource.status.disable_status = None;
        (resource.status.update_status, resource.status.runtime_status) =
            (UpdateStatus::Ok, RuntimeStatus::NotApplicable);
        is(&resource, "ok", Health::Ok);
        resource.status.runtime_status = RuntimeStatus::Error;
        is(&resource, "runtime error", Health::Error);
    }
}
