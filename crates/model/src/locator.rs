//! Where objects of kinds that lilt does not know have images, as set with `k8s_kind` and `k8s_image_json_path`.

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json_path::{self, JsonPath, Match};
use crate::reference::Reference;

/// Selects objects. Each field is a regular expression that is searched in the object's field; empty matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ObjectSelector {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

impl ObjectSelector {
    /// Creates a selector from the user's expressions, ignoring case.
    pub fn partial(api_version: &str, kind: &str, name: &str, namespace: &str) -> Self {
        let loose = |part: &str| if part.is_empty() { String::new() } else { format!("(?i){part}") };
        Self {
            api_version: loose(api_version),
            kind: loose(kind),
            name: loose(name),
            namespace: loose(namespace),
        }
    }

    pub fn matcher(&self) -> Result<ObjectMatcher, String> {
        let compile = |what: &str, pattern: &str| {
            let words = |error: regex::Error| {
                let cause = error.to_string();
                let last = cause.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                let given = pattern.strip_prefix("(?i)").unwrap_or(pattern);
                format!("{given:?} for the {what} is no regular expression: {last}")
            };
            Regex::new(pattern).map_err(words)
        };
        Ok(ObjectMatcher {
            api_version: compile("API version", &self.api_version)?,
            kind: compile("kind", &self.kind)?,
            name: compile("name", &self.name)?,
            namespace: compile("namespace", &self.namespace)?,
        })
    }
}

/// A compiled [`ObjectSelector`].
#[derive(Clone, Debug)]
pub struct ObjectMatcher {
    api_version: Regex,
    kind: Regex,
    name: Regex,
    namespace: Regex,
}

impl ObjectMatcher {
    pub fn matches(&self, object: &Value) -> bool {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let namespace = match text("/metadata/namespace") {
            "" => "default",
            named => named,
        };
        self.kind.is_match(text("/kind"))
            && self.api_version.is_match(text("/apiVersion"))
            && self.name.is_match(text("/metadata/name"))
            && self.namespace.is_match(namespace)
    }
}

/// Where the objects that a selector matches have images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageLocator {
    pub selector: ObjectSelector,
    /// JSONPath of the image's reference, or of an object with its parts.
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ImageObject>,
}

/// The fields of an object that has the name and the tag of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageObject {
    pub repo_field: String,
    pub tag_field: String,
}

impl ImageLocator {
    /// Returns the images of an object; none if the selector does not match.
    pub fn images(&self, matcher: &ObjectMatcher, object: &Value) -> Result<Vec<Reference>, String> {
        if !matcher.matches(object) {
            return Ok(Vec::new());
        }
        let value = |found| match found {
            Match::At(path) => json_path::at(object, &path).cloned().unwrap_or(Value::Null),
            // As in Tilt, the text itself is the image's name.
            Match::Literal(literal) => literal,
        };
        self.find(object)?.into_iter().map(|found| self.read(&value(found))).collect()
    }

    /// Replaces the images for which `is_ours` holds by `deployed`. Returns whether there were any.
    pub fn inject(
        &self,
        matcher: &ObjectMatcher,
        object: &mut Value,
        is_ours: impl Fn(&Reference) -> bool,
        deployed: &Reference,
        pull_policy: &str,
    ) -> Result<bool, String> {
        if !matcher.matches(object) {
            return Ok(false);
        }
        let mut done = false;
        for found in self.find(object)? {
            let Match::At(path) = found else { continue };
            let Some(value) = json_path::at_mut(object, &path) else { continue };
            if !self.read(value).is_ok_and(|reference| is_ours(&reference)) {
                continue;
            }
            done = true;
            match &self.object {
                Some(fields) => {
                    value[&fields.repo_field] = deployed.familiar_name().into();
                    if let Some(tag) = deployed.tag() {
                        value[&fields.tag_field] = tag.into();
                    }
                }
                None => {
                    *value = deployed.familiar().into();
                    let parent = path.split_last().and_then(|(_, parent)| json_path::at_mut(object, parent));
                    if let Some(policy) = parent.and_then(|parent| parent.get_mut("imagePullPolicy")) {
                        *policy = pull_policy.into();
                    }
                }
            }
        }
        Ok(done)
    }

