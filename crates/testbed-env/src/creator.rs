//! Who made a namespace or a folder: a process, told apart from a later one with the same id by its start time.
//!
//! What a killed test leaves behind carries this mark, so that the next test can tell leftovers from what is in use.

use std::fs;

/// A process, as a mark on what it made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Creator {
    pub(crate) pid: u32,
    /// In clock ticks since this machine was started, as the kernel counts.
    pub(crate) started: u64,
}

impl Creator {
    /// This process.
    pub(crate) fn this() -> Creator {
        let pid = std::process::id();
        Creator { pid, started: started(pid).expect("/proc knows this process") }
    }

    /// Reads a mark; `None` if it is not one of ours.
    pub(crate) fn parse(pid: &str, started: &str) -> Option<Creator> {
        Some(Creator { pid: pid.parse().ok()?, started: started.parse().ok()? })
    }

    pub(crate) fn is_alive(&self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

/// When a process was started; `None` if there is none, or only its zombie.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name comes second, in parentheses, and may contain anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn creator_is_alive_while_its_process_runs() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let creator = Creator { pid: child.id(), started: started(child.id()).unwrap() };
        assert!(creator.is_alive());
        assert!(Creator::this().is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!creator.is_alive());
    }

    #[test]
    fn another_process_with_the_same_id_is_not_the_creator() {
        let this = Creator::this();
        assert!(!Creator { started: this.started + 1, ..this }.is_alive());
    }
}
