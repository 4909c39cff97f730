//! The processes that one `lilt` started, whatever became of their parents: they inherit a mark in their environment.

use std::fs;

/// The variable that holds the mark.
pub const MARK: &str = "LILT_TEST_MARK";

/// The running processes with this mark. Those that have ended and wait for their parents have no environment.
pub fn marked(mark: &str) -> Vec<i32> {
    let entry = format!("{MARK}={mark}");
    running().filter(|pid| has_variable(*pid, entry.as_bytes())).collect()
}

/// The running processes with this text in their command line, of whomever. For unique texts.
pub fn with_argument(argument: &str) -> Vec<i32> {
    let is_it = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|part| part == argument.as_bytes())
    };
    running().filter(is_it).collect()
}

/// Whether it is lilt's helper, which stays as long as lilt.
pub fn is_guardian(pid: i32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    // Before it has named itself it is called with its argument.
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    name.trim() == "lilt-guardian" || line.split(|byte| *byte == 0).any(|part| part == b"__guardian")
}

pub fn runs(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name comes before it, in parentheses, and may contain anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn running() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").expect("Linux has /proc");
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn has_variable(pid: i32, entry: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == entry)
}
