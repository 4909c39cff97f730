//! The order in which resources are deleted.

use std::collections::BTreeMap;

use lilt_model::ResourceName;
use lilt_model::resource::Resource;

/// Reverses the order of resources, and moves those that depend on others before them.
pub(super) fn dependents_first(resources: Vec<Resource>) -> Vec<Resource> {
    let mut dependents: BTreeMap<ResourceName, Vec<ResourceName>> = BTreeMap::new();
    let mut names: Vec<ResourceName> = Vec::new();
    for resource in resources.iter().rev() {
        names.push(resource.name.clone());
        for dependency in &resource.resource_deps {
            dependents.entry(dependency.clone()).or_default().push(resource.name.clone());
        }
    }
    let mut left: BTreeMap<ResourceName, Resource> =
        resources.into_iter().map(|resource| (resource.name.clone(), resource)).collect();
    let mut ordered = Vec::new();
    for name in &names {
        take(name, &dependents, &mut left, &mut ordered);
    }
    ordered
}

fn take(
    name: &ResourceName,
    dependents: &BTreeMap<ResourceName, Vec<ResourceName>>,
    left: &mut BTreeMap<ResourceName, Resource>,
    ordered: &mut Vec<Resource>,
) {
    let Some(resource) = left.remove(name) else { return };
    for dependent in dependents.get(name).into_iter().flatten() {
        take(dependent, dependents, left, ordered);
    }
    ordered.push(resource);
}

#[cfg(test)]
mod tests {
    use lilt_model::resource::{Body, LocalResource, TriggerMode};

    use super::*;

    fn resource(name: &str, deps: &[&str]) -> Resource {
        Resource {
            name: ResourceName::new(name),
            labels: Vec::new(),
            links: Vec::new(),
            resource_deps: deps.iter().copied().map(ResourceName::new).collect(),
            trigger_mode: TriggerMode::Auto,
            auto_init: true,
            cascade: false,
            body: Body::Local(LocalResource::default()),
        }
    }

    #[test]
    fn dependents_are_deleted_before_their_dependencies() {
        let resources = vec![
            resource("web", &["api"]),
            resource("db", &[]),
            resource("api", &["db"]),
            resource("docs", &[]),
        ];
        let ordered = dependents_first(resources);
        let names: Vec<&str> = ordered.iter().map(|resource| resource.name.as_str()).collect();
        assert_eq!(names, ["docs", "web", "api", "db"]);
    }
}
