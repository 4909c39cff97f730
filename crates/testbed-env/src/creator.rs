//! Identifies the process that created a namespace or a folder, by its id and start time.
//!
//! With it, tests find what killed tests have left behind.

use std::fs;

/// The id and start time of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Creator {
    pub(crate) pid: u32,
    /// In clock ticks since boot.
    pub(crate) started: u64,
}

impl Creator {
    /// Returns the current process.
    pub(crate) fn this() -> Creator {
        let pid = std::process::id();
        Creator { pid, started: started(pid).expect("/proc knows this process") }
    }

    /// Parses it; `None` if the text has another format.
    pub(crate) fn parse(pid: &str, started: &str) -> Option<Creator> {
        Some(Creator { pid: pid.parse().ok()?, started: started.parse().ok()? })
    }

    pub(crate) fn is_alive(&self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

/// Returns the start time of a process; `None` if it does not exist or is a zombie.
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
