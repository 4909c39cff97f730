//! The process tree, read from `/proc`.
//!
//! Only the branches asked for are read, so that stopping a thousand processes does not read the whole table a
//! thousand times.

use std::fs;

use nix::unistd::Pid;

/// A process at the time it was read. Its start time distinguishes it from a later process with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) pid: Pid,
    pub(super) group: Pid,
    pub(super) session: Pid,
    pub(super) ended: bool,
    started: u64,
    name: Name,
}

impl Member {
    pub(super) fn read(pid: Pid) -> Option<Member> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        parse_stat(pid, &stat)
    }

    /// Returns whether it is a guardian process: only its owner may reap it.
    pub(super) fn is_guardian(&self, own: &Member) -> bool {
        self.name == own.name || self.name == Name::of("lilt-guardian")
    }

    pub(super) fn is_same(&self, other: &Member) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }

    /// Returns whether this process is still running.
    pub(super) fn is_running(&self) -> bool {
        Member::read(self.pid).is_some_and(|now| self.is_same(&now) && !now.ended)
    }
}

/// The process name in the kernel: at most 15 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name([u8; 16]);

impl Name {
    fn of(text: &str) -> Name {
        let mut name = [0; 16];
        name.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        Name(name)
    }
}

/// Parses a `stat` line. The name in the second field may contain anything, so fields are counted from its closing
/// parenthesis.
fn parse_stat(pid: Pid, stat: &str) -> Option<Member> {
    let (before, after) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    Some(Member {
        pid,
        ended: matches!(*fields.first()?, "Z" | "X"),
        group: Pid::from_raw(fields.get(2)?.parse().ok()?),
        session: Pid::from_raw(fields.get(3)?.parse().ok()?),
        started: fields.get(19)?.parse().ok()?,
        name: Name::of(before.split_once('(')?.1),
    })
}

/// Returns all descendants of a process, without itself.
pub(super) fn descendants(pid: Pid) -> Vec<Member> {
    let mut found: Vec<Member> = Vec::new();
    let mut open = vec![pid];
    while let Some(parent) = open.pop() {
        for child in children(parent) {
            if found.iter().all(|member| member.pid != child)
                && let Some(member) = Member::read(child)
            {
                found.push(member);
                open.push(child);
            }
        }
    }
    found
}

/// Returns the children of all threads of a process.
pub(super) fn children(pid: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .map(Pid::from_raw)
        .collect()
}

/// Returns whether a process was started with this variable; false for programs that overwrite their environment block.
pub(super) fn has_variable(pid: Pid, name: &str, value: &str) -> bool {
    let wanted = format!("{name}={value}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_with_parentheses_and_spaces_in_name_is_parsed() {
        let stat = "42 (a) b (c) S 1 40 39 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 777 1 2";
        let member = parse_stat(Pid::from_raw(42), stat).expect("a stat line");
        assert_eq!((member.group.as_raw(), member.session.as_raw(), member.started), (40, 39, 777));
        assert!(!member.ended);
    }
}
