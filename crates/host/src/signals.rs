//! Signal dispositions that this process inherited.
//!
//! Shells start background jobs of scripts with SIGINT and SIGQUIT ignored, and `nohup` starts programs with SIGHUP
//! ignored; both pass to a program, and from it to its children, through `exec`.
#![allow(unsafe_code, reason = "nix marks `signal` as unsafe")]

use std::fs;

use nix::sys::signal::{SigHandler, Signal, signal};

/// Restores the default actions of those of the signals that this process inherited as ignored.
pub fn restore_defaults(signals: &[Signal]) {
    for ignored in signals.iter().copied().filter(|signal| is_ignored(*signal)) {
        // SAFETY: the signal is ignored, so no handler is replaced, and none is installed.
        if let Err(error) = unsafe { signal(ignored, SigHandler::SigDfl) } {
            tracing::warn!(%error, "cannot restore the default action of {ignored}");
        }
    }
}

/// Returns whether this process ignores a signal now. False where the kernel does not report it.
pub fn is_ignored(signal: Signal) -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| is_in_ignored_mask(&status, signal))
}

fn is_in_ignored_mask(status: &str, signal: Signal) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal as i32 - 1)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_mask() {
        let status = "Name:\tlilt\nSigBlk:\t0000000000000004\nSigIgn:\t0000000000001003\n";
        let ignored = |signal| is_in_ignored_mask(status, signal);
        assert!(ignored(Signal::SIGHUP) && ignored(Signal::SIGINT) && ignored(Signal::SIGPIPE));
        assert!(!ignored(Signal::SIGQUIT) && !ignored(Signal::SIGTERM));
        assert!(!is_in_ignored_mask("", Signal::SIGINT));
    }
}
