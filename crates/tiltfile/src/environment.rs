//! The environment variables of the load that runs on this thread: those of lilt with what the Tiltfile changed.
//!
//! A load never touches the environment of its own process: other loads and threads have it, too. It lives with the
//! thread because values such as `os.environ` must find it without being handed anything.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::request::LoadRequest;

#[derive(Default)]
struct Environment {
    variables: BTreeMap<String, String>,
    /// What was set and removed, in order.
    changes: Vec<(String, Option<String>)>,
}

thread_local! {
    static ENVIRONMENT: RefCell<Environment> = RefCell::default();
}

/// Begins a load, after others that changed this.
pub(crate) fn begin(variables: Vec<(String, String)>, changed: &[(String, Option<String>)]) {
    ENVIRONMENT.set(Environment { variables: variables.into_iter().collect(), changes: Vec::new() });
    changed.iter().for_each(|(name, value)| set(name, value.clone()));
}

/// What the load changed: for each variable what it is now, none if it was removed.
pub(crate) fn changes() -> Vec<(String, Option<String>)> {
    let last: BTreeMap<_, _> =
        ENVIRONMENT.with_borrow(|environment| environment.changes.iter().cloned().collect());
    last.into_iter().collect()
}

/// All variables, sorted by name.
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
    // No process can be given such a variable.
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

/// The environment of a command: that of the load, and what commands of a session get unless it is set. Only their
/// kubeconfig is given whatever is set: all commands meet the cluster that the session meets.
pub(crate) fn of_children(request: &LoadRequest, kubeconfig: Option<PathBuf>) -> Vec<(String, String)> {
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
