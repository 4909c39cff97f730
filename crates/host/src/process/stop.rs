//! Stops a process, its group, and descendants that have left the group.

use std::sync::atomic::Ordering;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{self, Signal};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpgrp, getpid};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::tree::{Member, children, descendants, has_variable};
use super::{COMMAND_VARIABLE, Exit, Process};

/// How often to check whether processes have exited.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long the kernel may take to end a killed process. Only a process stuck in a system call takes longer.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);
/// How often to repeat a kill: processes may start others until they are dead.
const ROUNDS: usize = 100;

/// What to do with a command's daemons: processes in their own session whose parent has exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daemons {
    /// Stop them with the command. Checks all orphans that the guardian has adopted.
    End,
    /// Leave them to the guardian, which stops everything at the end of the session.
    Leave,
}

impl Process {
    /// Stops the process, its group and its descendants: SIGTERM first, SIGKILL to those left after `grace`. Works
    /// after the process has exited, too: then it stops what the process left.
    ///
    /// Cancelling this leaves the process running; dropping the `Process` then kills it.
    pub async fn stop(&mut self, grace: Duration, daemons: Daemons) -> Exit {
        let deadline = Instant::now() + grace;
        self.guardian.keep_group(self.id);
        let mut targets = Targets::of(self, daemons);
        let signalled = descendants(self.pid);
        targets.send(Signal::SIGTERM);
        // A timeout needs no handling here: remaining processes are killed below.
        if timeout_at(deadline, self.wait()).await.is_ok() && targets.any_left() {
            self.signal_newcomers(&signalled);
        }
        while targets.any_left() {
            if Instant::now() >= deadline {
                targets.refresh();
                targets.send(Signal::SIGKILL);
                break;
            }
            sleep(POLL_INTERVAL).await;
        }
        let ended = timeout(KILL_TIMEOUT, self.wait()).await;
        if daemons == Daemons::End {
            self.kill_latecomers().await;
        }
        match ended {
            Ok(exit) => exit,
            Err(_) => {
                tracing::warn!(
                    pid = self.pid.as_raw(),
                    "a killed process does not end: it is stuck in the kernel"
                );
                Exit::Signal(Signal::SIGKILL as i32)
            }
        }
    }

    /// Sends SIGTERM to processes that the leader started just when its group got the signal. Processes that already
    /// got it are skipped: some programs exit immediately on a second SIGTERM.
    fn signal_newcomers(&self, signalled: &[Member]) {
        let Some(guardian) = self.guardian.pid() else { return };
        for orphan in children(guardian).into_iter().filter_map(Member::read) {
            let is_ours = orphan.group == self.pid && !orphan.ended;
            if is_ours && !signalled.iter().any(|member| member.is_same(&orphan)) {
                log_error(signal::kill(orphan.pid, Signal::SIGTERM), orphan.pid);
            }
        }
    }

