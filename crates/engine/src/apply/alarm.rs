//! Alarms: times that the session waits for.

use lilt_model::settings::CiSettings;

use crate::state::{Mode, State};

/// Evaluates everything whose alarm is due.
pub(super) fn woke(state: &mut State) {
    while let Some((at, whose)) = state.alarms.first().cloned().filter(|(at, _)| *at <= state.now) {
        state.alarms.remove(&(at, whose.clone()));
        match whose {
            Some(name) => {
                if let Some(resource) = state.resources.get_mut(&name) {
                    resource.alarm = None;
                    if let Some(kubernetes) = resource.kubernetes_mut() {
                        kubernetes.waits_until.take_if(|until| *until <= state.now);
                    }
                }
                state.touch(&name);
            }
            None => {
                state.session_alarm = None;
                state.timed_out = state.options.mode == Mode::Ci;
            }
        }
    }
    state.touch_session();
}

/// Applies the timeout of `ci`: that of the Tiltfile, or else that of the command line.
pub(super) fn limit_ci(state: &mut State) {
    if state.options.mode != Mode::Ci || state.timed_out {
        return;
    }
    let limit = state.ci_timeout();
    let end = (!limit.is_zero()).then(|| state.started.plus(limit));
    state.set_alarm(None, end);
}

impl State {
    pub(crate) fn ci_timeout(&self) -> std::time::Duration {
        self.settings.ci.timeout.or(self.options.ci_timeout).unwrap_or(CiSettings::TIMEOUT)
    }
}
