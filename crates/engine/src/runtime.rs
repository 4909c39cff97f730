//! The runtime status of resources.

use lilt_api::RuntimeStatus;
use lilt_model::resource::Body;

use crate::controllers::command::{CommandPhase, Readiness};
use crate::event::CommandExit;
use crate::owner::Owner;
use crate::state::{BodyState, ResourceState, State};

mod kubernetes;
mod pods;
mod words;

use kubernetes::deployed;
pub(crate) use kubernetes::{cannot_run, failed_pod, is_broken};
pub(crate) use pods::{all_pods, current_pods, discovered_pods, has_ended, newest_pod, newest_rollouts};

/// A runtime status and, unless it is good, the reason.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Runtime {
    pub(crate) status: RuntimeStatus,
    pub(crate) message: Option<String>,
}

impl Runtime {
    fn of(status: RuntimeStatus) -> Self {
        Self { status, message: None }
    }

    pub(crate) fn because(status: RuntimeStatus, message: impl Into<String>) -> Self {
        Self { status, message: Some(message.into()) }
    }

    pub(crate) fn is_good(&self) -> bool {
        matches!(self.status, RuntimeStatus::Ok | RuntimeStatus::NotApplicable)
    }
}

pub(crate) fn runtime(state: &State, resource: &ResourceState) -> Runtime {
    if resource.disabled {
        return Runtime::of(RuntimeStatus::None);
    }
    match (&resource.body, &resource.spec.body) {
        (BodyState::Local(_), Body::Local(spec)) if spec.serve.is_some() => serve(state, resource),
        (BodyState::Kubernetes(kubernetes), Body::Kubernetes(spec)) => {
            deployed(state, kubernetes, spec).unwrap_or_else(|| not_begun(resource))
        }
        _ => Runtime::of(RuntimeStatus::NotApplicable),
    }
}

fn not_begun(resource: &ResourceState) -> Runtime {
    let comes_by_itself = resource.spec.auto_init || resource.started_once || resource.triggered.is_some();
    Runtime::of(if comes_by_itself { RuntimeStatus::Pending } else { RuntimeStatus::None })
}

fn serve(state: &State, resource: &ResourceState) -> Runtime {
    let Some(run) = state.commands.get(&Owner::from(&resource.spec.name)) else { return not_begun(resource) };
    match run.phase() {
        CommandPhase::Starting => Runtime::of(RuntimeStatus::Pending),
        CommandPhase::Running { readiness: Readiness::Ready, .. } => Runtime::of(RuntimeStatus::Ok),
        CommandPhase::Running { readiness: Readiness::NotReady(cause), .. } => {
            let cause = cause.as_deref().unwrap_or("its probe has not succeeded yet");
            Runtime::because(RuntimeStatus::Pending, format!("not ready: {cause}"))
        }
        CommandPhase::Ended { exit, .. } => Runtime::because(RuntimeStatus::Error, exit_words(exit)),
    }
}

fn exit_words(exit: &CommandExit) -> String {
    match exit {
        CommandExit::Code(code) => format!("server exited with code {code}{}", code_words(*code)),
        CommandExit::Signal(signal) => {
            format!("server was ended by signal {signal}{}", signal_words(*signal))
        }
        CommandExit::Failed(failure) => format!("server could not be started: {}", failure.message),
    }
}

fn code_words(code: i32) -> String {
    match code {
        126 => " (its program cannot be executed)".into(),
        127 => " (its program was not found)".into(),
        // The convention of shells.
        129..=159 => format!(" (signal {}{})", code - 128, signal_words(code - 128)),
        _ => String::new(),
    }
}

fn signal_words(signal: i32) -> &'static str {
    match signal {
        1 => ", SIGHUP",
        2 => ", SIGINT",
        4 => ", SIGILL",
        6 => ", SIGABRT: it gave up by itself",
        7 => ", SIGBUS",
        8 => ", SIGFPE",
        9 => ", SIGKILL: killed from outside, maybe for want of memory",
        11 => ", SIGSEGV: it crashed",
        13 => ", SIGPIPE",
        15 => ", SIGTERM",
        _ => "",
    }
}
