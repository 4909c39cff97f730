//! Image references, compared as Docker compares them: `web` is `docker.io/library/web`.

use std::collections::HashMap;
use std::fmt;

/// A parsed name such as `gcr.io/team/web:dev`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reference {
    domain: String,
    path: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl Reference {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty".into());
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) if digest.contains(':') => (rest, Some(digest.to_owned())),
            Some(_) => return Err("its digest has no algorithm".into()),
            None => (text, None),
        };
        let name_start = rest.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match rest[name_start..].split_once(':') {
            Some((name, tag)) => (&rest[..name_start + name.len()], Some(tag)),
            None => (rest, None),
        };
        if let Some(tag) = tag {
            let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
            if tag.is_empty() || tag.len() > 128 || tag.starts_with(['.', '-']) || !tag.bytes().all(valid) {
                return Err(format!("{tag:?} is not a valid tag"));
            }
        }
        let (domain, path) = split_domain(name);
        if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err("a repository name must be lowercase".into());
        }
        let valid = |part: &str| {
            !part.is_empty()
                && !part.starts_with(['.', '_', '-'])
                && !part.ends_with(['.', '_', '-'])
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
        };
        if !path.split('/').all(valid) {
            return Err("it is not a valid image name".into());
        }
        Ok(Self { domain, path, tag: tag.map(str::to_owned), digest })
    }

    /// The name as people write it, without tag.
    pub(crate) fn familiar_name(&self) -> String {
        match (self.domain.as_str(), self.path.strip_prefix("library/")) {
            ("docker.io", Some(name)) if !name.contains('/') => name.to_owned(),
            ("docker.io", _) => self.path.clone(),
            _ => format!("{}/{}", self.domain, self.path),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.familiar_name())?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

fn split_domain(name: &str) -> (String, String) {
    let (domain, path) = match name.split_once('/') {
        Some((first, path))
            if first.contains(['.', ':']) || first == "localhost" || first.to_lowercase() != first =>
        {
            (first, path)
        }
        _ => ("docker.io", name),
    };
    let domain = if domain == "index.docker.io" { "docker.io" } else { domain };
    let path = if domain == "docker.io" && !path.contains('/') {
        format!("library/{path}")
    } else {
        path.to_owned()
    };
    (domain.to_owned(), path)
}

/// The images that the project builds, and which of them a reference means.
#[derive(Debug)]
pub(crate) struct ImageIndex {
    /// By domain and path, with the positions.
    by_name: HashMap<(String, String), Vec<(usize, Reference)>>,
}

impl ImageIndex {
    pub(crate) fn new(images: impl Iterator<Item = Reference>) -> Self {
        let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
        for (position, image) in images.enumerate() {
            by_name.entry((image.domain.clone(), image.path.clone())).or_default().push((position, image));
        }
        Self { by_name }
    }

    /// `x` and `x:tag` are two images: once there are several of one name, each stands for its own tag only.
    pub(crate) fn find(&self, used: &Reference) -> Option<usize> {
        let same_name = self.by_name.get(&(used.domain.clone(), used.path.clone()))?;
        let matches = |image: &Reference| same_name.len() == 1 && image.tag.is_none() || image == used;
        same_name.iter().find(|(_, image)| matches(image)).map(|(position, _)| *position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(text: &str) -> Reference {
        Reference::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn names_are_normalised() {
        for (text, name, shown) in [
            ("web", ("docker.io", "library/web"), "web"),
            ("docker.io/library/web:1", ("docker.io", "library/web"), "web:1"),
            ("team/web", ("docker.io", "team/web"), "team/web"),
            ("gcr.io/a/b:x", ("gcr.io", "a/b"), "gcr.io/a/b:x"),
            ("localhost:5000/web", ("localhost:5000", "web"), "localhost:5000/web"),
            ("localhost/web", ("localhost", "web"), "localhost/web"),
        ] {
            let parsed = reference(text);
            assert_eq!((parsed.domain.as_str(), parsed.path.as_str()), name);
            assert_eq!(reference(text).to_string(), shown);
        }
        let digest = "web@sha256:aaaa";
        assert_eq!(reference(digest).to_string(), digest);
    }

    #[test]
    fn what_docker_refuses_is_refused() {
        for text in ["", "Web", "a b", "web:", "web:a b", "a//b", "/web", "web@x", "-web"] {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn tags_matter_only_where_they_tell_images_apart() {
        let index = ImageIndex::new(["web", "api:dev", "db", "db:two"].map(reference).into_iter());
        let find = |text| index.find(&reference(text));
        assert_eq!(find("web:anything"), Some(0));
        assert_eq!(find("docker.io/library/web"), Some(0));
        assert_eq!(find("api:dev"), Some(1));
        assert_eq!(find("api"), None);
        assert_eq!(find("db"), Some(2));
        assert_eq!(find("db:two"), Some(3));
        assert_eq!(find("db:three"), None);
    }
}
