//! The result of `ci`.

use std::time::Duration;

use lilt_model::ResourceName;

use crate::describe::describe;
use crate::state::{ClusterState, State, TiltfileState};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All resources that start automatically are ready.
    Ready,
    Broken {
        resource: ResourceName,
        cause: String,
    },
    /// The timeout has passed: the resources that are not ready, with their progress.
    TimedOut {
        after: Duration,
        waiting: Vec<(ResourceName, String)>,
    },
}

/// Returns the result of `ci`; none while it is not known.
pub fn verdict(state: &State) -> Option<Verdict> {
    if let Some(failure) = &state.tiltfile.failure {
        return Some(Verdict::Broken { resource: ResourceName::tiltfile(), cause: failure.to_string() });
    }
    if let Some((resource, cause)) = state.settled.failed.first_key_value() {
        return Some(Verdict::Broken { resource: resource.clone(), cause: cause.clone() });
    }
    let unreached = |cluster: &ClusterState| cluster.wanted && cluster.info.is_none();
    let mut unreached = state.clusters.iter().filter(|(_, cluster)| unreached(cluster));
    if let Some(failure) = unreached.find_map(|(_, cluster)| cluster.failure.as_ref()) {
        return Some(Verdict::Broken { resource: ResourceName::tiltfile(), cause: failure.to_string() });
    }
    let loaded = state.tiltfile.loaded && !state.is_loading() && !state.objects.are_loading();
    if loaded && state.settled.waiting.is_empty() {
        return Some(Verdict::Ready);
    }
    state.timed_out.then(|| Verdict::TimedOut { after: state.ci_timeout(), waiting: waiting(state) })
}

fn waiting(state: &State) -> Vec<(ResourceName, String)> {
    let loading = state.all_tiltfiles().filter(|(_, tiltfile)| tiltfile.loading.is_some());
    let activity = |tiltfile: &TiltfileState| match tiltfile.loading.as_ref()?.activity.as_ref() {
        Some(activity) => Some(format!("loading: {activity}")),
        None => Some("loading".to_owned()),
    };
    let loading = loading.filter_map(|(name, tiltfile)| Some((name, activity(tiltfile)?)));
    let describe = |name: &ResourceName| Some((name.clone(), describe(state, state.resources.get(name)?)));
    loading.chain(state.settled.waiting.iter().filter_map(describe)).collect()
}
