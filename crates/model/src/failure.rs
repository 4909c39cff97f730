//! What a user sees as an error: kind, message, location and hint.

use std::path::PathBuf;
use std::{fmt, io};

use serde::{Deserialize, Serialize};

use crate::os_error;
use crate::reference::{Reference, ReferenceError};

/// Who can fix a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The user: the Tiltfile, YAML, a Dockerfile or the arguments are wrong.
    User,
    /// Whoever operates what lilt depends on: the cluster, the Docker engine, a registry, this machine.
    Environment,
    /// The authors of lilt, since it is a bug.
    Internal,
}

/// The kind of a failure. Code branches on this alone: the texts of a [`Failure`] are for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The user's input is wrong: the Tiltfile, YAML, a Dockerfile, arguments.
    User,
    /// Somebody cancelled it.
    Cancelled,
    /// The container's own user cannot write the files of a live update.
    NotWritable,
    /// A dependency failed: the cluster, the Docker engine, a registry, a port that is in use.
    #[default]
    Environment,
    /// The API server denies a permission.
    Forbidden,
    /// The API server does not accept the login.
    LoginRejected,
    /// The login command of the kubeconfig failed, so that no request can be sent.
    LoginFailed,
    /// The certificates of the kubeconfig and of the cluster do not match.
    CertificateMismatch,
    /// A dependency did not respond. A retry may succeed once it responds.
    Unreachable(Unreachable),
    /// A bug of lilt.
    Internal,
}

impl FailureKind {
    pub fn class(&self) -> Class {
        match self {
            Self::User | Self::Cancelled | Self::NotWritable => Class::User,
            Self::Environment
            | Self::Forbidden
            | Self::LoginRejected
            | Self::LoginFailed
            | Self::CertificateMismatch
            | Self::Unreachable(_) => Class::Environment,
            Self::Internal => Class::Internal,
        }
    }

    /// Returns the dependency that did not respond, if it failed because of that.
    pub fn unreachable(&self) -> Option<&Unreachable> {
        match self {
            Self::Unreachable(what) => Some(what),
            // Without a login or a trusted certificate no request can be sent to the API server.
            Self::LoginFailed | Self::CertificateMismatch => Some(&Unreachable::Cluster),
            _ => None,
        }
    }

    /// Returns whether a retry will fail again until somebody changes something, such as a rejected login.
    pub fn is_persistent(&self) -> bool {
        matches!(self, Self::LoginRejected | Self::LoginFailed | Self::CertificateMismatch)
    }
}

impl From<Unreachable> for FailureKind {
    fn from(what: Unreachable) -> Self {
        Self::Unreachable(what)
    }
}

/// A place in a text file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    pub path: PathBuf,
    pub line: u32,
    pub column: Option<u32>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)?;
        match self.column {
            Some(column) => write!(f, ":{column}"),
            None => Ok(()),
        }
    }
}

/// A dependency that does not respond.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unreachable {
    /// The API server.
    Cluster,
    DockerEngine,
    /// The registry of this image, as the Docker engine sees it.
    Registry(String),
    /// This machine: it lacks file descriptors, memory, processes or disk space.
    Machine,
}

impl Unreachable {
    /// Returns when a retry may succeed, as a clause that follows "when".
    pub fn return_condition(&self) -> String {
        match self {
            Self::Machine => "this machine has files, memory and disk space to spare".to_owned(),
            other => format!("{other} answers"),
        }
    }

    /// Returns whether both are the same dependency. Images of one registry are.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Registry(one), Self::Registry(other)) => registry(one) == registry(other),
            _ => self == other,
        }
    }
}

/// Returns the registry of an image; none if the image has no valid name.
fn registry(image: &str) -> Result<String, &str> {
    Reference::parse(image).map(|reference| reference.domain().to_owned()).map_err(|_| image)
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster => f.write_str("the cluster"),
            Self::DockerEngine => f.write_str("the Docker engine"),
            Self::Registry(image) => match registry(image) {
                Ok(domain) => write!(f, "the registry {domain}"),
                Err(image) => write!(f, "the registry of {image}"),
            },
            Self::Machine => f.write_str("this machine"),
        }
    }
}

