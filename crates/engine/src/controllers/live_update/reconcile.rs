//! What tasks report.

use lilt_model::timeline::StageKind;
use lilt_model::{ContainerId, Failure};

use super::{object, resource};
use crate::event::SyncFault;
use crate::owner::Owner;
use crate::state::State;
use crate::timeline;

/// A container has got what it was given, or could not.
pub(crate) fn synced(
    state: &mut State,
    owner: &Owner,
    run: u64,
    container: &ContainerId,
    outcome: Result<(), SyncFault>,
) {
    match owner {
        Owner::Resource(name) => resource::synced(state, name, run, container, outcome),
        Owner::Object(key) => object::synced(state, key, run, container, outcome),
    }
}

/// A task has come to the next stage.
pub(crate) fn stage_began(state: &mut State, owner: &Owner, run: u64, stage: StageKind, detail: &str) {
    match owner {
        Owner::Resource(name) => timeline::stage_began(state, name, run, stage, detail),
        Owner::Object(key) => object::stage_began(state, key, run, stage, detail),
    }
}

/// A runner panicked: a bug of ours.
pub(crate) fn broke(state: &mut State, owner: &Owner, container: &ContainerId, failure: Failure) {
    let run = match owner {
        Owner::Resource(name) => resource::note_broken(state, name, container),
        Owner::Object(key) => object::note_broken(state, key, container),
    };
    if let Some(run) = run {
        synced(state, owner, run, container, Err(SyncFault::Transport(failure)));
    }
}
