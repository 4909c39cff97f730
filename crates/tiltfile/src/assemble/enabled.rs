//! Selects the enabled resources: those that the Tiltfile or the command line names, with their dependencies.

use std::collections::{HashMap, HashSet};

use lilt_model::resource::Resource;
use lilt_model::{Failure, ResourceName};

use super::Problems;
use crate::configuration::{ConfigDeclarations, EnabledResources};
use lilt_model::nearest::nearest;

/// Returns the enabled resources; none: all. `arguments` are those after `--` on the command line.
pub(super) fn enabled(
    config: &ConfigDeclarations,
    arguments: &[String],
    resources: &[Resource],
    problems: &mut Problems,
) -> Option<Vec<ResourceName>> {
    let (named, span) = match &config.enabled_resources {
        EnabledResources::Nothing => return Some(Vec::new()),
        EnabledResources::Resources(names, span) => (names.as_slice(), Some(span)),
        // A Tiltfile that parses its arguments gives them their meaning.
        EnabledResources::Unspecified if config.parsed_in.is_some() => return None,
        EnabledResources::Unspecified => (arguments, None),
    };
    if named.is_empty() {
        return None;
    }
    let by_name: HashMap<&str, &Resource> =
        resources.iter().map(|resource| (resource.name.as_str(), resource)).collect();
    let unknown: Vec<&str> =
        named.iter().map(String::as_str).filter(|name| !by_name.contains_key(name)).collect();
    if !unknown.is_empty() {
        let failure = unknown_names(&unknown, resources);
        match span {
            Some(span) => problems.add(span, failure),
            None => problems.0.push(failure),
        }
        return None;
    }
    let mut wanted: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = named.iter().map(String::as_str).collect();
    while let Some(name) = open.pop() {
        if wanted.insert(name)
            && let Some(resource) = by_name.get(name)
        {
            open.extend(resource.resource_deps.iter().map(ResourceName::as_str));
        }
    }
    // Uncategorized objects are needed by all resources.
    let runs = |name: &str| wanted.contains(name) || name == ResourceName::UNCATEGORIZED;
    Some(resources.iter().map(|resource| resource.name.clone()).filter(|name| runs(name.as_str())).collect())
}

fn unknown_names(unknown: &[&str], resources: &[Resource]) -> Failure {
    let quoted = |names: &[&str]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let known: Vec<&str> = resources.iter().map(|resource| resource.name.as_str()).collect();
    let failure =
        Failure::user(format!("You specified some resources that could not be found: {}", quoted(unknown)));
    let failure = match known.as_slice() {
        [] => failure.detail("There are no resources in this Tiltfile."),
        known => failure.detail(format!("Existing resources in Tiltfile: {}", quoted(known))),
    };
    let near: Vec<&str> = unknown.iter().filter_map(|name| nearest(name, known.iter().copied())).collect();
    if near.is_empty() { failure } else { failure.hint(format!("did you mean {}?", near.join(", "))) }
}
