//! The errors of Docker operations that code distinguishes, and their translation into a [`Failure`].
//!
//! Engines and registries only return sentences: they are classified here and in the diagnosis of builds.

use http::StatusCode;
use lilt_model::reference::Reference;
use lilt_model::{Failure, FailureKind, Location, Unreachable};

/// A failed operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The caller cancelled it; with the name of the operation.
    #[error("the {0} was cancelled")]
    Cancelled(String),
    /// The engine answered with an error status.
    #[error("{operation}: {cause}")]
    Refused { operation: String, status: StatusCode, cause: String },
    #[error("cannot push {reference}: {cause}")]
    Push { reference: String, cause: String, helper_error: Option<String> },
    #[error("cannot get the base image {image}: {cause}{}", .place.suffix())]
    BaseImage { image: String, cause: String, place: DockerfilePosition, helper_error: Option<String> },
    /// An error that no code distinguishes.
    #[error(transparent)]
    Other(#[from] Failure),
}

/// Where in a Dockerfile a build failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DockerfilePosition {
    Unknown,
    File(Location),
    /// The line of a Dockerfile that is not a file.
    Text(u32),
}

impl DockerfilePosition {
    pub(crate) fn suffix(&self) -> String {
        match self {
            Self::Text(line) => format!(" (line {line} of the Dockerfile's text)"),
            Self::Unknown | Self::File(_) => String::new(),
        }
    }
}

/// What prevents a push or a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegistryFault {
    /// It requires repositories to be created before the first push.
    NoRepository,
    LoginRequired,
    NoConnection,
    /// Its certificate is not trusted, or it does not use TLS.
    Untrusted,
    /// The engine does not have the image.
    ImageMissing,
    Other,
}

impl RegistryFault {
    pub(crate) fn of_push(cause: &str) -> Self {
        let lower = cause.to_lowercase();
        let has = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
        if has(&["does not exist in the registry", "name unknown"]) {
            Self::NoRepository
        } else if has(&["unauthorized", "authentication required", "denied", "no basic auth", "forbidden"]) {
            Self::LoginRequired
        } else if has(&["connection refused", "no such host", "i/o timeout", "dial tcp", "no route to host"])
            || has(&["connection reset", "broken pipe", "eof", "use of closed network connection"])
        {
            Self::NoConnection
        } else if has(&["server gave http response to https client", "certificate", "x509"]) {
            Self::Untrusted
        } else if has(&["does not exist locally", "not found"]) {
            Self::ImageMissing
        } else {
            Self::Other
        }
    }

    pub(crate) fn of_pull(cause: &str) -> Self {
        let lower = cause.to_lowercase();
        let has = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
        if has(&["failed to do request", "dial tcp", "connection refused", "no such host", "timeout", "tls"])
        {
            Self::NoConnection
        } else if has(&["unauthorized", "denied", "forbidden", "authorization failed", "no basic auth"]) {
            Self::LoginRequired
        } else {
            Self::Other
        }
    }
}

/// Whether another program's error message means that there was no response, rather than a rejection.
pub(crate) fn is_connection_error(sentence: &str) -> bool {
    const UNANSWERED: [&str; 13] = [
        "connection refused",
        "connection reset",
        "connection timed out",
        "i/o timeout",
        "tls handshake timeout",
        "no route to host",
        "network is unreachable",
        "no such host",
        "could not resolve hostname",
        "temporary failure in name resolution",
        "broken pipe",
        "use of closed network connection",
        "503 service unavailable",
    ];
    let lower = sentence.to_lowercase();
    UNANSWERED.iter().any(|phrase| lower.contains(phrase))
        || lower.ends_with(": eof")
        || lower.ends_with("unexpected eof")
}

impl Error {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Cancelled(_) => FailureKind::Cancelled,
            Self::Refused { status: StatusCode::BAD_REQUEST, .. } => FailureKind::User,
            Self::Refused { .. } => FailureKind::Environment,
            Self::Push { reference, cause, .. } if is_connection_error(cause) => {
                Unreachable::Registry(reference.clone()).into()
            }
            Self::Push { .. } => FailureKind::Environment,
            Self::BaseImage { image, cause, .. } => match RegistryFault::of_pull(cause) {
                RegistryFault::NoConnection if is_connection_error(cause) => {
                    Unreachable::Registry(image.clone()).into()
                }
                RegistryFault::NoConnection => FailureKind::Environment,
                _ => FailureKind::User,
            },
            Self::Other(failure) => failure.kind.clone(),
        }
    }

    /// Returns where to store the error of a credential helper if a registry requires a login.
    pub(crate) fn helper_error(&mut self) -> Option<&mut Option<String>> {
        match self {
            Self::Push { cause, helper_error, .. } => {
                (RegistryFault::of_push(cause) == RegistryFault::LoginRequired).then_some(helper_error)
            }
            Self::BaseImage { cause, helper_error, .. } => {
                (RegistryFault::of_pull(cause) == RegistryFault::LoginRequired).then_some(helper_error)
            }
            Self::Cancelled(_) | Self::Refused { .. } | Self::Other(_) => None,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Push { reference, cause, .. } => Some(push_hint(reference, RegistryFault::of_push(cause))),
            Self::BaseImage { image, cause, .. } => Some(pull_hint(image, RegistryFault::of_pull(cause))),
            Self::Cancelled(_) | Self::Refused { .. } | Self::Other(_) => None,
        }
    }
}

