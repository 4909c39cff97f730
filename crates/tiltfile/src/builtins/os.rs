//! `os` and `os.path`.

use std::path::Path;

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::AllocDict;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{FrozenHeap, FrozenValue, Value};

use crate::arguments::Function;
use crate::session::{Session, session};

/// `os.environ`. Frozen: setting a variable is not supported yet, and must not pass unnoticed.
pub(super) fn environment(session: &Session<'_>, heap: &FrozenHeap) -> FrozenValue {
    heap.alloc(AllocDict(session.outside.environment()))
}

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// The directory of the file that runs.
    fn getcwd<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<String> {
        Ok(session(eval).directory().display().to_string())
    }

    /// An environment variable, or `default` if it is not set.
    fn getenv<'v>(
        key: Value<'v>,
        default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let key = Function("os.getenv").argument("key", key).string()?;
        let value = session(eval).outside.environment_variable(&key);
        Ok(value.map_or(default.unwrap_or(Value::new_none()), |value| eval.heap().alloc(value)))
    }
}

#[starlark_module]
pub(super) fn path_functions(builder: &mut GlobalsBuilder) {
    /// The path in full.
    fn abspath<'v>(path: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<String> {
        let path = Function("os.path.abspath").argument("path", path).string()?;
        Ok(session(eval).absolute(path).display().to_string())
    }

    /// The last part of a path.
    fn basename<'v>(path: Value<'v>) -> starlark::Result<String> {
        let path = Function("os.path.basename").argument("path", path).string()?;
        let trimmed = path.trim_end_matches('/');
        Ok(match (path.is_empty(), trimmed.is_empty()) {
            (true, _) => ".".to_owned(),
            (false, true) => "/".to_owned(),
            _ => trimmed.rsplit('/').next().unwrap_or_default().to_owned(),
        })
    }

    /// All but the last part of a path.
    fn dirname<'v>(path: Value<'v>) -> starlark::Result<String> {
        let path = Function("os.path.dirname").argument("path", path).string()?;
        Ok(match path.rsplit_once('/') {
            None => ".".to_owned(),
            Some(("", _)) => "/".to_owned(),
            Some((directory, _)) => shown(&crate::session::clean(Path::new(directory))),
        })
    }

    /// Whether there is such a file or directory.
    fn exists<'v>(path: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<bool> {
        let session = session(eval);
        let path = session.absolute(Function("os.path.exists").argument("path", path).string()?);
        // The answer decides what the Tiltfile does: it counts as read.
        if !session.outside.is_dir(&path) {
            session.watch(&path);
        }
        Ok(session.outside.exists(&path))
    }

    /// Puts parts together to a path; an absolute part begins anew.
    fn join<'v>(
        path: Value<'v>,
        #[starlark(args)] paths: UnpackTuple<Value<'v>>,
    ) -> starlark::Result<String> {
        let function = Function("os.path.join");
        let mut joined = function.argument("path", path).string()?;
        for part in paths.items {
            let part = function.argument("paths", part).string()?;
            if part.starts_with('/') || joined.is_empty() {
                joined = part;
            } else {
                if !joined.ends_with('/') {
                    joined.push('/');
                }
                joined.push_str(&part);
            }
        }
        Ok(joined)
    }
}

fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_owned() } else { path.display().to_string() }
}
