//! A load without access to the system. Used by the tests and by the targets of fuzz/.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use lilt_model::cluster::KubeContext;
use lilt_model::command::Command;
use lilt_model::{Class, Failure};
use lilt_tiltfile::{CommandOutput, DirEntry, LoadRequest, System, load};

/// How often a load may check for cancellation before it is cancelled.
const LOOKS: usize = 100;

/// Loads a text, and panics if lilt itself failed at it. A load that goes on too long is cancelled: if that does not
/// end it, this does not return.
pub(crate) fn evaluate(text: String) {
    let request =
        LoadRequest { path: "/project/Tiltfile".into(), subcommand: "up".into(), ..LoadRequest::default() };
    let looks = AtomicUsize::new(0);
    let cancelled = || looks.fetch_add(1, Ordering::Relaxed) > LOOKS;
    let loaded = load(&request, &Shut(text), &cancelled, &mut |_| {});
    if let Err(failure) = loaded.project {
        assert!(failure.class() != Class::Internal, "{failure}");
    }
}

/// Nothing but the Tiltfile.
struct Shut(String);

impl System for Shut {
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path.ends_with("Tiltfile") {
            true => Ok(self.0.clone().into_bytes()),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn list_directory(&self, _path: &Path) -> io::Result<Vec<DirEntry>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn is_dir(&self, _path: &Path) -> bool {
        false
    }

    fn exists(&self, _path: &Path) -> bool {
        false
    }

    fn start_directory(&self) -> Option<PathBuf> {
        None
    }

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn environment(&self) -> Vec<(String, String)> {
        Vec::new()
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
    ) -> io::Result<CommandOutput> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}
