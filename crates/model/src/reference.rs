//! Image references by Docker's rules: `web`, `gcr.io/team/web:v1`, `localhost:5000/x@sha256:…`.

use std::fmt;

const DOCKER_HUB: &str = "docker.io";
const OFFICIAL: &str = "library/";
/// Registries do not accept longer ones.
const LONGEST_PATH: usize = 255;

/// A text that is not an image reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceError {
    /// Names the text and the rule that it violates.
    pub message: String,
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReferenceError {}

/// An image reference with all defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    domain: String,
    path: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl Reference {
    /// Parses a reference as people write it and fills in the defaults: `web` is `docker.io/library/web`.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let invalid =
            |why: &str| ReferenceError { message: format!("{text:?} is not an image reference: {why}") };
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

    /// Returns the registry's host: `docker.io`, `localhost:5000`.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Returns the repository in the registry: `library/web`.
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Returns host and path in full, without tag and digest: `docker.io/library/web`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.domain, self.path)
    }

    /// Returns the name as people write it, without tag and digest: `web`.
    pub fn familiar_name(&self) -> String {
        if self.domain != DOCKER_HUB {
            return self.name();
        }
        match self.path.strip_prefix(OFFICIAL) {
            Some(short) if !short.contains('/') => short.to_owned(),
            _ => self.path.clone(),
        }
    }

    /// Returns the reference as people write it, with tag and digest: `web:v1`.
    pub fn familiar(&self) -> String {
        format!("{}{}", self.familiar_name(), self.suffix())
    }

    #[must_use]
    pub fn without_tag(mut self) -> Self {
        (self.tag, self.digest) = (None, None);
        self
    }

    #[must_use]
    pub fn with_tag(mut self, tag: &str) -> Self {
        self.tag = Some(tag.to_owned());
        self.digest = None;
        self
    }

    /// Returns whether `used` names the image that is declared by this reference.
    ///
    /// A declaration with a tag matches exactly that reference, one without a tag matches all tags.
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

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}{}", self.domain, self.path, self.suffix())
    }
}

/// Splits a text into host and path. A first part without dot, colon or capital letter that is not `localhost` belongs
/// to the path.
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
            // Docker's grammar has no underscore in hosts, but ECR mirrors and Compose networks do; engines accept them.
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
    fn invalid_reference_is_an_error() {
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
    fn reference_without_tag_matches_every_tag() {
        let parse = |text| Reference::parse(text).unwrap();
        assert!(parse("web").matches(&parse("docker.io/library/web:v2")));
        assert!(!parse("web").matches(&parse("team/web")));
        assert!(parse("web:v1").matches(&parse("web:v1")));
        assert!(!parse("web:v1").matches(&parse("web:v2")));
        assert!(!parse("web:v1").matches(&parse("web")));
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
