//! Files: `read_file`, `listdir`, `watch_file`, `blob`, `local_git_repo`.

use std::io::ErrorKind;
use std::path::Path;

use lilt_model::os_error;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;

use crate::arguments::Function;
use crate::failure::raise;
use crate::load_state::{LoadState, load_state};
use crate::values::{Blob, GitRepo};
use lilt_model::yaml;

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Text that is taken as such where a path could be meant, too.
    fn blob<'v>(input: Value<'v>) -> starlark::Result<Blob> {
        let text = Function("blob").argument("input", input).string()?;
        Ok(Blob { text, source: "a blob() of the Tiltfile".to_owned() })
    }

    /// The content of a file, or `default` if it does not exist.
    fn read_file<'v>(
        paths: Value<'v>,
        default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Blob> {
        let function = Function("read_file");
        let state = load_state(eval);
        let path = function.argument("paths", paths).path_or_directory(state)?;
        let default = function.argument("default", default).text()?;
        let text = match (state.read(&path), default) {
            (Ok(content), _) => yaml::decode(&content).into_owned(),
            (Err(error), Some(default)) if error.kind() == ErrorKind::NotFound => default,
            (Err(error), _) => return Err(raise(state.unreadable(&path, &error))),
        };
        Ok(Blob { text, source: format!("file: {}", path.display()) })
    }

    /// Reloads the Tiltfile when this file or directory changes.
    fn watch_file<'v>(paths: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<NoneType> {
        let state = load_state(eval);
        let path = Function("watch_file").argument("paths", paths).path_or_directory(state)?;
        state.watch(&path);
        Ok(NoneType)
    }

    /// The files of a directory, absolute; with `recursive` also those below. None if there is no such directory.
    fn listdir<'v>(
        dir: Value<'v>,
        recursive: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Vec<String>> {
        let function = Function("listdir");
        let state = load_state(eval);
        let directory = function.argument("dir", dir).path_or_directory(state)?;
        let recursive = function.argument("recursive", recursive).boolean()?.unwrap_or(false);
        if recursive {
            state.watch(&directory);
        }
        let mut files = Vec::new();
        match list(state, &directory, recursive, &mut files)? {
            Ok(()) => {}
            // Tiltfiles may list folders that only some users have.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(error) => return Err(raise(state.unreadable(&directory, &error))),
        }
        Ok(files)
    }

    /// A folder with a git repository. It is taken where a path is, and its `paths(path)` gives paths below it.
    fn local_git_repo<'v>(paths: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<GitRepo> {
        let function = Function("local_git_repo");
        let state = load_state(eval);
        let folder = function.argument("paths", paths).path_or_directory(state)?;
        if !state.system.exists(&folder) {
            state.watch_entry(&folder);
            let error = ErrorKind::NotFound.into();
            return Err(raise(state.unreadable(&folder, &error)));
        }
        // In a worktree or a submodule it is a file.
        if !state.system.exists(&folder.join(".git")) {
            state.watch_entry(&folder.join(".git"));
            let message = format!("{} is no git repository: it has no .git", folder.display());
            return Err(function.refuse(message));
        }
        Ok(GitRepo { folder })
    }
}

/// Lists a folder. Subfolders that cannot be read are skipped with a message.
fn list(
    state: &LoadState<'_>,
    directory: &Path,
    recursive: bool,
    files: &mut Vec<String>,
) -> starlark::Result<std::io::Result<()>> {
    if state.is_cancelled() {
        return Err(raise(crate::failure::cancelled()));
    }
    let entries = match state.system.list_directory(directory) {
        Ok(entries) => entries,
        Err(error) => return Ok(Err(error)),
    };
    for entry in entries {
        if !entry.is_dir {
            files.push(entry.path.display().to_string());
        } else if recursive && let Err(error) = list(state, &entry.path, true, files)? {
            let line = format!("listdir: cannot read {}: {error}", entry.path.display());
            state.print(&os_error::plain(&line));
        }
    }
    Ok(Ok(()))
}
