//! What a user sees as an error: class, message, place and hint.

use std::path::PathBuf;
use std::{fmt, io};

use serde::{Deserialize, Serialize};

use crate::os_error;
use crate::reference::Reference;

/// Who can mend it. Decides the wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The user's input: Tiltfile, YAML, Dockerfile, arguments.
    User,
    /// Something around us: cluster, Docker engine, registry, a taken port.
    Environment,
    /// A bug of lilt.
    Internal,
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

/// What did not answer. When it is back, the same may succeed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Away {
    /// The API server.
    Cluster,
    /// The Docker engine.
    Engine,
    /// The registry of this image, as the engine sees it.
    Registry(String),
    /// This machine: it lacks descriptors, memory, processes or disk space.
    Machine,
}

impl Away {
    /// When the same may succeed, to be read after "when".
    pub fn return_condition(&self) -> String {
        match self {
            Away::Machine => "this machine has files, memory and disk space to spare".to_owned(),
            other => format!("{other} answers"),
        }
    }
}

impl fmt::Display for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Away::Cluster => f.write_str("the cluster"),
            Away::Engine => f.write_str("the Docker engine"),
            Away::Registry(image) => match Reference::parse(image) {
                Ok(reference) => write!(f, "the registry {}", reference.domain()),
                Err(_) => write!(f, "the registry of {image}"),
            },
            Away::Machine => f.write_str("this machine"),
        }
    }
}

/// One error, told so that its reader can act on it.
///
/// Its texts may have an `io::Error` in them: what makes a failure leaves its number out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub class: Class,
    /// The cause in one sentence, without a trailing period; no location in it.
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// More lines to show under the message: a source excerpt, a stack, the tail of an output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// It failed because this did not answer, and for no other reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away: Option<Away>,
    /// Trying again is of little use until somebody changes something, such as a login that was rejected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub persistent: bool,
}

impl Failure {
    pub fn user(message: impl Into<String>) -> Self {
        Self::new(Class::User, message)
    }

    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(Class::Environment, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Class::Internal, message)
    }

    fn new(class: Class, message: impl Into<String>) -> Self {
        let message = os_error::plain(&message.into());
        Self { class, message, location: None, hint: None, detail: None, away: None, persistent: false }
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

    #[must_use]
    pub fn away(mut self, what: Away) -> Self {
        self.away = Some(what);
        self
    }

    /// Marks a failure that is retried seldom.
    #[must_use]
    pub fn persistent(mut self) -> Self {
        self.persistent = true;
        self
    }

    /// Marks a failure whose cause is a shortage of this machine: what failed is retried.
    #[must_use]
    pub fn caused_by(self, error: &io::Error) -> Self {
        match os_error::shortage(error) {
            Some(hint) => self.hint(hint).away(Away::Machine),
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
        if self.class == Class::Internal {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_place_cause_detail_and_hint() {
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
    fn numbers_of_the_operating_system_are_left_out_of_all_texts() {
        let error = io::Error::from_raw_os_error(2).to_string();
        assert!(error.contains("os error"));
        for new in [Failure::user, Failure::environment, Failure::internal] as [fn(String) -> Failure; 3] {
            let failure = new(error.clone()).detail(error.clone()).hint(error.clone()).to_string();
            assert!(!failure.contains("os error"), "{failure}");
        }
    }

    #[test]
    fn shortage_of_this_machine_is_marked_and_other_errors_are_not() {
        let failure = |number| {
            let error = io::Error::from_raw_os_error(number);
            Failure::environment(format!("cannot read app.py: {error}")).caused_by(&error)
        };
        let short = failure(24);
        assert_eq!(short.away, Some(Away::Machine));
        assert!(short.hint.is_some_and(|hint| hint.contains("ulimit -n")));
        assert_eq!(failure(28).away, Some(Away::Machine));
        let missing = failure(2);
        assert_eq!((missing.away, missing.hint), (None, None));
    }
}
