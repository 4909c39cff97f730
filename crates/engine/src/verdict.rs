//! Whether `ci` is done.

use lilt_model::ResourceName;

use crate::state::State;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything that comes up by itself is up.
    Ready,
    Broken {
        resource: ResourceName,
        cause: String,
    },
}

/// None: not yet known.
pub fn verdict(state: &State) -> Option<Verdict> {
    if let Some(failure) = &state.tiltfile.failure {
        return Some(Verdict::Broken { resource: ResourceName::tiltfile(), cause: failure.to_string() });
    }
    if let Some((resource, cause)) = state.settled.failed.first_key_value() {
        return Some(Verdict::Broken { resource: resource.clone(), cause: cause.clone() });
    }
    if let Some(failure) =
        state.cluster.failure.as_ref().filter(|_| state.cluster.wanted && state.cluster.info.is_none())
    {
        return Some(Verdict::Broken { resource: ResourceName::tiltfile(), cause: failure.to_string() });
    }
    let loaded = state.tiltfile.loaded && state.tiltfile.loading.is_none();
    (loaded && state.settled.waiting.is_empty()).then_some(Verdict::Ready)
}
