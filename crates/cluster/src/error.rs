//! The errors of cluster operations that code distinguishes, and their translation into a [`Failure`].

use std::error::Error as _;
use std::time::Duration;

use kube::core::Status;
use lilt_model::{Failure, FailureKind, Unreachable, os_error};

use crate::connect::{Cluster, LoginError};

/// A failed operation. Errors that no code distinguishes are created as a `Failure` right away.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the cluster does not allow you {action}")]
    Forbidden { context: String, action: String, answer: String },
    #[error("the cluster does not accept your login (context {context})")]
    LoginRejected { context: String, answer: String },
    #[error("{0}")]
    LoginError(LoginError),
    /// No connection could be established.
    #[error("cannot reach the cluster {context} at {server}: {cause}")]
    Unreachable { context: String, server: String, cause: String, obstacle: Obstacle },
    #[error("the cluster {context} at {server} gave no answer within {} seconds", .limit.as_secs())]
    TimedOut { context: String, server: String, limit: Duration },
    /// The API server is starting or overloaded, or a proxy in front of it has no upstream.
    #[error("the cluster {context} at {server} is not ready: it answered with HTTP status {code}")]
    NotReady { context: String, server: String, code: u16, answer: String },
    #[error("the API server refused while {action}")]
    Refused { action: String, answer: String },
    /// A live update could not change files.
    #[error("cannot change files in the container {container} of the pod {pod}")]
    NotWritten { pod: String, container: String, fault: WriteFault, output: String },
    #[error("cannot enter the container {container} of the pod {pod}")]
    ExecRefused { pod: String, container: String, code: u16 },
    /// The connection of a live update was lost.
    #[error("lost the live update channel to the container {container} of the pod {pod}")]
    ChannelLost { pod: String, container: String, cause: String },
    #[error("live update needs `{program}`, which the container {container} of the pod {pod} does not have")]
    NoProgram { pod: String, container: String, program: String },
    /// Only the parent of a process can restart it.
    #[error(
        "the process of the container {container} of the pod {pod} cannot be started anew: lilt's agent did not start it"
    )]
    NotOwnProcess { pod: String, container: String },
    #[error("cannot start the process of the container {container} of the pod {pod} anew")]
    NotRestarted { pod: String, container: String, cause: String },
    /// Nothing listens on the port of a pod.
    #[error("nobody listens on port {port} in the pod {pod}")]
    PortRefused { pod: String, port: u16, answer: String },
    #[error("the forward to port {port} of the pod {pod} broke")]
    ForwardBroken { pod: String, port: u16, answer: String },
    /// A connection was closed because its client did not read.
    #[error("a connection to port {port} of the pod {pod} was given up")]
    ConnectionGivenUp { pod: String, port: u16 },
}

/// What prevents a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    Network,
    Certificate,
    Credentials,
    /// This machine lacks a resource; with a hint.
    Machine(&'static str),
}

/// Why files in a container could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteFault {
    PermissionDenied,
    ReadOnly,
    DiskFull,
    Other,
}

impl WriteFault {
    /// Classifies the output of the container's programs or operating system.
    pub(crate) fn of_output(output: &str) -> Self {
        if output.contains("Permission denied") || output.contains("not permitted") {
            Self::PermissionDenied
        } else if output.contains("Read-only") {
            Self::ReadOnly
        } else if output.contains("No space left") {
            Self::DiskFull
        } else {
            Self::Other
        }
    }

    fn hint(self) -> Option<&'static str> {
        match self {
            Self::PermissionDenied => {
                Some("the container's user may not write there: check USER and ownership in the Dockerfile")
            }
            Self::ReadOnly => Some(
                "the container's file system is read-only: mount a writable volume there, or drop readOnlyRootFilesystem",
            ),
            Self::DiskFull => Some("the container's disk is full"),
            Self::Other => None,
        }
    }
}

impl Error {
    pub(crate) fn kind(&self) -> FailureKind {
        match self {
            Self::Forbidden { .. } => FailureKind::Forbidden,
            Self::LoginRejected { .. } => FailureKind::LoginRejected,
            Self::LoginError(_) => FailureKind::LoginFailed,
            Self::Unreachable { obstacle: Obstacle::Certificate, .. } => FailureKind::CertificateMismatch,
            Self::Unreachable { obstacle: Obstacle::Machine(_), .. } => Unreachable::Machine.into(),
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::NotReady { .. } => {
                Unreachable::Cluster.into()
            }
            Self::Refused { .. }
            | Self::ExecRefused { .. }
            | Self::ChannelLost { .. }
            | Self::PortRefused { .. }
            | Self::ForwardBroken { .. }
            | Self::ConnectionGivenUp { .. } => FailureKind::Environment,
            Self::NotWritten { fault: WriteFault::PermissionDenied | WriteFault::ReadOnly, .. } => {
                FailureKind::NotWritable
            }
            Self::NotWritten { .. }
            | Self::NoProgram { .. }
            | Self::NotOwnProcess { .. }
            | Self::NotRestarted { .. } => FailureKind::User,
        }
    }

