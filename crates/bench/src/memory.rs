//! Process statistics of the kernel: memory, CPU time, wake-ups.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// Reads a field of `/proc/PID/<file>` in kB, and returns megabytes. None once the process has ended.
pub(crate) fn megabytes(pid: u32, file: &str, field: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024.0 / 1e6)
}

/// Returns the peak memory.
pub(crate) fn peak(pid: u32) -> Option<f64> {
    megabytes(pid, "status", "VmHWM")
}

/// Returns the clock ticks of user and kernel time. None once the process has ended.
pub(crate) fn ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field, the program's name in parentheses, may contain anything.
    let mut fields = stat.rsplit_once(") ")?.1.split_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

/// The activity of threads: how often each woke up, and for how many nanoseconds it ran.
#[derive(Debug)]
pub(crate) struct Activity(BTreeMap<OsString, (u64, u64)>);

impl Activity {
    pub(crate) fn of(pid: u32) -> Self {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("the process runs");
        Self(threads.flatten().map(|thread| (thread.file_name(), of_thread(&thread.path()))).collect())
    }

    /// Returns wake-ups and nanoseconds since then. Threads that ended meanwhile are not counted.
    pub(crate) fn since(&self, before: &Self) -> (u64, u64) {
        self.0.iter().fold((0, 0), |(woken, ran), (thread, now)| {
            let then = before.0.get(thread).copied().unwrap_or_default();
            (woken + now.0.saturating_sub(then.0), ran + now.1.saturating_sub(then.1))
        })
    }
}

fn of_thread(folder: &Path) -> (u64, u64) {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let status = read("status");
    let switches = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    let woken = switches.and_then(|count| count.trim().parse().ok()).unwrap_or(0);
    let ran = read("schedstat").split(' ').next().and_then(|time| time.parse().ok()).unwrap_or(0);
    (woken, ran)
}

/// Returns the load averages: figures of a busy machine are unreliable.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
