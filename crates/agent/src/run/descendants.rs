//! Finds the remaining descendants of an exited process in any group or session. This process adopts them as their
//! subreaper.

use std::collections::{HashMap, HashSet};
use std::fs;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::{Pid, getpid};

#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    session: i32,
    /// It is a zombie.
    is_zombie: bool,
}

/// Returns the descendants of this process that it may signal.
pub(super) fn find() -> Vec<Pid> {
    let left = descendants(&processes(), getpid().as_raw()).into_iter().map(Pid::from_raw);
    // Waiting for processes of other users would be in vain.
    left.filter(|pid| kill(*pid, None) != Err(Errno::EPERM)).collect()
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = entries.filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit());
    // Processes that have exited meanwhile are skipped.
    numbered.filter_map(|entry| parse(&fs::read_to_string(entry.path().join("stat")).ok()?)).collect()
}

/// Parses `pid (name) state parent group session …`; the name may contain anything.
fn parse(stat: &str) -> Option<Process> {
    let (pid, _) = stat.split_once(' ')?;
    let mut rest = stat.rsplit_once(')')?.1.split_whitespace();
    let is_zombie = matches!(rest.next()?, "Z" | "X");
    let parent = rest.next()?.parse().ok()?;
    let session = rest.nth(1)?.parse().ok()?;
    Some(Process { pid: pid.parse().ok()?, parent, session, is_zombie })
}

/// Returns running descendants, except for those that an exec into the container has left, such as a `run` step of a
/// live update: pid 1 adopts all orphans. Their session leader still exists and is no descendant.
fn descendants(all: &[Process], own: i32) -> Vec<i32> {
    let family: HashSet<i32> = below(all, own, |_| true).into_iter().map(|it| it.pid).chain([own]).collect();
    let leaders: HashSet<i32> = all.iter().map(|it| it.pid).filter(|pid| !family.contains(pid)).collect();
    let session = all.iter().find(|it| it.pid == own).map(|it| it.session);
    let is_own = |it: &Process| Some(it.session) == session || !leaders.contains(&it.session);
    below(all, own, is_own).into_iter().filter(|it| !it.is_zombie).map(|it| it.pid).collect()
}

/// Returns the wanted processes below one, reached through wanted processes only.
fn below(all: &[Process], top: i32, wanted: impl Fn(&Process) -> bool) -> Vec<&Process> {
    let mut children: HashMap<i32, Vec<&Process>> = HashMap::new();
    for process in all.iter().filter(|process| wanted(process)) {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = children.remove(&top).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        let more = children.remove(&process.pid).unwrap_or_default();
        found.extend(more);
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_with_parentheses_in_name_is_parsed() {
        let process = parse("12 (a) Z 1 (b)) S 3 4 5 0 -1 4194304");
        assert_eq!(process, Some(Process { pid: 12, parent: 3, session: 5, is_zombie: false }));
        assert!(parse("13 (x) Z 3 4 5 0").is_some_and(|process| process.is_zombie));
        assert_eq!(parse("13 (x"), None);
    }

    #[test]
    fn processes_of_execs_are_no_descendants() {
        let process = |pid, parent, session| Process { pid, parent, session, is_zombie: false };
        let all = [
            process(1, 0, 1),
            // In the session of the first one, in one of its own, and in one whose leader is gone; and what they started.
            process(10, 1, 1),
            process(11, 10, 11),
            process(12, 11, 11),
            process(13, 1, 9),
            Process { is_zombie: true, ..process(14, 1, 1) },
            // An exec, what it started, and what that left.
            process(20, 0, 20),
            process(21, 20, 20),
            process(22, 1, 20),
            process(23, 22, 20),
        ];
        let mut found = descendants(&all, 1);
        found.sort_unstable();
        assert_eq!(found, [10, 11, 12, 13]);
        // Not the first one, in a pod whose containers see each other.
        assert_eq!(descendants(&all, 11), [12]);
    }
}