/// An error as users see it, with what they need to act on it.
///
/// Code branches on `kind`, never on a text. The texts may contain an `io::Error`: the constructors drop its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    /// The cause in one sentence, without a trailing period; no location in it.
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// What the user can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Lines to show below the message: a source excerpt, a stack, the end of an output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Failure {
    pub fn user(message: impl Into<String>) -> Self {
        Self::new(FailureKind::User, message)
    }

    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Environment, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Internal, message)
    }

    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let message = os_error::plain(&message.into());
        Self { kind, message, location: None, hint: None, detail: None }
    }

    /// Replaces the kind.
    #[must_use]
    pub fn of_kind(mut self, kind: impl Into<FailureKind>) -> Self {
        self.kind = kind.into();
        self
    }

    pub fn class(&self) -> Class {
        self.kind.class()
    }

    /// Returns the dependency that did not respond, if it failed because of that.
    pub fn unreachable(&self) -> Option<&Unreachable> {
        self.kind.unreachable()
    }

    #[must_use]
    pub fn at(mut self, location: Location) -> Self {
        self.location = Some(location);
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(os_error::plain(&hint.into()));
        self
    }

    /// Marks the failure as retriable if its cause is a shortage of this machine.
    #[must_use]
    pub fn caused_by(self, error: &io::Error) -> Self {
        match os_error::shortage(error) {
            Some(hint) => self.hint(hint).of_kind(Unreachable::Machine),
            None => self,
        }
    }

    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(os_error::plain(&detail.into()));
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == FailureKind::Internal {
            f.write_str("internal error (a bug of lilt): ")?;
        }
        if let Some(location) = &self.location {
            write!(f, "{location}: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(detail) = &self.detail {
            write!(f, "\n{}", detail.trim_end())?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

impl From<ReferenceError> for Failure {
    fn from(error: ReferenceError) -> Self {
        Failure::user(error.message)
            .hint("an image is named like web, team/web:v1 or registry.example.com/team/web")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_has_location_message_detail_and_hint() {
        let failure = Failure::user("no such file: app.yaml")
            .at(Location { path: "Tiltfile".into(), line: 3, column: Some(10) })
            .detail("k8s_yaml('app.yaml')")
            .hint("paths are relative to the Tiltfile");
        assert_eq!(
            failure.to_string(),
            "Tiltfile:3:10: no such file: app.yaml\nk8s_yaml('app.yaml')\nhint: paths are relative to the Tiltfile"
        );
    }

    #[test]
    fn error_numbers_are_removed_from_all_texts() {
        let error = io::Error::from_raw_os_error(2).to_string();
        assert!(error.contains("os error"));
        for new in [Failure::user, Failure::environment, Failure::internal] as [fn(String) -> Failure; 3] {
            let failure = new(error.clone()).detail(error.clone()).hint(error.clone()).to_string();
            assert!(!failure.contains("os error"), "{failure}");
        }
    }

    #[test]
    fn only_shortages_of_this_machine_are_marked() {
        let failure = |number| {
            let error = io::Error::from_raw_os_error(number);
            Failure::environment(format!("cannot read app.py: {error}")).caused_by(&error)
        };
        let short = failure(24);
        assert_eq!(short.unreachable(), Some(&Unreachable::Machine));
        assert!(short.hint.is_some_and(|hint| hint.contains("ulimit -n")));
        assert_eq!(failure(28).unreachable(), Some(&Unreachable::Machine));
        let missing = failure(2);
        assert_eq!((missing.unreachable(), missing.hint.as_deref()), (None, None));
    }

    #[test]
    fn kind_determines_class_retry_and_dependency() {
        let unreachable = FailureKind::from(Unreachable::DockerEngine);
        assert_eq!(unreachable.unreachable(), Some(&Unreachable::DockerEngine));
        assert_eq!((unreachable.class(), unreachable.is_persistent()), (Class::Environment, false));
        for kind in [FailureKind::LoginFailed, FailureKind::CertificateMismatch] {
            assert_eq!((kind.unreachable(), kind.is_persistent()), (Some(&Unreachable::Cluster), true));
        }
        assert_eq!(FailureKind::LoginRejected.unreachable(), None);
        assert_eq!(FailureKind::Cancelled.class(), Class::User);
    }

    #[test]
    fn images_of_one_registry_are_one_dependency() {
        let registry = |image: &str| Unreachable::Registry(image.to_owned());
        assert!(registry("localhost:5000/web:1").is_same(&registry("localhost:5000/api:2")));
        assert!(!registry("localhost:5000/web:1").is_same(&registry("localhost:5001/web:1")));
        assert!(!registry("localhost:5000/web:1").is_same(&Unreachable::Machine));
    }

    #[test]
    fn failure_is_serialized_and_deserialized() {
        let registry = Unreachable::Registry("localhost:5000/web:1".into());
        let failure = Failure::environment("no answer").of_kind(registry).hint("is it running?");
        let text = serde_json::to_string(&failure).unwrap();
        assert_eq!(
            text,
            r#"{"kind":{"unreachable":{"registry":"localhost:5000/web:1"}},"message":"no answer","hint":"is it running?"}"#
        );
        assert_eq!(serde_json::from_str::<Failure>(&text).unwrap(), failure);
        assert!(serde_json::to_string(&Failure::user("no")).unwrap().contains(r#""kind":"user""#));
    }
}
