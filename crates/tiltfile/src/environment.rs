//! The environment variables of the load that runs on this thread: those of lilt with the changes of the Tiltfile.
//!
//! A load never changes the environment of its own process, which other loads and threads share. It is a thread-local
//! because values such as `os.environ` have no access to the state of the load.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::request::LoadRequest;

#[derive(Default)]
struct Environment {
    variables: BTreeMap<String, String>,
    /// The variables that were set and removed, in order.
    changes: Vec<(String, Option<String>)>,
}

thread_local! {
    static ENVIRONMENT: RefCell<Environment> = RefCell::default();
}

/// Sets the environment of a new load: `variables` with the changes of earlier loads.
pub(crate) fn begin(variables: Vec<(String, String)>, changed: &[(String, Option<String>)]) {
    ENVIRONMENT.set(Environment { variables: variables.into_iter().collect(), changes: Vec::new() });
    changed.iter().for_each(|(name, value)| set(name, value.clone()));
}

/// Returns the changed variables with their current values; none for a removed one.
pub(crate) fn changes() -> Vec<(String, Option<String>)> {
    let last: BTreeMap<_, _> =
        ENVIRONMENT.with_borrow(|environment| environment.changes.iter().cloned().collect());
    last.into_iter().collect()
}

/// Returns all variables, sorted by name.
pub(crate) fn all() -> Vec<(String, String)> {
    ENVIRONMENT.with_borrow(|environment| {
        environment.variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    })
}

pub(crate) fn get(name: &str) -> Option<String> {
    ENVIRONMENT.with_borrow(|environment| environment.variables.get(name).cloned())
}

/// Sets a variable, or removes it.
pub(crate) fn set(name: &str, value: Option<String>) {
    // No process can have such a variable.
    if name.is_empty()
        || name.contains(['=', '\0'])
        || value.as_ref().is_some_and(|value| value.contains('\0'))
    {
        return;
    }
    ENVIRONMENT.with_borrow_mut(|environment| {
        match &value {
            Some(value) => drop(environment.variables.insert(name.to_owned(), value.clone())),
            None => drop(environment.variables.remove(name)),
        }
        environment.changes.push((name.to_owned(), value));
    });
}

/// Returns the environment of a command: that of the load, and the session's defaults for what it does not set. Only
/// `KUBECONFIG` is overridden: all commands use the cluster of the session.
pub(crate) fn for_commands(request: &LoadRequest, kubeconfig: Option<PathBuf>) -> Vec<(String, String)> {
    let mut variables: BTreeMap<String, String> = all().into_iter().collect();
    for (name, value) in &request.variables {
        variables.entry(name.clone()).or_insert_with(|| value.clone());
    }
    for (name, value) in
        [("LINES", "24"), ("COLUMNS", "80"), ("PYTHONUNBUFFERED", "1"), ("TILT_DISABLE_ANALYTICS", "1")]
    {
        variables.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    if !request.programs.is_empty() {
        let path = variables.entry("PATH".to_owned()).or_default();
        for folder in &request.programs {
            path.push_str(if path.is_empty() { "" } else { PATH_SEPARATOR });
            path.push_str(&folder.display().to_string());
        }
    }
    if let Some(kubeconfig) = kubeconfig {
        variables.insert("KUBECONFIG".to_owned(), kubeconfig.display().to_string());
    }
    variables.into_iter().collect()
}

const PATH_SEPARATOR: &str = if cfg!(windows) { ";" } else { ":" };
