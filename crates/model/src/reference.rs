//! Image references by Docker's rules: `web`, `gcr.io/team/web:v1`, `localhost:5000/x@sha256:…`.
//!
//! Pure. The names that lilt gives to what it builds follow Tilt's to the letter, since people's scripts and
//! registries know them.

use crate::cluster::Registry;
use crate::failure::Failure;
use crate::names::ImageName;

const DOCKER_HUB: &str = "docker.io";
const OFFICIAL: &str = "library/";
/// Registries take no longer ones.
const LONGEST_PATH: usize = 255;

/// A reference in its full form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    domain: String,
    path: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl Reference {
    /// Parses a name as people write it; what is left out is filled in (`web` is `docker.io/library/web`).
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let invalid = |why: &str| {
            Failure::user(format!("{text:?} is not an image reference: {why}"))
                .hint("an image is named like web, team/web:v1 or registry.example.com/team/web")
        };
        if text.is_empty() {
            return Err(invalid("it is empty"));
        }
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
        {
            return Err(invalid("it is an image id"));
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) if is_digest(digest) => (rest, Some(digest.to_owned())),
            Some(_) => return Err(invalid("what follows @ is no digest")),
            None => (text, None),
        };
        let (domain, remainder) = split_domain(rest);
        let (path, tag) = match remainder.rsplit_once(':') {
            Some((path, tag)) if is_tag(tag) => (path, Some(tag.to_owned())),
            Some(_) => return Err(invalid("what follows the last : is no tag")),
            None => (remainder.as_str(), None),
        };
        if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(invalid("the name must be lower case"));
        }
        if !is_domain(&domain) {
            return Err(invalid("the registry's host is malformed"));
        }
        if path.len() > LONGEST_PATH {
            return Err(invalid("the name is longer than 255 characters"));
        }
        if !path.split('/').all(is_path_component) {
            return Err(invalid(
                "the name may have lower-case letters, digits and single separators . _ - between them",
            ));
        }
        Ok(Self { domain, path: path.to_owned(), tag, digest })
    }

    /// The registry's host: `docker.io`, `localhost:5000`.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The repository in the registry: `library/web`.
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Host and path in full, without tag and digest: `docker.io/library/web`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.domain, self.path)
    }

    /// As people write it, without tag and digest: `web`.
    pub fn familiar_name(&self) -> String {
        if self.domain != DOCKER_HUB {
            return self.name();
        }
        match self.path.strip_prefix(OFFICIAL) {
            Some(short) if !short.contains('/') => short.to_owned(),
            _ => self.path.clone(),
        }
    }

    /// As people write it, with tag and digest.
    pub fn familiar(&self) -> String {
        format!("{}{}", self.familiar_name(), self.suffix())
    }

    #[must_use]
    pub fn with_tag(mut self, tag: &str) -> Self {
        self.tag = Some(tag.to_owned());
        self.digest = None;
        self
    }

    /// Whether an image declared by this reference is the one that `used` names: with a tag, exactly that one; without,
    /// any tag of the name.
    pub fn matches(&self, used: &Reference) -> bool {
        match self.tag {
            Some(_) => self == used,
            None => self.domain == used.domain && self.path == used.path,
        }
    }

    fn suffix(&self) -> String {
        let tag = self.tag.as_ref().map(|tag| format!(":{tag}")).unwrap_or_default();
        let digest = self.digest.as_ref().map(|digest| format!("@{digest}")).unwrap_or_default();
        format!("{tag}{digest}")
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}{}", self.domain, self.path, self.suffix())
    }
}

/// The tag of a built image, from its content: `tilt-` and the first 16 digits of its id.
pub fn tag_from_id(id: &str) -> Result<String, Failure> {
    let digits = id.split_once(':').map_or(id, |(_, digits)| digits);
    match digits.get(..16) {
        Some(start) if start.bytes().all(|byte| byte.is_ascii_hexdigit()) => Ok(format!("tilt-{start}")),
        _ => Err(Failure::internal(format!("{id:?} is not an image id"))),
    }
}

/// The name under which this machine pushes an image: in the registry, with the characters `/ : @` of the original name
/// replaced by `_`. Without registry, or if the name is in it already, the name itself. Always without tag.
pub fn reference_in_registry(name: &ImageName, registry: Option<&Registry>) -> Result<Reference, Failure> {
    in_host(name, registry, registry.map(|registry| registry.host.as_str()))
}

/// The tag under which an image goes to the registry. Where all images share one repository, its name tells them apart.
pub fn tag_in_registry(name: &ImageName, registry: Option<&Registry>, tag: &str) -> Result<String, Failure> {
    let shared = registry.is_some_and(|registry| !registry.single_name.is_empty());
    if !shared {
        return Ok(tag.to_owned());
    }
    let familiar = Reference::parse(name.as_str())?.familiar_name();
    let last = familiar.rsplit('/').next().unwrap_or_default();
    Ok(format!("{}-{tag}", escape(last)))
}

/// The name under which the cluster pulls what [`reference_in_registry`] names.
pub fn reference_in_cluster(name: &ImageName, registry: Option<&Registry>) -> Result<Reference, Failure> {
    let host = registry.map(|registry| match &registry.host_from_cluster {
        Some(host) if !host.is_empty() => host.as_str(),
        _ => registry.host.as_str(),
    });
    in_host(name, registry, host)
}

fn escape(name: &str) -> String {
    name.replace(['/', ':', '@'], "_")
}

fn in_host(name: &ImageName, registry: Option<&Registry>, host: Option<&str>) -> Result<Reference, Failure> {
    let mut own = Reference::parse(name.as_str())?;
    (own.tag, own.digest) = (None, None);
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
    Reference::parse(&moved).map_err(|failure| {
        Failure::user(format!("the image {name} has no name in the registry {host}: {}", failure.message))
    })
}

