//! What a load reports when this machine lacks something: a failure that is retried.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::fs;
use std::io;
use std::path::Path;

use lilt_model::command::Command;
use lilt_model::{Failure, Unreachable};
use lilt_tiltfile::{Entry, KubeContext, LoadRequest, Output, Outside, RealOutside, load};

const EMFILE: i32 = 24;

/// This machine, which has nothing left for files of this name and for commands.
struct Machine {
    /// What starting a command fails with.
    start: io::ErrorKind,
}

impl Machine {
    fn short() -> io::Error {
        io::Error::from_raw_os_error(EMFILE)
    }
}

impl Outside for Machine {
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path.ends_with("short") { Err(Self::short()) } else { RealOutside::default().read_file(path) }
    }

    fn list_directory(&self, _path: &Path) -> io::Result<Vec<Entry>> {
        Err(Self::short())
    }

    fn is_dir(&self, path: &Path) -> bool {
        RealOutside::default().is_dir(path)
    }

    fn exists(&self, path: &Path) -> bool {
        RealOutside::default().exists(path)
    }

    fn environment_variable(&self, name: &str) -> Option<String> {
        RealOutside::default().environment_variable(name)
    }

    fn environment(&self) -> Vec<(String, String)> {
        RealOutside::default().environment()
    }

    fn kube_context(&self) -> Result<Option<KubeContext>, Failure> {
        Ok(None)
    }

    fn run(
        &self,
        _command: &Command,
        _environment: &[(String, String)],
        _stdin: Option<&[u8]>,
        _cancelled: &(dyn Fn() -> bool + Sync),
        _each_line: &mut dyn FnMut(&str),
    ) -> io::Result<Output> {
        Err(if self.start == io::ErrorKind::Other { Self::short() } else { self.start.into() })
    }
}

#[test]
fn load_without_descriptors_or_processes_fails_for_lack_of_them() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("short"), "").unwrap();
    let path = directory.path().join("Tiltfile");
    for text in ["read_file('short')", "local('true')", "listdir('.')", "include('short')"] {
        for start in [io::ErrorKind::Other, io::ErrorKind::WouldBlock] {
            fs::write(&path, text).unwrap();
            let request = LoadRequest { path: path.clone(), ..LoadRequest::default() };
            let loaded = load(&request, &Machine { start }, &|| false, &mut |_| {});
            let failure = loaded.project.unwrap_err();
            assert_eq!(failure.unreachable(), Some(&Unreachable::Machine), "{text}: {failure}");
        }
    }
}
