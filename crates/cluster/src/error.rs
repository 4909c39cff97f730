//! What the API server and the way to it say, as failures that a user can act on.

use std::error::Error as _;

use kube::core::Status;
use lilt_model::{Away, Failure, os_error};

use crate::connect::{Cluster, LoginFailed};

/// Whether the API server gave no answer, or could not be asked: the same may succeed later.
pub fn is_unreachable(failure: &Failure) -> bool {
    matches!(failure.away, Some(Away::Cluster | Away::Machine))
}

const FORBIDDEN: &str = "the cluster does not allow you";

/// Whether the API server said that a right is missing: asking again at once is of no use.
pub fn is_forbidden(failure: &Failure) -> bool {
    failure.message.starts_with(FORBIDDEN)
}

const LOGIN_REFUSED: &str = "the cluster does not accept your login";

/// Whether the API server said that it does not know the user: the login may have expired, and can be renewed.
pub(crate) fn is_login_refused(failure: &Failure) -> bool {
    failure.message.starts_with(LOGIN_REFUSED)
}

/// An error and all its sources in one line, without repeating what a source already says.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(current) = next {
        let text = current.to_string();
        next = current.source();
        match parts.last_mut() {
            // Wrappers often end with their source's text: keep the longer one.
            Some(last) if last.contains(&text) => {}
            _ => parts.push(text),
        }
    }
    parts.join(": ")
}

/// The API server's own answer, if it gave one.
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

/// Whether a status says that the whole API server cannot serve now. Only for requests that every API server can answer:
/// 503 for another one may be about a single extension API.
pub(crate) fn is_not_ready(code: u16) -> bool {
    code == 429 || code >= 500
}

pub(crate) fn is_missing(error: &kube::Error) -> bool {
    code(error) == Some(404)
}

impl Cluster {
    /// A failed request that no caller knows more about. `doing` completes "while …".
    pub(crate) fn failure(&self, doing: &str, error: &kube::Error) -> Failure {
        match code(error) {
            Some(401) => Failure::environment(format!("{LOGIN_REFUSED} (context {})", self.context()))
                .detail(causes_of_status(error))
                .hint("log in again, or check the user of this context in your kubeconfig")
                .persistent(),
            Some(403) => self.forbidden(doing, error),
            Some(_) => Failure::environment(format!("the API server refused while {doing}"))
                .detail(causes_of_status(error)),
            None => self.unreachable(error),
        }
    }

    pub(crate) fn forbidden(&self, doing: &str, error: &kube::Error) -> Failure {
        Failure::environment(format!("{FORBIDDEN} {doing}"))
            .detail(causes_of_status(error))
            .hint(format!("ask for the right, or check that {} is the context you meant", self.context()))
    }

    /// No answer at all. [`is_unreachable`] knows it.
    pub(crate) fn unreachable(&self, error: &kube::Error) -> Failure {
        if let Some(login) = login_failed(error) {
            let failure = Failure::environment(login.words.clone()).hint(&login.hint);
            let failure = failure.away(Away::Cluster).persistent();
            return if login.said.is_empty() { failure } else { failure.detail(&login.said) };
        }
        let cause = root_cause(error);
        let is_about_certificates = cause.to_lowercase().contains("certificate");
        let hint = if is_about_certificates {
            "the certificates of kubeconfig and cluster do not fit: fetch the kubeconfig of this cluster again"
        } else if matches!(error, kube::Error::Auth(_)) {
            "log in again, or check the user of this context in your kubeconfig"
        } else {
            "is the cluster running? `kubectl cluster-info` asks the same address"
        };
        let words = format!("cannot reach the cluster {} at {}: {cause}", self.context(), self.server());
        let mut failure = Failure::environment(words).hint(hint).away(Away::Cluster);
        failure.persistent = is_about_certificates;
        os_error::root(error).map(|cause| failure.clone().caused_by(cause)).unwrap_or(failure)
    }
}

/// What the login command had to say, if it was that.
fn login_failed(error: &kube::Error) -> Option<&LoginFailed> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = next {
        if let Some(failed) = current.downcast_ref() {
            return Some(failed);
        }
        next = current.source();
    }
    None
}

/// The innermost source: `Connection refused (os error 111)` rather than its five wrappers.
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