    fn find(&self, object: &Value) -> Result<Vec<Match>, String> {
        let found = JsonPath::parse(&self.path).and_then(|path| path.find(object));
        found.map_err(|problem| format!("the path {} does not fit: {problem}", self.path))
    }

    fn read(&self, value: &Value) -> Result<Reference, String> {
        let text = match (&self.object, value) {
            (None, Value::String(text)) => text.clone(),
            (None, other) => {
                return Err(format!("at the path {} must be a string, not {other}", self.path));
            }
            (Some(fields), Value::Object(parts)) => {
                let part = |name: &str| parts.get(name).and_then(Value::as_str).unwrap_or_default();
                match part(&fields.tag_field) {
                    "" => part(&fields.repo_field).to_owned(),
                    tag => format!("{}:{tag}", part(&fields.repo_field)),
                }
            }
            (Some(_), other) => {
                return Err(format!("at the path {} must be an object, not {other}", self.path));
            }
        };
        Reference::parse(&text).map_err(|error| format!("at the path {}: {error}", self.path))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn partial_selectors_ignore_case() {
        let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "Tick"}});
        let matches = |version, kind, name, namespace| {
            ObjectSelector::partial(version, kind, name, namespace).matcher().unwrap().matches(&object)
        };
        assert!(matches("", "", "", ""));
        assert!(matches("batch/v1", "job", "^tick$", "default"));
        assert!(!matches("", "^job", "", ""));
        assert!(!matches("", "", "", "prod"));
        assert!(ObjectSelector::partial("", "(", "", "").matcher().is_err());
    }

    #[test]
    fn images_are_read_and_replaced() {
        let mut object = json!({"apiVersion": "x/v1", "kind": "UselessMachine", "metadata": {"name": "u"},
            "spec": {"image": "web:v1", "imagePullPolicy": "Always", "parts": {"repo": "api", "tag": "v2"}}});
        let selector = ObjectSelector::partial("", "UselessMachine", "", "");
        let matcher = selector.matcher().unwrap();
        let plain = ImageLocator { selector: selector.clone(), path: "{.spec.image}".into(), object: None };
        let parts = ImageObject { repo_field: "repo".into(), tag_field: "tag".into() };
        let split = ImageLocator { selector, path: "{.spec.parts}".into(), object: Some(parts) };
        let names = |locator: &ImageLocator, object: &Value| -> Vec<String> {
            locator.images(&matcher, object).unwrap().iter().map(Reference::familiar).collect()
        };
        assert_eq!(names(&plain, &object), ["web:v1"]);
        assert_eq!(names(&split, &object), ["api:v2"]);
        let deployed = Reference::parse("localhost:5000/new:tilt-1").unwrap();
        for locator in [&plain, &split] {
            assert!(locator.inject(&matcher, &mut object, |_| true, &deployed, "IfNotPresent").unwrap());
            assert!(!locator.inject(&matcher, &mut object, |_| false, &deployed, "IfNotPresent").unwrap());
        }
        assert_eq!(
            object["spec"],
            json!({"image": "localhost:5000/new:tilt-1", "imagePullPolicy": "IfNotPresent",
                "parts": {"repo": "localhost:5000/new", "tag": "tilt-1"}})
        );
        let other = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "u"}});
        assert_eq!(plain.images(&matcher, &other), Ok(vec![]));
        let wrong = json!({"apiVersion": "x/v1", "kind": "UselessMachine", "spec": {"image": 3}});
        assert!(plain.images(&matcher, &wrong).unwrap_err().contains("must be a string"));
    }

    #[test]
    fn path_without_braces_is_the_image_name_itself() {
        let mut object = json!({"apiVersion": "x/v1", "kind": "Machine", "spec": {"image": "web"}});
        let before = object.clone();
        let selector = ObjectSelector::partial("", "Machine", "", "");
        let matcher = selector.matcher().unwrap();
        let locator =
            |path: &str| ImageLocator { selector: selector.clone(), path: path.into(), object: None };
        let images = locator("spec.image").images(&matcher, &object).unwrap();
        assert_eq!(images[0].familiar(), "spec.image");
        let deployed = Reference::parse("web:1").unwrap();
        assert_eq!(locator("spec.image").inject(&matcher, &mut object, |_| true, &deployed, ""), Ok(false));
        assert_eq!(object, before);
        assert!(locator(".spec.image").images(&matcher, &object).is_err());
    }
}
