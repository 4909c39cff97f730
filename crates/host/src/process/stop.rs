//! The end of a process: of its group, and of descendants that left the group.

use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{self, Signal};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpgrp, getpid};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::tree::{Member, children, descendants};
use super::{Exit, Process};

/// How often we look whether those that were asked to end have done so.
const LOOK: Duration = Duration::from_millis(5);
/// How long the kernel may take to end what was killed. Only a process stuck in a system call takes longer.
const DEATH: Duration = Duration::from_secs(1);

impl Process {
    /// Ends the process, its group and all that descend from it: SIGTERM first, SIGKILL to what is left after `grace`.
    ///
    /// Cancelling it leaves the process running (or ending); dropping the `Process` then kills it.
    pub async fn stop(&mut self, grace: Duration) -> Exit {
        let deadline = Instant::now() + grace;
        let mut victims = Victims::of(self);
        victims.send(Signal::SIGTERM);
        // Too late is as good as not at all: what is left is looked at below.
        let _ = timeout_at(deadline, self.wait()).await;
        while victims.any_left(self.exit.is_some()) {
            if Instant::now() >= deadline {
                victims.look_again(self.exit.is_none());
                victims.send(Signal::SIGKILL);
                break;
            }
            sleep(LOOK).await;
        }
        let exit = match timeout(DEATH, self.wait()).await {
            Ok(exit) => exit,
            Err(_) => {
                tracing::warn!(
                    pid = self.pid.as_raw(),
                    "a killed process does not end: it is stuck in the kernel"
                );
                Exit::Signal(Signal::SIGKILL as i32)
            }
        };
        victims.reap(self.exit.is_some());
        exit
    }
}

/// Kills a process, its group and its descendants without waiting.
pub(super) fn kill(pid: Pid) {
    let victims = Victims { group: Some(pid), leader: pid, outsiders: outsiders(pid) };
    victims.send(Signal::SIGKILL);
}

/// Whom to end.
struct Victims {
    leader: Pid,
    /// None: nobody is left in it, and its number may mean another one by now.
    group: Option<Pid>,
    /// Descendants that have left the group.
    outsiders: Vec<Member>,
}

impl Victims {
    fn of(process: &Process) -> Victims {
        let leader = process.pid;
        // While a group has members, no process gets its number. So a process of that number, after the leader was
        // reaped, is a stranger.
        let strange = process.exit.is_some() && Member::read(leader).is_some();
        let group = (!strange).then_some(leader);
        let outsiders = if process.exit.is_some() { Vec::new() } else { outsiders(leader) };
        Victims { leader, group, outsiders }
    }

    fn send(&self, signal: Signal) {
        if let Some(group) = self.group {
            report(signal::killpg(group, signal), group);
        }
        for member in self.outsiders.iter().filter(|member| member.runs()) {
            report(signal::kill(member.pid, signal), member.pid);
        }
    }

    fn any_left(&self, leader_reaped: bool) -> bool {
        // Those that have ended but were not reaped still count as members of the group.
        self.reap(leader_reaped);
        let in_group = self.group.is_some_and(|group| signal::killpg(group, None).is_ok());
        in_group || self.outsiders.iter().any(Member::runs)
    }

    /// Reaps those that were left to us (see [`super::become_subreaper`]), and never the leader: that is the
    /// supervisor's.
    fn reap(&self, leader_reaped: bool) {
        let members = self.group.filter(|_| leader_reaped).map(|group| Pid::from_raw(-group.as_raw()));
        for pid in members.into_iter().chain(self.outsiders.iter().map(|member| member.pid)) {
            while matches!(waitpid(pid, Some(WaitPidFlag::WNOHANG)), Ok(status) if status.pid().is_some()) {}
        }
    }

    /// Adds what was started since.
    fn look_again(&mut self, leader_runs: bool) {
        let running: Vec<Pid> =
            self.outsiders.iter().filter(|member| member.runs()).map(|member| member.pid).collect();
        for pid in running {
            self.add(descendants(pid));
        }
        if leader_runs {
            self.add(outsiders(self.leader));
        }
    }

    fn add(&mut self, members: Vec<Member>) {
        for member in members {
            if member.group != self.leader && !self.outsiders.contains(&member) {
                self.outsiders.push(member);
            }
        }
    }
}

fn outsiders(leader: Pid) -> Vec<Member> {
    descendants(leader).into_iter().filter(|member| member.group != leader).collect()
}

fn report(result: nix::Result<()>, pid: Pid) {
    match result {
        // It ended before.
        Ok(()) | Err(Errno::ESRCH) => {}
        // A member runs as another user (sudo); nothing lets us end that.
        Err(error) => tracing::warn!(pid = pid.as_raw(), %error, "cannot send a signal"),
    }
}

/// Reaps processes that were left to us by parents that ended (see [`super::become_subreaper`]); says how many.
///
/// Our own children lead a group in our session, those of other libraries stay in our group; both are left to those
/// who wait for them.
pub fn reap_adopted() -> usize {
    let own = Member::read(getpid()).map(|own| own.session);
    let adopted = children(getpid()).into_iter().filter_map(Member::read).filter(|member| {
        member.ended
            && (member.group != member.pid || Some(member.session) != own)
            && member.group != getpgrp()
    });
    adopted.filter(|member| waitpid(member.pid, Some(WaitPidFlag::WNOHANG)).is_ok()).count()
}