    /// Whether no response was received.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.kind().unreachable().is_some()
    }

    fn hint(&self) -> Option<String> {
        const LOGIN: &str = "log in again, or check the user of this context in your kubeconfig";
        const ASK: &str = "is the cluster running? `kubectl cluster-info` asks the same address";
        let hint = match self {
            Self::Forbidden { context, .. } => {
                return Some(format!("ask for the right, or check that {context} is the context you meant"));
            }
            Self::LoginError(login) => return Some(login.hint.clone()),
            Self::NotWritten { fault, .. } => fault.hint()?,
            Self::NoProgram { program, .. } => {
                return Some(format!(
                    "add `{program}` to the image: the pod is without lilt's agent, which is not added where a command or an \
                     operator makes the pod, or where the Tiltfile forbids it"
                ));
            }
            Self::Refused { .. }
            | Self::ChannelLost { .. }
            | Self::NotRestarted { .. }
            | Self::ForwardBroken { .. } => return None,
            Self::ExecRefused { .. } => "is the container running?",
            Self::NotOwnProcess { .. } => {
                "it starts none where a command or an operator makes the pod, or where the Tiltfile forbids it"
            }
            Self::PortRefused { .. } => {
                "is the server still starting, or does it listen on another port or on another address than localhost?"
            }
            Self::ConnectionGivenUp { .. } => "does it need so many connections at once?",
            Self::LoginRejected { .. } | Self::Unreachable { obstacle: Obstacle::Credentials, .. } => LOGIN,
            Self::Unreachable { obstacle: Obstacle::Certificate, .. } => {
                "the certificates of kubeconfig and cluster do not fit: fetch the kubeconfig of this cluster again"
            }
            Self::Unreachable { obstacle: Obstacle::Machine(hint), .. } => hint,
            Self::Unreachable { obstacle: Obstacle::Network, .. } | Self::TimedOut { .. } => ASK,
            Self::NotReady { .. } => {
                "is the cluster starting? `kubectl get --raw /readyz` asks the same address"
            }
        };
        Some(hint.to_owned())
    }

    /// Returns the output or response of the other side.
    fn detail(&self) -> Option<String> {
        let detail = match self {
            Self::Forbidden { answer, .. }
            | Self::LoginRejected { answer, .. }
            | Self::NotReady { answer, .. }
            | Self::Refused { answer, .. }
            | Self::NotWritten { output: answer, .. }
            | Self::NotRestarted { cause: answer, .. } => answer,
            Self::PortRefused { answer, .. } | Self::ForwardBroken { answer, .. } => answer.trim(),
            Self::LoginError(login) if login.output.is_empty() => return None,
            Self::LoginError(login) => &login.output,
            Self::ExecRefused { code, .. } => return Some(format!("the API server answered {code}")),
            Self::ChannelLost { cause, .. } if cause.is_empty() => "the connection closed",
            Self::ChannelLost { cause, .. } => cause,
            Self::ConnectionGivenUp { .. } => {
                "its client did not read, and others that share its way through the API server waited for that"
            }
            Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::NoProgram { .. }
            | Self::NotOwnProcess { .. } => return None,
        };
        Some(detail.to_owned())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Failure::new(error.kind(), error.to_string());
        let failure = match error.detail() {
            Some(detail) => failure.detail(detail),
            None => failure,
        };
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// Whether the API server was unreachable or did not respond: a retry may succeed.
pub fn is_unreachable(failure: &Failure) -> bool {
    matches!(failure.unreachable(), Some(Unreachable::Cluster | Unreachable::Machine))
}

/// Returns an error and all its sources in one line, without repetitions.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(current) = next {
        let text = current.to_string();
        next = current.source();
        match parts.last_mut() {
            // Wrappers often end with the text of their source: keep the longer one.
            Some(last) if last.contains(&text) => {}
            _ => parts.push(text),
        }
    }
    parts.join(": ")
}

/// Returns the status object in the API server's response, if there is one.
pub(crate) fn status(error: &kube::Error) -> Option<&Status> {
    match error {
        kube::Error::Api(status) => Some(status),
        _ => None,
    }
}

pub(crate) fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        kube::Error::UpgradeConnection(kube::client::UpgradeConnectionError::ProtocolSwitch(code)) => {
            Some(code.as_u16())
        }
        _ => None,
    }
}

