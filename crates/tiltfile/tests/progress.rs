//! The progress reports of a slow load. The clock is the test's own: each time it is read is a second later.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lilt_tiltfile::{LoadMessage, LoadRequest, Progress, load};
use support::TestSystem;

/// Loads until the awaited report comes, and returns it. Gives up after very many checks.
fn report_of(directory: &Path, text: &str, is_awaited: impl Fn(&Progress) -> bool) -> Progress {
    let path = directory.join("Tiltfile");
    fs::write(&path, text).unwrap();
    let request = LoadRequest { path, ..LoadRequest::default() };
    let (found, looks) = (AtomicBool::new(false), AtomicUsize::new(0));
    let cancelled = || found.load(Ordering::Relaxed) || looks.fetch_add(1, Ordering::Relaxed) > 100_000_000;
    let system =
        TestSystem { test_clock: Some((Instant::now(), AtomicU64::new(0))), ..TestSystem::default() };
    let mut reports: Vec<Progress> = Vec::new();
    let loaded = load(&request, &system, &cancelled, &mut |message| {
        if let LoadMessage::Progress(progress) = message {
            if is_awaited(progress) {
                found.store(true, Ordering::Relaxed);
            }
            reports.push(progress.clone());
        }
    });
    let failure = loaded.project.unwrap_err();
    assert!(failure.message.contains("cancelled"), "{failure}");
    let report = reports.iter().find(|progress| is_awaited(progress));
    report.unwrap_or_else(|| panic!("{text}: {reports:?}")).clone()
}

#[test]
fn endless_code_is_reported_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    for (text, line) in [
        ("x = 1\nwhile True:\n  x = 2\n", 3),
        ("def f():\n  while True:\n    x = 1\n\nf()\n", 3),
        ("print('a')\nx = [0 for _ in range(2000000000)]\n", 2),
    ] {
        let at = |progress: &Progress| progress.location.as_ref().is_some_and(|at| at.line == line);
        let report = report_of(directory.path(), text, at);
        assert_eq!(report.location.unwrap().path, directory.path().join("Tiltfile"));
        assert_eq!(report.command, None);
        assert!(report.elapsed >= Duration::from_secs(1));
    }
}

#[test]
fn running_command_is_reported_with_the_line_that_runs_it() {
    let directory = tempfile::tempdir().unwrap();
    let runs = |progress: &Progress| progress.command.is_some();
    let report = report_of(directory.path(), "local('true')\nlocal('sleep 1000')\n", |progress| {
        progress.command.as_deref() == Some("sleep 1000")
    });
    let place = format!("{}:2 is running sleep 1000", directory.path().join("Tiltfile").display());
    assert!(report.to_string().ends_with(&place), "{report}");
    let report = report_of(directory.path(), "local('sleep 1000 # hush', echo_off=True)\n", runs);
    assert!(!report.to_string().contains("hush"), "{report}");
}

#[test]
fn loaded_file_that_does_not_end_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other");
    fs::write(&other, "def spin():\n  while True:\n    x = 1\n").unwrap();
    let is_there =
        |progress: &Progress| progress.location.as_ref().is_some_and(|at| at.path == other && at.line == 3);
    let report = report_of(directory.path(), "load('other', 'spin')\nx = 1\nspin()\n", is_there);
    // In the order in which their statements ran.
    let files: Vec<PathBuf> = vec![other.clone(), directory.path().join("Tiltfile")];
    assert_eq!(report.files, files);
}
