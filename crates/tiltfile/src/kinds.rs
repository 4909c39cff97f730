//! Kinds of objects: which are workloads, where their images are, and when they are ready.
//!
//! Kubernetes' own kinds need no entry for their images; `k8s_kind` and `k8s_image_json_path` add the user's.

use std::cell::OnceCell;

use lilt_model::kubernetes::PodReadiness;
use lilt_model::locator::{ImageLocator, ImageObject, ObjectMatcher, ObjectSelector};
use lilt_model::reference::Reference;
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct ObjectKinds(Vec<Kind>);

#[derive(Debug)]
struct Kind {
    selector: ObjectSelector,
    /// Compiled on first use: most Tiltfiles need few, and compiling regular expressions takes long.
    matcher: OnceCell<ObjectMatcher>,
    locators: Vec<ImageLocator>,
    readiness: Option<PodReadiness>,
}

/// Where images are: paths to references, or one path to objects that hold their parts.
#[derive(Debug)]
pub(crate) enum ImageLocations {
    Paths(Vec<String>),
    Object { path: String, fields: ImageObject },
}

impl Default for ObjectKinds {
    fn default() -> Self {
        let known = |kind, readiness| {
            let selector = ObjectSelector::partial("batch/v1", kind, "", "");
            Kind { selector, matcher: OnceCell::new(), locators: Vec::new(), readiness: Some(readiness) }
        };
        Self(vec![known("Job", PodReadiness::Succeeded), known("CronJob", PodReadiness::Ignore)])
    }
}

impl Kind {
    fn matcher(&self) -> &ObjectMatcher {
        let make = || self.selector.matcher().expect("invariant: those of users were made at once");
        self.matcher.get_or_init(make)
    }

    fn matches(&self, object: &Value) -> bool {
        self.matcher().matches(object)
    }
}

impl ObjectKinds {
    /// Adds a definition for the objects that a selector matches. A later one for the same selector overrides an earlier one.
    pub(crate) fn define(
        &mut self,
        selector: &ObjectSelector,
        locations: Option<ImageLocations>,
        readiness: Option<PodReadiness>,
    ) -> Result<(), String> {
        let locators = locations.map(|locations| locators(selector, locations));
        let index = match self.0.iter().position(|kind| kind.selector == *selector) {
            Some(index) => index,
            None => {
                let matcher = selector.matcher()?.into();
                let selector = selector.clone();
                self.0.push(Kind { selector, matcher, locators: Vec::new(), readiness: None });
                self.0.len() - 1
            }
        };
        let kind = &mut self.0[index];
        if let Some(locators) = locators {
            kind.locators = locators;
        }
        kind.readiness = readiness.or(kind.readiness);
        Ok(())
    }

    /// Whether objects of this kind are workloads, with or without images.
    pub(crate) fn contains(&self, object: &Value) -> bool {
        self.0.iter().any(|kind| kind.matches(object))
    }

    pub(crate) fn images(&self, object: &Value) -> Result<Vec<Reference>, String> {
        let mut images = Vec::new();
        for kind in &self.0 {
            for locator in &kind.locators {
                images.extend(locator.images(kind.matcher(), object)?);
            }
        }
        Ok(images)
    }

    /// Returns the locators that apply to one of these objects.
    pub(crate) fn locators_for<'o>(
        &self,
        objects: impl Iterator<Item = &'o Value> + Clone,
    ) -> Vec<ImageLocator> {
        let kinds = self.0.iter().filter(|kind| !kind.locators.is_empty());
        let useful = kinds.filter(|kind| objects.clone().any(|object| kind.matches(object)));
        useful.flat_map(|kind| kind.locators.iter().cloned()).collect()
    }

    /// Returns the pod readiness of the kinds of these objects.
    pub(crate) fn readiness<'o>(&self, objects: impl Iterator<Item = &'o Value>) -> Option<PodReadiness> {
        let said: Vec<PodReadiness> = objects
            .flat_map(|object| self.0.iter().filter(|kind| kind.matches(object)))
            .filter_map(|kind| kind.readiness)
            .collect();
        [PodReadiness::Wait, PodReadiness::Ignore, PodReadiness::Succeeded]
            .into_iter()
            .find(|mode| said.contains(mode))
    }
}

fn locators(selector: &ObjectSelector, locations: ImageLocations) -> Vec<ImageLocator> {
    let locator = |path, object| ImageLocator { selector: selector.clone(), path, object };
    match locations {
        ImageLocations::Paths(paths) => paths.into_iter().map(|path| locator(path, None)).collect(),
        ImageLocations::Object { path, fields } => vec![locator(path, Some(fields))],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn jobs_wait_for_success_and_cron_jobs_are_ignored() {
        let kinds = ObjectKinds::default();
        let object = |version: &str, kind: &str| json!({"apiVersion": version, "kind": kind});
        let readiness = |version, kind| kinds.readiness([object(version, kind)].iter());
        assert_eq!(readiness("batch/v1", "Job"), Some(PodReadiness::Succeeded));
        assert_eq!(readiness("batch/v1beta1", "CronJob"), Some(PodReadiness::Ignore));
        assert_eq!(readiness("batch.example.com/v1", "Job"), None);
        assert!(kinds.contains(&object("batch/v1", "Job")) && !kinds.contains(&object("v1", "Pod")));
    }

    #[test]
    fn last_kind_definition_wins() {
        let mut kinds = ObjectKinds::default();
        let selector = ObjectSelector::partial("", "Machine", "", "");
        let paths = |path: &str| Some(ImageLocations::Paths(vec![path.to_owned()]));
        kinds.define(&selector, paths("{.spec.old}"), Some(PodReadiness::Ignore)).unwrap();
        kinds.define(&selector, paths("{.spec.image}"), None).unwrap();
        let object = json!({"apiVersion": "x/v1", "kind": "Machine", "spec": {"image": "web"}});
        assert_eq!(kinds.images(&object).unwrap().len(), 1);
        assert_eq!(kinds.locators_for([&object].into_iter()).len(), 1);
        assert_eq!(kinds.readiness([&object].into_iter()), Some(PodReadiness::Ignore));
        assert!(kinds.define(&ObjectSelector::partial("", "(", "", ""), None, None).is_err());
    }
}
