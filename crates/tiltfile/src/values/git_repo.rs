//! What `local_git_repo` returns.

use std::fmt;
use std::path::PathBuf;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::environment::{Methods, MethodsBuilder, MethodsStatic};
use starlark::values::{NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value};
use starlark::{starlark_module, starlark_simple_value};

use super::unpack::{as_text, wrong};
use crate::paths::clean;

/// A folder with a git repository, taken where a path is.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct GitRepo {
    /// Absolute.
    #[allocative(skip)]
    pub(crate) folder: PathBuf,
}
starlark_simple_value!(GitRepo);

impl fmt::Display for GitRepo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[git.Repo] '{}'", self.folder.display())
    }
}

#[starlark_value(type = "git.Repo")]
impl<'v> StarlarkValue<'v> for GitRepo {
    fn get_methods() -> Option<&'static Methods> {
        static METHODS: MethodsStatic = MethodsStatic::new("git.Repo", methods);
        Some(METHODS.methods())
    }
}

#[starlark_module]
fn methods(builder: &mut MethodsBuilder) {
    /// The absolute path of what is at a path of the repository.
    fn paths<'v>(this: Value<'v>, paths: Value<'v>) -> starlark::Result<String> {
        let path = match paths.is_none() {
            true => String::new(),
            false => as_text(paths).ok_or_else(|| wrong("paths", "paths", "a string", paths))?,
        };
        let repo = this.downcast_ref::<GitRepo>().expect("invariant: a method of GitRepo");
        // An absolute path, too, is one of the repository.
        let below = path.trim_start_matches('/');
        Ok(clean(&repo.folder.join(below)).display().to_string())
    }
}
