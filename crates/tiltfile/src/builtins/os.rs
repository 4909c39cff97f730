//! `os` and `os.path`.

use std::path::Path;

use lilt_model::Failure;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;

use crate::arguments::Function;
use crate::environment;
use crate::failure::{raise, refuse};
use crate::load_state::load_state;
use crate::values::text::to_repr;

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// The directory of the file that runs: relative paths count from it.
    fn getcwd<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<String> {
        Ok(load_state(eval).directory().display().to_string())
    }

    /// The environment variable `key`, or `default` if it is not set.
    fn getenv<'v>(
        key: Value<'v>,
        default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let key = Function("os.getenv").argument("key", key).string()?;
        let value = environment::get(&key);
        Ok(value.map_or(default.unwrap_or(Value::new_none()), |value| eval.heap().alloc(value)))
    }

    /// Sets the environment variable `key` to `value`, for this Tiltfile and all commands that it runs or declares.
    fn putenv<'v>(key: Value<'v>, value: Value<'v>) -> starlark::Result<NoneType> {
        let function = Function("os.putenv");
        let (key, value) = (function.argument("key", key), function.argument("value", value));
        environment::set(&key.string()?, Some(value.string()?));
        Ok(NoneType)
    }

    /// Removes the environment variable `key`, for this Tiltfile and all commands that it runs or declares.
    fn unsetenv<'v>(key: Value<'v>) -> starlark::Result<NoneType> {
        environment::set(&Function("os.unsetenv").argument("key", key).string()?, None);
        Ok(NoneType)
    }
}

#[starlark_module]
pub(super) fn path_functions(builder: &mut GlobalsBuilder) {
    /// The path in full: a relative one counts from the directory of the file that runs.
    fn abspath<'v>(path: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<String> {
        let path = Function("os.path.abspath").argument("path", path).string()?;
        if path.starts_with('/') {
            return Ok(path);
        }
        Ok(load_state(eval).absolute(path).display().to_string())
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
        Ok(clean(
            path.rsplit_once('/')
                .map_or("", |(directory, _)| if directory.is_empty() { "/" } else { directory }),
        ))
    }

    /// Whether there is such a file or directory.
    fn exists<'v>(path: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<bool> {
        let state = load_state(eval);
        let path = Function("os.path.exists").argument("path", path).path_or_directory(state)?;
        // The result may decide what the Tiltfile does: the path is watched.
        state.watch_entry(&path);
        Ok(state.system.exists(&path))
    }

    /// Puts parts together to a path, without empty parts, `.` and `..`.
    fn join<'v>(
        #[starlark(args)] paths: UnpackTuple<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<String> {
        let mut parts = Vec::new();
        for (index, part) in paths.items.into_iter().enumerate() {
            match part.unpack_str() {
                Some("") => {}
                Some(part) => parts.push(part),
                None => {
                    let given = to_repr(part, eval.heap())?;
                    let message = "os.path.join() only accepts strings. Argument";
                    return Err(refuse(format!("{message} #{index}: {given}")));
                }
            }
        }
        Ok(if parts.is_empty() { String::new() } else { clean(&parts.join("/")) })
    }

    /// The path in full, with links resolved.
    fn realpath<'v>(path: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<String> {
        let state = load_state(eval);
        let path = Function("os.path.realpath").argument("path", path).path_or_directory(state)?;
        match state.system.canonicalize(&path) {
            Ok(real) => Ok(real.display().to_string()),
            Err(error) => {
                Err(raise(Failure::environment(format!("os.path.realpath: {}: {error}", path.display()))))
            }
        }
    }

    /// The path that leads to `targpath` from `basepath`, or from the directory of the file that runs.
    fn relpath<'v>(
        targpath: Value<'v>,
        basepath: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<String> {
        let function = Function("os.path.relpath");
        let target = function.argument("targpath", targpath).string()?;
        let base = function.argument("basepath", basepath).text()?;
        let base = base.unwrap_or_else(|| load_state(eval).directory().display().to_string());
        relative(&base, &target).ok_or_else(|| refuse(format!("Rel: can't make {target} relative to {base}")))
    }
}

/// Removes empty parts, `.` and `..` where that is possible; never returns an empty path.
fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match parts.last() {
            Some(last) if part == ".." && *last != ".." => drop(parts.pop()),
            None if part == ".." && rooted => {}
            _ => parts.push(part),
        }
    }
    match (rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

/// Returns none if the relative path depends on the current directory.
fn relative(base: &str, target: &str) -> Option<String> {
    let (base, target) = (clean(base), clean(target));
    if Path::new(&base).is_absolute() != Path::new(&target).is_absolute() {
        return None;
    }
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect()
    };
    let (base, target) = (parts(&base), parts(&target));
    let common = base.iter().zip(&target).take_while(|(a, b)| a == b).count();
    if base[common..].iter().any(|part| part == "..") {
        return None;
    }
    let up = std::iter::repeat_n("..".to_owned(), base.len() - common);
    let path: Vec<String> = up.chain(target[common..].iter().cloned()).collect();
    Some(if path.is_empty() { ".".to_owned() } else { path.join("/") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleans_paths() {
        for (path, wanted) in [
            ("", "."),
            ("/", "/"),
            ("a//b/./c/", "a/b/c"),
            ("a/../..", ".."),
            ("../../a", "../../a"),
            ("/../a", "/a"),
            ("a/b/../../..", ".."),
        ] {
            assert_eq!(clean(path), wanted, "{path}");
        }
    }

    #[test]
    fn relative_paths_are_computed() {
        assert_eq!(relative("/a/b", "/a/c").as_deref(), Some("../c"));
        assert_eq!(relative("a", "a").as_deref(), Some("."));
        assert_eq!(relative("/a", "b"), None);
        assert_eq!(relative("../a", "b"), None);
    }
}
