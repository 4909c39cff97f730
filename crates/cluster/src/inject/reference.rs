//! Image references as Docker reads them, as far as comparing needs it.

/// `host/path:tag@digest`, normalised: `web` is `docker.io/library/web`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference<'a> {
    name: String,
    tag: Option<&'a str>,
    digest: Option<&'a str>,
}

impl<'a> Reference<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        // A colon before the last slash belongs to the registry's port.
        let (name, tag) = match rest.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
            _ => (rest, None),
        };
        Self { name: normalise(name), tag, digest }
    }

    /// A name without tag selects any tag; with one, exactly that reference.
    pub(super) fn selects(&self, other: &Reference<'_>) -> bool {
        if self.tag.is_some() { self == other } else { self.name == other.name }
    }
}

fn normalise(name: &str) -> String {
    let (host, path) = match name.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (host, path),
        _ => ("docker.io", name),
    };
    let host = if host == "index.docker.io" { "docker.io" } else { host };
    if host == "docker.io" && !path.contains('/') {
        return format!("{host}/library/{path}");
    }
    format!("{host}/{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_as_docker_names_images() {
        let cases = [
            ("web", "web", true),
            ("web", "web:v1", true),
            ("web", "docker.io/library/web@sha256:00", true),
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
        for (selector, image, expected) in cases {
            assert_eq!(
                Reference::parse(selector).selects(&Reference::parse(image)),
                expected,
                "{selector} and {image}"
            );
        }
    }
}
