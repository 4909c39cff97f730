//! Handles requests of users and scripts.

use lilt_model::log::Level;
use lilt_model::request::{Request, TriggerReason};
use lilt_model::resource::TriggerMode;
use lilt_model::{Failure, FailureKind, ResourceName};

use crate::apply::update::CANCELLED;
use crate::apply::{cluster, load, switch, update};
use crate::controllers::live_update;
use crate::outage;
use crate::state::State;

pub(crate) fn requested(state: &mut State, request: Request) {
    match request {
        Request::Trigger { resource, reason } => trigger(state, &resource, reason),
        Request::Cancel { resource } => cancel(state, &resource),
        Request::Switch { enable, disable } => {
            for name in &disable {
                switch::set(state, name, false);
            }
            for name in &enable {
                switch::set(state, name, true);
            }
            switch::note_cluster(state);
        }
        Request::SetTriggerMode { resources, mode } => {
            for name in resources {
                set_trigger_mode(state, &name, mode);
            }
        }
        Request::SetArgs { args } => set_args(state, &ResourceName::tiltfile(), args),
        Request::Reconnect => {
            cluster::reconnect(state);
            outage::probe_now(state);
        }
    }
}

fn trigger(state: &mut State, name: &ResourceName, reason: TriggerReason) {
    if let Some(tiltfile) = state.tiltfile_named_mut(name) {
        tiltfile.triggered = true;
        load::request(state, name);
        return;
    }
    let sequence = state.next_sequence();
    if let Some(resource) = state.resources.get_mut(name).filter(|resource| !resource.disabled) {
        resource.trigger_reason = match resource.triggered {
            Some(_) => resource.trigger_reason.with(reason),
            None => reason,
        };
        // A second trigger before the first was served changes nothing else.
        resource.triggered.get_or_insert(sequence);
        state.touch(name);
        // The session lists the triggered resources.
        state.touch_session();
    }
}

/// Cancels the running update. Its changes are not retried automatically.
pub(crate) fn cancel(state: &mut State, name: &ResourceName) {
    let failure = Failure::new(FailureKind::Cancelled, CANCELLED);
    if let Some(tiltfile) = state.tiltfile_named(name) {
        if tiltfile.loading.is_some() {
            state.note(name, Level::Error, format!("ERROR: {CANCELLED}"));
            load::broke(state, name, failure);
        }
        return;
    }
    let Some(resource) = state.resources.get_mut(name) else { return };
    let Some(id) = resource.update.as_ref().map(|update| update.id) else {
        // Nothing runs: cancels a pending trigger and a pending retry.
        let (triggered, pending_retry) = (resource.triggered.take(), resource.pending_retry.take());
        if triggered.is_some() || pending_retry.is_some() {
            state.touch(name);
        }
        if triggered.is_some() {
            state.touch_session();
        }
        return;
    };
    let Some(cancelled) = update::take(state, name, id) else { return };
    if let Some(resource) = state.resources.get_mut(name) {
        resource.pending_retry = None;
    }
    if let Some(kubernetes) = state.resources.get_mut(name).and_then(|it| it.kubernetes_mut()) {
        live_update::cancel(kubernetes, &cancelled.kind, cancelled.snapshot);
    }
    state.note_update(name, cancelled.id, Level::Error, format!("ERROR: Build Failed: {CANCELLED}"));
    update::finish(state, name, cancelled, false, Some(failure), Vec::new());
}

fn set_trigger_mode(state: &mut State, name: &ResourceName, mode: TriggerMode) {
    if state.tiltfile_named(name).is_some() {
        state.trigger_modes.insert(name.clone(), mode);
        load::follow_mode(state, name);
    } else if let Some(resource) = state.resources.get_mut(name) {
        resource.trigger_mode = mode;
        state.trigger_modes.insert(name.clone(), mode);
        state.touch(name);
    }
}

/// Sets the Tiltfile arguments. Unchanged arguments do not reload it, as in Tilt.
pub(crate) fn set_args(state: &mut State, name: &ResourceName, args: Vec<String>) {
    if let Some(tiltfile) = state.tiltfile_named_mut(name).filter(|tiltfile| tiltfile.args != args) {
        tiltfile.args = args;
        tiltfile.args_changed = true;
        load::request(state, name);
    }
}
