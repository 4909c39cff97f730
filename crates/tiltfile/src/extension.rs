//! Resolves `ext://name`: an extension that this Tiltfile registered, one that is bundled with lilt, or one in a
//! repository that is fetched with git.
//!
//! The result is the path of a local Tiltfile, which is evaluated like any other file: it runs once, its relative paths
//! start from its own folder, its errors show its own lines.

mod bundled;
mod credentials;
mod git;
mod objects;
mod private_builtins;
mod registered;
mod repository;

use std::path::PathBuf;

use lilt_model::Failure;

pub(crate) use bundled::{is_bundled, tiltfiles};
pub use objects::{ExtensionSource, ProvidedExtensions, find_extension, provide_repository};
pub(crate) use private_builtins::PRIVATE_BUILTINS;
pub(crate) use registered::note_loaded;

use crate::load_state::LoadState;
use crate::paths::clean;
use lilt_model::nearest::nearest;
use repository::Repository;

const SCHEME: &str = "ext://";

/// Returns the file that a `load`, `load_dynamic` or `include` names.
pub(crate) fn file(state: &LoadState<'_>, named: &str) -> Result<PathBuf, Failure> {
    match named.split_once("://") {
        Some(("ext", name)) => extension(state, name),
        Some((scheme, _)) => {
            let failure = Failure::user(format!("cannot load {named}: {scheme}:// is not known"));
            Err(failure.hint("a file is loaded by its path, an extension as ext://name"))
        }
        None => Ok(state.absolute(named)),
    }
}

fn extension(state: &LoadState<'_>, name: &str) -> Result<PathBuf, Failure> {
    let extension = registered::extension(&state.declared.borrow().api_objects, name);
    let repository = registered::repository(&state.declared.borrow().api_objects, &extension.repository);
    let path = extension_file(state, &Repository::new(repository), &extension.path, name)?;
    state.declared.borrow_mut().loaded_extensions.push(extension);
    Ok(path)
}

/// Returns the Tiltfile of an extension: of the bundled one, or of the one in its repository.
fn extension_file(
    state: &LoadState<'_>,
    repository: &Repository,
    path: &str,
    name: &str,
) -> Result<PathBuf, Failure> {
    if repository.is_replaced_by_bundled() && bundled::names().any(|known| known == path) {
        return bundled::unpack(state, path);
    }
    repository_file(state, repository, path, name).map_err(|failure| with_suggestion(failure, path))
}

fn repository_file(
    state: &LoadState<'_>,
    repository: &Repository,
    path: &str,
    name: &str,
) -> Result<PathBuf, Failure> {
    let (root, _) = repository.provide(state)?;
    let folder = clean(&root.join(repository.subpath()).join(path));
    if !folder.starts_with(&root) {
        return Err(Failure::user(format!(
            "the path {path:?} of the extension {name} leads out of its repository"
        )));
    }
    let tiltfile = folder.join("Tiltfile");
    if state.system.is_dir(&tiltfile) || !state.system.exists(&tiltfile) {
        // Creating it reloads the Tiltfile.
        state.watch_entry(&tiltfile);
        let failure = Failure::user(format!("there is no extension {name} in {}", repository.shown()));
        return Err(failure.detail(format!("no such file: {}", tiltfile.display())));
    }
    Ok(tiltfile)
}

/// Suggests a bundled extension for a misspelt name.
fn with_suggestion(mut failure: Failure, name: &str) -> Failure {
    if let Some(near) = nearest(name, bundled::names()) {
        let more = failure.hint.take().map(|hint| format!(" Else: {hint}")).unwrap_or_default();
        failure = failure.hint(format!("did you mean {SCHEME}{near}?{more}"));
    }
    failure
}

/// Returns the folder of Tilt's data that belongs to no project.
fn tilt_data_folder(state: &LoadState<'_>) -> Result<PathBuf, Failure> {
    let variable = |name| state.system.environment_variable(name).filter(|value| !value.is_empty());
    let given = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let data = given.or_else(|| {
        if cfg!(windows) {
            return variable("LOCALAPPDATA").map(PathBuf::from);
        }
        let below_home =
            if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
        variable("HOME").map(|home| PathBuf::from(home).join(below_home))
    });
    let data = data.ok_or_else(|| {
        Failure::environment("there is no folder to keep extensions in").hint("set XDG_DATA_HOME or HOME")
    })?;
    Ok(data.join("tilt-dev"))
}
