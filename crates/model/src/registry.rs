//! Image registries, and what built images are called in them.
//!
//! The names follow Tilt's to the letter, since people's scripts and registries know them.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::names::ImageName;
use crate::reference::Reference;

/// Where images must be pushed so that the cluster finds them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registry {
    /// The host as this machine reaches it: `localhost:5000`.
    pub host: String,
    /// The host as the container runtime of the cluster reaches it, if that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_from_cluster: Option<String>,
    /// The host as pods reach it. Reported in the API only: no image is named by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_from_pods: Option<String>,
    /// Address of a page about the registry's setup, as the cluster announces it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
    /// The repository that all images are pushed to, distinguished by their tags, for registries that do not create
    /// repositories on push (ECR). Empty: each image has its own repository.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub single_name: String,
}

/// Returns the tag of a built image: `tilt-` and the first 16 digits of its id.
pub fn tag_from_id(id: &str) -> Result<String, Failure> {
    let digits = id.split_once(':').map_or(id, |(_, digits)| digits);
    match digits.get(..16) {
        Some(start) if start.bytes().all(|byte| byte.is_ascii_hexdigit()) => Ok(format!("tilt-{start}")),
        _ => Err(Failure::internal(format!("{id:?} is not an image id"))),
    }
}

/// Returns the name under which this machine pushes an image, without tag.
///
/// In a registry the original name has its characters `/ : @` replaced by `_`. Without a registry, or if the name is
/// in that registry already, it is the name itself.
pub fn reference_in_registry(name: &ImageName, registry: Option<&Registry>) -> Result<Reference, Failure> {
    reference_in_host(name, registry, registry.map(|registry| registry.host.as_str()))
}

/// Returns the tag under which an image is pushed to the registry.
///
/// If all images share one repository, the tag begins with the image's name.
pub fn tag_in_registry(name: &ImageName, registry: Option<&Registry>, tag: &str) -> Result<String, Failure> {
    let is_shared = registry.is_some_and(|registry| !registry.single_name.is_empty());
    if !is_shared {
        return Ok(tag.to_owned());
    }
    let familiar = Reference::parse(name.as_str())?.familiar_name();
    let last = familiar.rsplit('/').next().unwrap_or_default();
    Ok(format!("{}-{tag}", escape(last)))
}

/// Returns the name under which the cluster pulls the image that is pushed as [`reference_in_registry`].
pub fn reference_in_cluster(name: &ImageName, registry: Option<&Registry>) -> Result<Reference, Failure> {
    let host = registry.map(|registry| match &registry.host_from_cluster {
        Some(host) if !host.is_empty() => host.as_str(),
        _ => registry.host.as_str(),
    });
    reference_in_host(name, registry, host)
}

fn escape(name: &str) -> String {
    name.replace(['/', ':', '@'], "_")
}

fn reference_in_host(
    name: &ImageName,
    registry: Option<&Registry>,
    host: Option<&str>,
) -> Result<Reference, Failure> {
    let own = Reference::parse(name.as_str())?.without_tag();
    let familiar = own.familiar_name();
    let Some(host) = host.filter(|host| !host.is_empty()) else { return Ok(own) };
    if familiar.strip_prefix(host).is_some_and(|rest| rest.starts_with('/')) {
        return Ok(own);
    }
    let repository = match registry.map(|registry| registry.single_name.as_str()) {
        Some(single) if !single.is_empty() => single.to_owned(),
        _ => escape(&familiar),
    };
    let moved = format!("{host}/{repository}");
    Reference::parse(&moved).map_err(|error| {
        Failure::user(format!("the image {name} has no name in the registry {host}: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_registry_are_those_of_tilt() {
        let table = [
            ("myreg.com", "gcr.io/foo/bar:deadbeef", "myreg.com/gcr.io_foo_bar"),
            (
                "id.dkr.ecr.example.com/bar",
                "gcr.io/baz/foo/bar",
                "id.dkr.ecr.example.com/bar/gcr.io_baz_foo_bar",
            ),
            ("gcr.io/foo", "docker.io/library/busybox", "gcr.io/foo/busybox"),
            ("gcr.io/foo", "bar", "gcr.io/foo/bar"),
            ("myreg.com", "myreg.com/bar", "myreg.com/bar"),
            ("myreg.com:5000", "myreg.com:5000/bar", "myreg.com:5000/bar"),
            ("myreg.com:5000", "myreg.com/bar", "myreg.com:5000/myreg.com_bar"),
            ("myreg.com", "myreg.com:5000/bar", "myreg.com/myreg.com_5000_bar"),
            ("localhost:5000", "team/web:v1", "localhost:5000/team_web"),
        ];
        for (host, name, expected) in table {
            let registry = Registry { host: host.to_owned(), ..Registry::default() };
            let name = ImageName::from(name);
            assert_eq!(reference_in_registry(&name, Some(&registry)).unwrap().familiar(), expected);
            assert_eq!(reference_in_cluster(&name, Some(&registry)).unwrap().familiar(), expected);
        }
        assert_eq!(reference_in_registry(&"web:v1".into(), None).unwrap().familiar(), "web");
    }

    #[test]
    fn the_cluster_may_see_the_registry_elsewhere() {
        let registry = Registry {
            host: "localhost:1234".into(),
            host_from_cluster: Some("registry:1234".into()),
            ..Registry::default()
        };
        let name = ImageName::from("gcr.io/foo/bar");
        assert_eq!(
            reference_in_registry(&name, Some(&registry)).unwrap().familiar(),
            "localhost:1234/gcr.io_foo_bar"
        );
        assert_eq!(
            reference_in_cluster(&name, Some(&registry)).unwrap().familiar(),
            "registry:1234/gcr.io_foo_bar"
        );
    }

    #[test]
    fn one_repository_may_hold_all_images() {
        let registry =
            Registry { host: "ecr.io/team".into(), single_name: "dev".into(), ..Registry::default() };
        let name = ImageName::from("gcr.io/foo/bar:v1");
        let reference = reference_in_registry(&name, Some(&registry)).unwrap();
        let tag = tag_in_registry(&name, Some(&registry), "tilt-1").unwrap();
        assert_eq!(reference.with_tag(&tag).familiar(), "ecr.io/team/dev:bar-tilt-1");
        assert_eq!(tag_in_registry(&name, None, "tilt-1").unwrap(), "tilt-1");
    }

    #[test]
    fn tags_come_from_the_id() {
        let id = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        assert_eq!(tag_from_id(id).unwrap(), "tilt-0123456789abcdef");
        assert!(tag_from_id("sha256:12").is_err());
        let tagged = Reference::parse("localhost:5000/web").unwrap().with_tag(&tag_from_id(id).unwrap());
        assert_eq!(tagged.familiar(), "localhost:5000/web:tilt-0123456789abcdef");
    }
}
