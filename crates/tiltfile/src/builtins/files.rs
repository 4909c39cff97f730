//! Files: `read_file`, `listdir`, `watch_file`, `blob`.

use std::path::Path;

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;

use crate::arguments::Function;
use crate::failure::raise;
use crate::session::{Session, session};
use crate::values::Blob;

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
        let session = session(eval);
        let path = session.absolute(function.argument("paths", paths).string()?);
        let default = function.argument("default", default).text()?;
        let text = match (session.read(&path), default) {
            (Ok(content), _) => String::from_utf8_lossy(&content).into_owned(),
            (Err(error), Some(default)) if error.kind() == std::io::ErrorKind::NotFound => default,
            (Err(error), _) => return Err(raise(session.unreadable(&path, &error))),
        };
        Ok(Blob { text, source: format!("file: {}", path.display()) })
    }

    /// Reloads the Tiltfile when this file or directory changes.
    fn watch_file<'v>(paths: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<NoneType> {
        let session = session(eval);
        let path = session.absolute(Function("watch_file").argument("paths", paths).string()?);
        session.watch(&path);
        Ok(NoneType)
    }

    /// The files of a directory, absolute; with `recursive` also those below.
    fn listdir<'v>(
        dir: Value<'v>,
        recursive: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Vec<String>> {
        let function = Function("listdir");
        let session = session(eval);
        let directory = session.absolute(function.argument("dir", dir).string()?);
        let recursive = function.argument("recursive", recursive).boolean()?.unwrap_or(false);
        if recursive {
            session.watch(&directory);
        }
        let mut files = Vec::new();
        list(session, &directory, recursive, &mut files)?;
        Ok(files)
    }
}

fn list(
    session: &Session<'_>,
    directory: &Path,
    recursive: bool,
    files: &mut Vec<String>,
) -> starlark::Result<()> {
    if session.is_cancelled() {
        return Err(raise(crate::failure::cancelled()));
    }
    let entries = session
        .outside
        .list_directory(directory)
        .map_err(|error| raise(session.unreadable(directory, &error)))?;
    for entry in entries {
        if !entry.is_dir {
            files.push(entry.path.display().to_string());
        } else if recursive {
            list(session, &entry.path, true, files)?;
        }
    }
    Ok(())
}
