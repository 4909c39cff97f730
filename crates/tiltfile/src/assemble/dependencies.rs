//! Checks that `resource_deps` name existing resources and have no cycles.

use std::collections::{HashMap, HashSet};

use lilt_model::resource::Resource;
use lilt_model::{Failure, ResourceName};

use super::Problems;
use crate::failure::SourceSpan;
use lilt_model::nearest::nearest;

#[derive(Debug, Default)]
pub(super) struct Dependencies {
    /// For each resource, in order: its dependencies and where they were declared.
    edges: Vec<(String, Vec<(String, SourceSpan)>)>,
}

impl Dependencies {
    pub(super) fn add(&mut self, resource: &str, needs: &[(String, SourceSpan)]) {
        if !needs.is_empty() {
            self.edges.push((resource.to_owned(), needs.to_vec()));
        }
    }

    /// Removes unknown dependencies and returns a warning for each, as Tilt does: Tiltfiles may name resources that only
    /// some users have.
    pub(super) fn check(&self, resources: &mut [Resource], problems: &mut Problems) -> Vec<String> {
        let known: HashSet<ResourceName> = resources.iter().map(|resource| resource.name.clone()).collect();
        let names: Vec<ResourceName> = resources.iter().map(|resource| resource.name.clone()).collect();
        let mut warnings = Vec::new();
        for (resource, needs) in &self.edges {
            for (name, span) in needs {
                if name == resource {
                    problems.add(span, Failure::user(format!("{resource} depends on itself")));
                } else if !known.contains(name.as_str()) {
                    warnings.push(unknown(resource, name, span, &names));
                }
            }
        }
        self.check_cycles(problems);
        if !warnings.is_empty() {
            for resource in resources {
                resource.resource_deps.retain(|name| known.contains(name));
            }
        }
        warnings
    }

    /// Depth first, without recursion: a chain may be as long as the Tiltfile has resources.
    fn check_cycles(&self, problems: &mut Problems) {
        let needs: HashMap<&str, &[(String, SourceSpan)]> =
            self.edges.iter().map(|(resource, needs)| (resource.as_str(), needs.as_slice())).collect();
        let mut done: HashSet<&str> = HashSet::new();
        for (start, _) in &self.edges {
            let mut path: Vec<(&str, usize)> = vec![(start, 0)];
            while let Some((resource, next)) = path.last_mut() {
                let current = *resource;
                let edge = needs.get(current).and_then(|needs| needs.get(*next));
                *next += 1;
                let Some((name, span)) = edge.filter(|_| !done.contains(current)) else {
                    done.insert(current);
                    path.pop();
                    continue;
                };
                if name == current {
                    continue;
                }
                match path.iter().position(|(other, _)| other == name) {
                    Some(first) => {
                        let round: Vec<&str> =
                            path[first..].iter().map(|(name, _)| *name).chain([name.as_str()]).collect();
                        let message =
                            format!("resources depend on each other in a circle: {}", round.join(" → "));
                        problems.add(span, Failure::user(message));
                    }
                    None => path.push((name, 0)),
                }
            }
        }
    }
}

fn unknown(resource: &str, name: &str, span: &SourceSpan, resources: &[ResourceName]) -> String {
    let location = span.location();
    let others = resources.iter().map(ResourceName::as_str).filter(|other| *other != resource);
    let hint = nearest(name, others).map(|near| format!(" Did you mean {near}?")).unwrap_or_default();
    format!(
        "{location}: resource {resource} specified a dependency on unknown resource {name} - dependency ignored.{hint}"
    )
}
