//! Finds all processes that one `lilt` started, also orphaned ones, by a marker in their environment.

use std::fs;

/// The variable with the marker.
pub const MARKER_VARIABLE: &str = "LILT_TEST_MARK";

/// Returns the running processes with this marker. Zombies have no environment.
pub fn with_marker(mark: &str) -> Vec<i32> {
    let entry = format!("{MARKER_VARIABLE}={mark}");
    running().filter(|pid| has_variable(*pid, entry.as_bytes())).collect()
}

/// Returns all running processes with this argument. For unique texts.
pub fn with_argument(argument: &str) -> Vec<i32> {
    let is_it = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|part| part == argument.as_bytes())
    };
    running().filter(is_it).collect()
}

/// Returns whether it is lilt's guardian process, which runs as long as lilt.
pub fn is_guardian(pid: i32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    // At its start it has the name of lilt and its own argument.
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    name.trim() == "lilt-guardian" || line.split(|byte| *byte == 0).any(|part| part == b"__guardian")
}

pub fn runs(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before it, in parentheses, may contain anything.
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
