//! The status of a `Cmd`.

use lilt_api::{CmdStateRunning, CmdStateTerminated, CmdStateWaiting, CmdStatus};
use lilt_model::Timestamp;

use super::state::{CommandPhase, Readiness};
use crate::event::CommandExit;
use crate::owner::Owner;
use crate::state::State;

/// Returns the status of a command. One that was not started is waiting.
pub(crate) fn status(state: &State, owner: &Owner) -> CmdStatus {
    match state.commands.get(owner).map(|run| &run.phase) {
        None | Some(CommandPhase::Starting) => waiting(),
        Some(CommandPhase::Running { pid, since, readiness }) => CmdStatus {
            running: Some(CmdStateRunning { pid: api_pid(*pid), started_at: Some(*since) }),
            ready: *readiness == Readiness::Ready,
            ..CmdStatus::default()
        },
        Some(CommandPhase::Ended { exit, at, ran }) => {
            let (ready, pid, since) =
                ran.as_ref().map_or((false, 0, *at), |ran| (ran.ready, ran.pid, ran.since));
            terminated(ready, pid, since, *at, exit)
        }
    }
}

/// Returns the status of a command that has not started.
pub(crate) fn waiting() -> CmdStatus {
    CmdStatus { waiting: Some(CmdStateWaiting::default()), ..CmdStatus::default() }
}

/// Returns the status of a command that has ended.
pub(crate) fn terminated(
    ready: bool,
    pid: u32,
    started: Timestamp,
    finished: Timestamp,
    exit: &CommandExit,
) -> CmdStatus {
    let (exit_code, reason) = exit.code_and_reason();
    let ended = CmdStateTerminated {
        pid: api_pid(pid),
        started_at: Some(started),
        finished_at: Some(finished),
        exit_code,
        reason,
    };
    CmdStatus { ready, terminated: Some(ended), ..CmdStatus::default() }
}

/// Returns a process id as the API writes it. No system has larger ones.
pub(crate) fn api_pid(pid: u32) -> i32 {
    i32::try_from(pid).unwrap_or(i32::MAX)
}
