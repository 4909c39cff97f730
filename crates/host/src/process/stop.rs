//! The end of a process: of its group, and of descendants that left the group.

use std::sync::atomic::Ordering;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{self, Signal};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpgrp, getpid};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::tree::{Member, carries, children, descendants};
use super::{Exit, MARK, Process};

/// How often we look whether those that were asked to end have done so.
const LOOK: Duration = Duration::from_millis(5);
/// How long the kernel may take to end what was killed. Only a process stuck in a system call takes longer.
const DEATH: Duration = Duration::from_secs(1);
/// Those that are killed may have started others meanwhile.
const ROUNDS: usize = 100;

/// What has left its command altogether: parent gone, own session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daemons {
    /// Ends with the command. Looks at all that have no parent any more.
    End,
    /// Is left for the guardian, which ends everything with the session.
    Leave,
}

impl Process {
    /// Ends the process, its group and all that descend from it: SIGTERM first, SIGKILL to what is left after `grace`.
    /// Also of a process that has ended: what it left.
    ///
    /// Cancelling it leaves the process running (or ending); dropping the `Process` then kills it.
    pub async fn stop(&mut self, grace: Duration, daemons: Daemons) -> Exit {
        let deadline = Instant::now() + grace;
        self.guardian.spare(self.id);
        let mut victims = Victims::of(self, daemons);
        let asked = descendants(self.pid);
        victims.send(Signal::SIGTERM);
        // Too late is as good as not at all: what is left is looked at below.
        if timeout_at(deadline, self.wait()).await.is_ok() && victims.any_left() {
            self.ask_newcomers(&asked);
        }
        while victims.any_left() {
            if Instant::now() >= deadline {
                victims.look_again();
                victims.send(Signal::SIGKILL);
                break;
            }
            sleep(LOOK).await;
        }
        let ended = timeout(DEATH, self.wait()).await;
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

    /// A leader may start another process in the very moment when its group is asked to end. Those who were asked are
    /// not asked twice: to some that means to hurry.
    fn ask_newcomers(&self, asked: &[Member]) {
        let Some(guardian) = self.guardian.pid() else { return };
        for orphan in children(guardian).into_iter().filter_map(Member::read) {
            let ours = orphan.group == self.pid && !orphan.ended;
            if ours && !asked.iter().any(|member| member.is_same(&orphan)) {
                report(signal::kill(orphan.pid, Signal::SIGTERM), orphan.pid);
            }
        }
    }

    /// What left its group in the very moment when that was asked to end.
    async fn kill_latecomers(&self) {
        for _ in 0..ROUNDS {
            let late: Vec<Member> = self.daemons().into_iter().filter(Member::runs).collect();
            if late.is_empty() {
                return;
            }
            for member in late {
                report(signal::kill(member.pid, Signal::SIGKILL), member.pid);
            }
            sleep(LOOK).await;
        }
    }

    /// Those that this command started and that the guardian has adopted.
    fn daemons(&self) -> Vec<Member> {
        let Some(guardian) = self.guardian.pid() else { return Vec::new() };
        let adopted = children(guardian).into_iter().filter(|pid| *pid != self.pid);
        let ours = adopted.filter(|pid| carries(*pid, MARK, &self.mark));
        ours.flat_map(|pid| Member::read(pid).into_iter().chain(descendants(pid))).collect()
    }
}

/// Asks a group to end, or kills it.
pub(super) fn signal_group(group: Pid, hard: bool) {
    report(signal::killpg(group, if hard { Signal::SIGKILL } else { Signal::SIGTERM }), group);
}

/// Kills a process, its group and its descendants without waiting.
pub(super) fn kill(pid: Pid) {
    let victims = Victims { group: Some(pid), leader: pid, outsiders: outsiders(pid) };
    victims.send(Signal::SIGKILL);
}

/// Whom to end.
struct Victims {
    leader: Pid,
    /// None: it ended with its leader, and its number may mean another one by now.
    group: Option<Pid>,
    /// Descendants that have left the group.
    outsiders: Vec<Member>,
}

impl Victims {
    fn of(process: &Process, daemons: Daemons) -> Victims {
        let leader = process.pid;
        let runs = process.runs.load(Ordering::Acquire);
        let mut victims = Victims {
            leader,
            group: runs.then_some(leader),
            outsiders: if runs { outsiders(leader) } else { Vec::new() },
        };
        if daemons == Daemons::End {
            victims.add(process.daemons());
        }
        victims
    }

    fn send(&self, signal: Signal) {
        if let Some(group) = self.group {
            report(signal::killpg(group, signal), group);
        }
        for member in self.outsiders.iter().filter(|member| member.runs()) {
            report(signal::kill(member.pid, signal), member.pid);
        }
    }

    /// Those that have ended were reaped by the guardian, and no longer count as members of the group.
    fn any_left(&self) -> bool {
        let in_group = self.group.is_some_and(|group| signal::killpg(group, None).is_ok());
        in_group || self.outsiders.iter().any(Member::runs)
    }

    /// Adds what was started since.
    fn look_again(&mut self) {
        let running: Vec<Pid> =
            self.outsiders.iter().filter(|member| member.runs()).map(|member| member.pid).collect();
        for pid in running {
            self.add(descendants(pid));
        }
        if self.group.is_some() {
            self.add(outsiders(self.leader));
        }
    }

    fn add(&mut self, members: Vec<Member>) {
        for member in members {
            // Where the group is signalled as a whole, its members are not asked twice.
            let is_asked = self.group.is_some_and(|group| group == member.group);
            if !is_asked && !self.outsiders.contains(&member) {
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

/// Children that came to us because their parents ended, and not by our own doing: our own commands lead a group in our
/// session, those of other libraries stay in our group; both are left to those who wait for them.
fn adopted() -> Vec<Member> {
    let Some(own) = Member::read(getpid()) else { return Vec::new() };
    let strange = |member: &Member| member.group != member.pid || member.session != own.session;
    let members = children(getpid()).into_iter().filter_map(Member::read);
    members
        .filter(|member| strange(member) && member.group != getpgrp() && !member.is_guardian(&own))
        .collect()
}

/// Reaps processes that were left to us by parents that ended; says how many.
pub fn reap_adopted() -> usize {
    let ended = adopted().into_iter().filter(|member| member.ended);
    ended.filter(|member| waitpid(member.pid, Some(WaitPidFlag::WNOHANG)).is_ok()).count()
}

/// Kills and reaps all that was left to us.
pub(super) fn kill_adopted() {
    for _ in 0..ROUNDS {
        let mut left = adopted();
        if left.is_empty() {
            return;
        }
        let below: Vec<Member> = left.iter().flat_map(|member| descendants(member.pid)).collect();
        left.extend(below);
        for member in left.into_iter().filter(Member::runs) {
            report(signal::kill(member.pid, Signal::SIGKILL), member.pid);
        }
        std::thread::sleep(LOOK);
        reap_adopted();
    }
}
