//! The names and signatures of all builtins, for code that must not depend on the builtins themselves: messages and the
//! text of values.
//!
//! The builtins fill it once per process, before the first file is evaluated.

use std::sync::OnceLock;

use starlark::docs::{DocItem, DocMember};
use starlark::environment::Globals;
use starlark::values::Value;

#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) globals: Globals,
    /// Functions by the module they are members of.
    pub(crate) modules: Vec<(&'static str, Globals)>,
}

static REGISTRY: OnceLock<Registry> = OnceLock::new();

/// Returns the registry; none before it is built.
pub(crate) fn get() -> Option<&'static Registry> {
    REGISTRY.get()
}

pub(crate) fn get_or_build(build: fn() -> Registry) -> &'static Registry {
    REGISTRY.get_or_init(build)
}

/// Returns all global names, for "did you mean".
pub(crate) fn global_names() -> Vec<String> {
    let Some(registry) = get() else { return Vec::new() };
    let modules = registry.modules.iter().map(|(name, _)| (*name).to_owned());
    let names = registry.globals.names().map(|name| name.as_str().to_owned());
    names.filter(|name| !crate::source::is_internal(name)).chain(modules).collect()
}

/// Returns the name of a builtin, qualified with its module.
pub(crate) fn full_name(value: Value<'_>) -> Option<String> {
    get()?.modules.iter().find_map(|(module, members)| {
        let (member, _) = members.iter().find(|(_, member)| member.to_value().ptr_eq(value))?;
        Some(format!("{module}.{member}"))
    })
}

/// Returns the parameters of a builtin, in order. Members of modules are found with and without the module's name.
pub(crate) fn parameters(function: &str) -> Option<Vec<String>> {
    let (module, member) =
        function.rsplit_once('.').map_or((None, function), |(module, member)| (Some(module), member));
    let Registry { globals, modules } = get()?;
    let modules = modules.iter().filter(|(name, _)| module.is_none_or(|module| *name == module));
    let tables =
        Some(globals).filter(|_| module.is_none()).into_iter().chain(modules.map(|(_, members)| members));
    tables.into_iter().find_map(|table| match table.documentation().members.get(member)? {
        DocItem::Member(DocMember::Function(function)) => {
            Some(function.params.regular_params().map(|parameter| parameter.name.clone()).collect())
        }
        _ => None,
    })
}
