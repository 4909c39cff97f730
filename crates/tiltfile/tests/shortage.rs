//! What a load reports when this machine lacks something: a failure that is retried.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use std::fs;
use std::io;

use lilt_model::Unreachable;
use lilt_tiltfile::{LoadRequest, load};
use support::{Shortage, TestSystem};

#[test]
fn load_without_descriptors_or_processes_reports_the_shortage() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("short"), "").unwrap();
    let path = directory.path().join("Tiltfile");
    for text in ["read_file('short')", "local('true')", "listdir('.')", "include('short')"] {
        for of_commands in [io::ErrorKind::Other, io::ErrorKind::WouldBlock] {
            fs::write(&path, text).unwrap();
            let request = LoadRequest { path: path.clone(), ..LoadRequest::default() };
            let system = TestSystem { shortage: Some(Shortage { of_commands }), ..TestSystem::default() };
            let loaded = load(&request, &system, &|| false, &mut |_| {});
            let failure = loaded.project.unwrap_err();
            assert_eq!(failure.unreachable(), Some(&Unreachable::Machine), "{text}: {failure}");
        }
    }
}