    /// Kills processes that left the group just when it got the signal.
    async fn kill_latecomers(&self) {
        for _ in 0..ROUNDS {
            let late: Vec<Member> = self.daemons().into_iter().filter(Member::is_running).collect();
            if late.is_empty() {
                return;
            }
            for member in late {
                log_error(signal::kill(member.pid, Signal::SIGKILL), member.pid);
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns the processes of this command that the guardian has adopted, and their descendants.
    fn daemons(&self) -> Vec<Member> {
        let Some(guardian) = self.guardian.pid() else { return Vec::new() };
        let adopted = children(guardian).into_iter().filter(|pid| *pid != self.pid);
        let is_ours = adopted.filter(|pid| has_variable(*pid, COMMAND_VARIABLE, &self.command_tag));
        is_ours.flat_map(|pid| Member::read(pid).into_iter().chain(descendants(pid))).collect()
    }
}

/// Sends SIGTERM, or SIGKILL if `hard`, to a group.
pub(super) fn signal_group(group: Pid, hard: bool) {
    log_error(signal::killpg(group, if hard { Signal::SIGKILL } else { Signal::SIGTERM }), group);
}

/// Kills a process, its group and its descendants without waiting.
pub(super) fn kill(pid: Pid) {
    let targets = Targets { group: Some(pid), leader: pid, outsiders: outsiders(pid) };
    targets.send(Signal::SIGKILL);
}

/// The processes to stop.
struct Targets {
    leader: Pid,
    /// `None` if it ended with its leader; its id may belong to another group by now.
    group: Option<Pid>,
    /// Descendants that have left the group.
    outsiders: Vec<Member>,
}

impl Targets {
    fn of(process: &Process, daemons: Daemons) -> Targets {
        let leader = process.pid;
        let is_running = process.is_running.load(Ordering::Acquire);
        let mut targets = Targets {
            leader,
            group: is_running.then_some(leader),
            outsiders: if is_running { outsiders(leader) } else { Vec::new() },
        };
        if daemons == Daemons::End {
            targets.add(process.daemons());
        }
        targets
    }

    fn send(&self, signal: Signal) {
        if let Some(group) = self.group {
            log_error(signal::killpg(group, signal), group);
        }
        for member in self.outsiders.iter().filter(|member| member.is_running()) {
            log_error(signal::kill(member.pid, signal), member.pid);
        }
    }

    /// Returns whether any process is left. Exited ones were reaped by the guardian and are no members of the group.
    fn any_left(&self) -> bool {
        let in_group = self.group.is_some_and(|group| signal::killpg(group, None).is_ok());
        in_group || self.outsiders.iter().any(Member::is_running)
    }

    /// Adds processes that were started meanwhile.
    fn refresh(&mut self) {
        let running: Vec<Pid> =
            self.outsiders.iter().filter(|member| member.is_running()).map(|member| member.pid).collect();
        for pid in running {
            self.add(descendants(pid));
        }
        if self.group.is_some() {
            self.add(outsiders(self.leader));
        }
    }

    fn add(&mut self, members: Vec<Member>) {
        for member in members {
            // Members of a group that is signalled as a whole must not get the signal twice.
            let is_signalled = self.group.is_some_and(|group| group == member.group);
            if !is_signalled && !self.outsiders.contains(&member) {
                self.outsiders.push(member);
            }
        }
    }
}

fn outsiders(leader: Pid) -> Vec<Member> {
    descendants(leader).into_iter().filter(|member| member.group != leader).collect()
}

fn log_error(result: nix::Result<()>, pid: Pid) {
    match result {
        // It ended before.
        Ok(()) | Err(Errno::ESRCH) => {}
        // A member runs as another user (sudo): we have no permission to stop it.
        Err(error) => tracing::warn!(pid = pid.as_raw(), %error, "cannot send a signal"),
    }
}

/// Returns children that this process adopted, as opposed to those that it started. Our own commands lead a group in
/// our session, children of libraries stay in our group; whoever started those waits for them.
fn adopted() -> Vec<Member> {
    let Some(own) = Member::read(getpid()) else { return Vec::new() };
    let is_adopted = |member: &Member| member.group != member.pid || member.session != own.session;
    let members = children(getpid()).into_iter().filter_map(Member::read);
    members
        .filter(|member| is_adopted(member) && member.group != getpgrp() && !member.is_guardian(&own))
        .collect()
}

/// Reaps adopted processes that have exited and returns their number.
pub fn reap_adopted() -> usize {
    let ended = adopted().into_iter().filter(|member| member.ended);
    ended.filter(|member| waitpid(member.pid, Some(WaitPidFlag::WNOHANG)).is_ok()).count()
}

/// Kills and reaps all adopted processes.
pub(super) fn kill_adopted() {
    for _ in 0..ROUNDS {
        let mut left = adopted();
        if left.is_empty() {
            return;
        }
        let below: Vec<Member> = left.iter().flat_map(|member| descendants(member.pid)).collect();
        left.extend(below);
        for member in left.into_iter().filter(Member::is_running) {
            log_error(signal::kill(member.pid, Signal::SIGKILL), member.pid);
        }
        std::thread::sleep(POLL_INTERVAL);
        reap_adopted();
    }
}