fn push_hint(reference: &str, fault: RegistryFault) -> String {
    let parsed = Reference::parse(reference);
    let (registry, path) = match &parsed {
        Ok(parsed) => (parsed.domain(), parsed.path()),
        Err(_) => (reference, reference),
    };
    match fault {
        RegistryFault::NoRepository => format!(
            "this registry wants a repository to be made before it is pushed to: make {path}, or push all images into one \
             with default_registry('…', single_name='…')"
        ),
        RegistryFault::LoginRequired => {
            format!("log in with `docker login {registry}`, and check that this account may push there")
        }
        RegistryFault::NoConnection => {
            format!("check that the registry {registry} runs and that the Docker engine can reach it")
        }
        RegistryFault::Untrusted => format!(
            "add {registry} to `insecure-registries` in the engine's daemon.json, or give it a trusted certificate"
        ),
        RegistryFault::ImageMissing => "the image is no longer in the engine: trigger a rebuild".to_owned(),
        RegistryFault::Other => "the sentence above comes from the Docker engine or the registry".to_owned(),
    }
}

fn pull_hint(image: &str, fault: RegistryFault) -> String {
    match fault {
        RegistryFault::NoConnection => "check that the Docker engine can reach the registry".to_owned(),
        RegistryFault::LoginRequired => {
            let registry = Reference::parse(image).map(|image| image.domain().to_owned()).unwrap_or_default();
            let registry = if registry == "docker.io" { "" } else { &registry };
            format!("check the name; if the image is private, log in with `docker login {registry}`")
        }
        _ => "check the name and the tag".to_owned(),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (kind, message, hint) = (error.kind(), error.to_string(), error.hint());
        let (location, detail) = match error {
            Error::Other(failure) => return failure,
            Error::BaseImage { place: DockerfilePosition::File(location), helper_error, .. } => {
                (Some(location), helper_error)
            }
            Error::Push { helper_error, .. } | Error::BaseImage { helper_error, .. } => (None, helper_error),
            Error::Cancelled(_) | Error::Refused { .. } => (None, None),
        };
        let mut failure = Failure::new(kind, message);
        if let Some(hint) = hint {
            failure = failure.hint(hint);
        }
        if let Some(detail) = detail {
            failure = failure.detail(detail);
        }
        Failure { location, ..failure }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(cause: &str) -> Error {
        let (reference, cause) = ("localhost:5000/web:v1".to_owned(), cause.to_owned());
        Error::Push { reference, cause, helper_error: None }
    }

    #[test]
    fn registry_messages_are_classified() {
        for (cause, fault) in [
            ("name unknown: The repository does not exist", RegistryFault::NoRepository),
            ("unauthorized: authentication required", RegistryFault::LoginRequired),
            ("dial tcp 127.0.0.1:5000: connect: connection refused", RegistryFault::NoConnection),
            ("x509: certificate signed by unknown authority", RegistryFault::Untrusted),
            ("An image does not exist locally with the tag: web", RegistryFault::ImageMissing),
            ("toomanyrequests", RegistryFault::Other),
        ] {
            assert_eq!(RegistryFault::of_push(cause), fault, "{cause}");
        }
        assert_eq!(RegistryFault::of_pull("pull access denied"), RegistryFault::LoginRequired);
        assert_eq!(RegistryFault::of_pull("net/http: TLS handshake timeout"), RegistryFault::NoConnection);
        assert_eq!(RegistryFault::of_pull("manifest unknown"), RegistryFault::Other);
    }

    #[test]
    fn push_without_response_is_unreachable_registry() {
        let away = Unreachable::Registry("localhost:5000/web:v1".into());
        assert_eq!(Failure::from(push("connect: connection refused")).unreachable(), Some(&away));
        // It responded with a rejection.
        assert_eq!(Failure::from(push("unauthorized")).unreachable(), None);
    }

    #[test]
    fn helper_error_is_added_only_if_login_is_required() {
        let mut refused = push("denied: requested access to the resource is denied");
        *refused.helper_error().expect("a login is required") = Some("the helper gave no login".into());
        assert_eq!(Failure::from(refused).detail.as_deref(), Some("the helper gave no login"));
        assert!(push("connection refused").helper_error().is_none());
        assert!(Error::Cancelled("build".into()).helper_error().is_none());
    }
}
