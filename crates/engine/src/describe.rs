//! Describes the progress of a resource in a few words, for its dependents and for the final report of `ci`.

use lilt_api::RuntimeStatus;

use crate::runtime::runtime;
use crate::state::{ResourceState, State};

pub(crate) fn describe(state: &State, resource: &ResourceState) -> String {
    if resource.disabled {
        return "disabled".into();
    }
    if let Some(update) = &resource.update {
        let stage = update.stages.iter().rev().find(|stage| stage.end.is_none());
        return stage.map_or("updating".into(), |stage| format!("updating: {}", stage.words()));
    }
    if let Some(hold) = &resource.hold {
        return hold.brief();
    }
    if let Some(failure) = resource.last().and_then(|last| last.failure.as_ref()) {
        return format!("failed: {}", failure.message);
    }
    let now = runtime(state, resource);
    let because = |word: &str| match &now.message {
        Some(message) => format!("{word}: {message}"),
        None => word.to_owned(),
    };
    match now.status {
        RuntimeStatus::Error => because("error"),
        RuntimeStatus::Pending => because("starting"),
        _ if resource.last().is_none() => "not started".into(),
        _ => "ready".into(),
    }
}