/// Whether a status code means that the whole API server is not ready.
///
/// Only for requests that every API server can handle: 503 for others may be about a single extension API.
pub(crate) fn is_not_ready(code: u16) -> bool {
    code == 429 || code >= 500
}

pub(crate) fn is_not_found(error: &kube::Error) -> bool {
    code(error) == Some(404)
}

impl Cluster {
    /// Translates a failed request without special cases. `action` completes "while …".
    pub(crate) fn failure(&self, action: &str, error: &kube::Error) -> Failure {
        self.error(action, error).into()
    }

    /// Like [`Self::failure`], for callers that distinguish cases.
    pub(crate) fn error(&self, action: &str, error: &kube::Error) -> Error {
        let answer = || causes_of_status(error);
        match code(error) {
            Some(401) => Error::LoginRejected { context: self.context().to_owned(), answer: answer() },
            Some(403) => self.forbidden_error(action, error),
            Some(_) => Error::Refused { action: action.to_owned(), answer: answer() },
            None => self.connection_error(error),
        }
    }

    /// Translates a missing permission. `action` completes "does not allow you …".
    pub(crate) fn forbidden(&self, action: &str, error: &kube::Error) -> Failure {
        self.forbidden_error(action, error).into()
    }

    fn forbidden_error(&self, action: &str, error: &kube::Error) -> Error {
        let (context, action) = (self.context().to_owned(), action.to_owned());
        Error::Forbidden { context, action, answer: causes_of_status(error) }
    }

    /// Classifies a request without a response.
    fn connection_error(&self, error: &kube::Error) -> Error {
        if let Some(login) = login_failed(error) {
            return Error::LoginError(login.clone());
        }
        let cause = root_cause(error);
        let obstacle = if let Some(hint) = os_error::root_cause(error).and_then(os_error::shortage) {
            Obstacle::Machine(hint)
        // kube only keeps the text of TLS errors.
        } else if cause.to_lowercase().contains("certificate") {
            Obstacle::Certificate
        } else if matches!(error, kube::Error::Auth(_)) {
            Obstacle::Credentials
        } else {
            Obstacle::Network
        };
        let (context, server) = (self.context().to_owned(), self.server().to_owned());
        Error::Unreachable { context, server, cause, obstacle }
    }
}

/// Returns the failed login if that is the cause.
fn login_failed(error: &kube::Error) -> Option<&LoginError> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = next {
        if let Some(failed) = current.downcast_ref() {
            return Some(failed);
        }
        next = current.source();
    }
    None
}

/// Returns the innermost source: `Connection refused (os error 111)` rather than its five wrappers.
fn root_cause(error: &kube::Error) -> String {
    let mut last: &(dyn std::error::Error + 'static) = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

pub(crate) fn causes_of_status(error: &kube::Error) -> String {
    match status(error) {
        Some(status) if !status.message.is_empty() => status.message.clone(),
        Some(status) => format!("{} ({})", status.reason, status.code),
        None => error.source().map_or_else(|| error.to_string(), causes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreachable(obstacle: Obstacle) -> Failure {
        let (context, server) = ("dev".to_owned(), "https://localhost".to_owned());
        Error::Unreachable { context, server, cause: "refused".into(), obstacle }.into()
    }

    #[test]
    fn obstacle_of_a_connection_decides_the_retry() {
        for (obstacle, what, persistent) in [
            (Obstacle::Network, Unreachable::Cluster, false),
            (Obstacle::Credentials, Unreachable::Cluster, false),
            (Obstacle::Certificate, Unreachable::Cluster, true),
            (Obstacle::Machine("make room"), Unreachable::Machine, false),
        ] {
            let failure = unreachable(obstacle);
            assert!(is_unreachable(&failure));
            assert_eq!((failure.unreachable(), failure.kind.is_persistent()), (Some(&what), persistent));
        }
    }

    #[test]
    fn output_of_a_failed_write_names_the_fault() {
        for (output, fault, kind) in [
            (
                "tar: a: Cannot open: Permission denied",
                WriteFault::PermissionDenied,
                FailureKind::NotWritable,
            ),
            (
                "tar: a: Cannot utime: Operation not permitted",
                WriteFault::PermissionDenied,
                FailureKind::NotWritable,
            ),
            ("rm: a: Read-only file system", WriteFault::ReadOnly, FailureKind::NotWritable),
            ("tar: a: No space left on device", WriteFault::DiskFull, FailureKind::User),
            ("exit code 2", WriteFault::Other, FailureKind::User),
        ] {
            assert_eq!(WriteFault::of_output(output), fault, "{output}");
            let (pod, container) = ("web-1".to_owned(), "main".to_owned());
            let error = Error::NotWritten { pod, container, fault, output: output.to_owned() };
            assert_eq!(error.kind(), kind, "{output}");
        }
    }
}
