//! The extensions that are bundled with lilt.
//!
//! They are unpacked because the commands that they declare run their scripts, and so that the location of an error is a
//! file. The folder is named after the content, so that two versions of lilt do not overwrite each other's.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use lilt_model::Failure;

use crate::load_state::LoadState;

macro_rules! files {
    ($($path:literal)*) => {
        /// Path and text of every file.
        const FILES: &[(&str, &str)] = &[$(($path, include_str!(concat!("../../extensions/", $path)))),*];
    };
}

files! {
    "cancel/Tiltfile"
    "cancel/button.sh"
    "cancel/end.sh"
    "cancel/watch.sh"
    "cert_manager/Tiltfile"
    "color/Tiltfile"
    "configmap/Tiltfile"
    "deployment/Tiltfile"
    "docker_build_sub/Tiltfile"
    "dotenv/Tiltfile"
    "execute_in_pod/Tiltfile"
    "git_resource/Tiltfile"
    "helm_remote/Tiltfile"
    "helm_resource/Tiltfile"
    "helm_resource/apply.sh"
    "helm_resource/delete.sh"
    "k8s_attach/Tiltfile"
    "ko/Tiltfile"
    "kubebuilder/Tiltfile"
    "kubefwd/Tiltfile"
    "kubefwd/forward.sh"
    "kubefwd/namespaces.sh"
    "kubefwd/serve.sh"
    "list_port_forwards/Tiltfile"
    "list_port_forwards/list.sh"
    "local_output/Tiltfile"
    "min_k8s_version/Tiltfile"
    "min_tilt_version/Tiltfile"
    "namespace/Tiltfile"
    "pack/Tiltfile"
    "print_tiltfile_dir/Tiltfile"
    "restart_process/Tiltfile"
    "secret/Tiltfile"
    "syncback/Tiltfile"
    "syncback/remote_shell.sh"
    "syncback/syncback.sh"
    "tests/golang/Tiltfile"
    "uibutton/Tiltfile"
}

/// The name of the folder in Tilt's data that they are unpacked to.
const FOLDER: &str = "bundled";

/// Returns the name of each extension, as used after `ext://`.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(|(path, _)| path.strip_suffix("/Tiltfile"))
}

/// Returns the name of each extension with the text of its Tiltfile.
pub(crate) fn tiltfiles() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().filter_map(|(path, text)| Some((path.strip_suffix("/Tiltfile")?, *text)))
}

/// Whether a file is bundled: these may use private builtins.
pub(crate) fn is_bundled(state: &LoadState<'_>, path: &std::path::Path) -> bool {
    super::tilt_data_folder(state).is_ok_and(|folder| path.starts_with(folder.join(FOLDER)))
}

/// Returns the folder that they are unpacked to.
pub(super) fn folder(state: &LoadState<'_>) -> Result<PathBuf, Failure> {
    Ok(super::tilt_data_folder(state)?.join(FOLDER).join(key()))
}

/// Unpacks an extension, unless it is unpacked, and returns the path of its Tiltfile.
pub(super) fn unpack(state: &LoadState<'_>, name: &str) -> Result<PathBuf, Failure> {
    let folder = folder(state)?;
    let beginning = format!("{name}/");
    for (path, text) in FILES.iter().filter(|(path, _)| path.starts_with(&beginning)) {
        let target = folder.join(path);
        // Compared, because somebody may have edited it.
        if state.system.read_file(&target).is_ok_and(|found| found == text.as_bytes()) {
            continue;
        }
        state.system.write_file(&target, text.as_bytes()).map_err(|error| {
            Failure::environment(format!(
                "cannot unpack the extension {name} to {}: {error}",
                target.display()
            ))
            .hint("set XDG_DATA_HOME to a folder that can be written")
        })?;
    }
    Ok(folder.join(name).join("Tiltfile"))
}

/// Returns a hash of all files, because one extension may load another by its relative path.
fn key() -> String {
    let mut hasher = DefaultHasher::new();
    FILES.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests")]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files_below(&path, found);
            } else {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_extension_file_is_bundled() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("extensions");
        let mut found = Vec::new();
        files_below(&root, &mut found);
        let found: BTreeSet<String> =
            found.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect();
        let carried: BTreeSet<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(found, carried);
        assert!(names().any(|name| name == "tests/golang"));
    }
}