/// Host and the rest; a first part without dot, colon or capital that is not `localhost` belongs to the path.
fn split_domain(text: &str) -> (String, String) {
    let (domain, rest) = match text.split_once('/') {
        Some((first, rest))
            if first.contains(['.', ':']) || first == "localhost" || first.to_lowercase() != first =>
        {
            (first, rest)
        }
        _ => (DOCKER_HUB, text),
    };
    let domain = if domain == "index.docker.io" { DOCKER_HUB } else { domain };
    let official = domain == DOCKER_HUB && !rest.contains('/');
    (domain.to_owned(), if official { format!("{OFFICIAL}{rest}") } else { rest.to_owned() })
}

fn is_domain(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let port_fits =
        port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host_fits = match bracketed {
        Some(address) => {
            !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':')
        }
        None => host.split('.').all(|label| {
            // Docker's grammar has no underscore in hosts, but ECR mirrors and Compose networks do; engines take them.
            let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
        }),
    };
    port_fits && host_fits
}

fn is_path_component(text: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    if !bytes.first().is_some_and(alphanumeric) || !bytes.last().is_some_and(alphanumeric) {
        return false;
    }
    bytes.split(alphanumeric).all(|separator| match separator {
        b"" | b"." | b"_" | b"__" => true,
        dashes => dashes.iter().all(|byte| *byte == b'-'),
    })
}

fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut bytes = text.bytes();
    bytes.next().is_some_and(word)
        && text.len() <= 128
        && bytes.all(|byte| word(byte) || byte == b'.' || byte == b'-')
}

fn is_digest(text: &str) -> bool {
    text.split_once(':').is_some_and(|(algorithm, digits)| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-_".contains(&byte);
        !algorithm.is_empty()
            && algorithm.bytes().all(fits)
            && digits.len() >= 32
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_as_docker_does() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let table = [
            ("busybox", "docker.io", "library/busybox", None, None),
            ("busybox:1.36", "docker.io", "library/busybox", Some("1.36"), None),
            ("team/web", "docker.io", "team/web", None, None),
            ("docker.io/busybox", "docker.io", "library/busybox", None, None),
            ("index.docker.io/team/web", "docker.io", "team/web", None, None),
            ("gcr.io/a/b-c/d__e:v1", "gcr.io", "a/b-c/d__e", Some("v1"), None),
            ("localhost/web", "localhost", "web", None, None),
            ("localhost:5000/web", "localhost:5000", "web", None, None),
            ("localhost:5000/web:x", "localhost:5000", "web", Some("x"), None),
            ("[::1]:5000/web", "[::1]:5000", "web", None, None),
            ("Host/web", "Host", "web", None, None),
        ];
        for (text, domain, path, tag, expected_digest) in table {
            let reference = Reference::parse(text).unwrap();
            let parts = (reference.domain(), reference.path(), reference.tag(), reference.digest());
            assert_eq!(parts, (domain, path, tag, expected_digest), "{text}");
        }
        let reference = Reference::parse(&format!("web:v1@{digest}")).unwrap();
        assert_eq!((reference.tag(), reference.digest()), (Some("v1"), Some(digest.as_str())));
        assert_eq!(reference.familiar(), format!("web:v1@{digest}"));
        assert_eq!(reference.to_string(), format!("docker.io/library/web:v1@{digest}"));
    }

    #[test]
    fn refuses_what_docker_refuses() {
        let id = "a".repeat(64);
        for text in [
            "",
            "Web",
            "web:",
            "web:-x",
            "a//b",
            "a/",
            "-a",
            "a..b",
            "a___b",
            "web@sha256:12",
            "ho st/web",
            "/web",
            id.as_str(),
        ] {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn familiar_names_are_short() {
        for (text, expected) in [
            ("docker.io/library/busybox:1", "busybox"),
            ("docker.io/team/web", "team/web"),
            ("gcr.io/library/web", "gcr.io/library/web"),
        ] {
            assert_eq!(Reference::parse(text).unwrap().familiar_name(), expected);
        }
    }

    #[test]
    fn a_name_without_tag_matches_every_tag() {
        let parse = |text| Reference::parse(text).unwrap();
        assert!(parse("web").matches(&parse("docker.io/library/web:v2")));
        assert!(!parse("web").matches(&parse("team/web")));
        assert!(parse("web:v1").matches(&parse("web:v1")));
        assert!(!parse("web:v1").matches(&parse("web:v2")));
        assert!(!parse("web:v1").matches(&parse("web")));
    }

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

    #[test]
    fn matches_as_docker_names_images() {
        let digest = format!("docker.io/library/web@sha256:{}", "0".repeat(64));
        let cases = [
            ("web", "web", true),
            ("web", "web:v1", true),
            ("web", digest.as_str(), true),
            ("web", "index.docker.io/library/web", true),
            ("web", "team/web", false),
            ("web", "localhost:5000/web", false),
            ("localhost:5000/web", "localhost:5000/web:v1", true),
            ("gcr.io/team/web", "gcr.io/team/web", true),
            ("gcr.io/team/web", "team/web", false),
            ("web:v1", "web:v1", true),
            ("web:v1", "web:v2", false),
            ("web:v1", "web", false),
            ("team/web", "docker.io/team/web:x", true),
        ];
        for (declared, used, expected) in cases {
            let parse = |text| Reference::parse(text).expect("a reference");
            assert_eq!(parse(declared).matches(&parse(used)), expected, "{declared} and {used}");
        }
    }
}
