//! The registry of everything a Tiltfile can call: one file per topic.
//!
//! A builtin only checks its arguments and records declarations; [`assemble`](crate::assemble) turns them into resources.
//! Built once per process: it takes milliseconds.

#![allow(clippy::too_many_arguments, reason = "the parameters of a builtin are Tilt's")]

mod compose;
mod compose_config;
mod compose_env_files;
mod config;
mod custom_build;
mod docker;
mod encoding;
mod files;
mod format;
mod helm;
mod image_files;
mod kubernetes;
mod kubernetes_kinds;
mod kubernetes_resource;
mod kustomize;
mod language;
mod live_update;
mod local;
mod methods;
mod operators;
mod os;
mod probes;
mod sequences;
mod settings;
mod strings;
mod system;
mod tool;
mod v1alpha1;

use starlark::collections::SmallMap;
use starlark::environment::{Globals, GlobalsBuilder, LibraryExtension, Module};
use starlark::values::list::AllocList;
use starlark::values::{AllocFrozenValue, FrozenValue, Value, ValueLike};

use crate::extension;
use crate::load_state::LoadState;
use crate::registry::{self, Registry};
use crate::source::{ENDLESS, Source};
use crate::timing::TimedBuiltin;
use crate::values::{Endless, Environ, Namespace, TriggerModeValue};
use lilt_model::resource::TriggerMode;

/// The global modules.
const MODULES: [&str; 5] = ["os", "config", "sys", "shlex", "v1alpha1"];

/// Adds the functions of a file.
type Functions = fn(&mut GlobalsBuilder);

/// The global functions, by their page of the reference.
pub(crate) const TOPICS: [(&str, &[Functions]); 9] = [
    (
        "language",
        &[
            language::functions,
            methods::functions,
            operators::functions,
            sequences::functions,
            strings::functions,
        ],
    ),
    ("images", &[docker::functions, custom_build::functions]),
    ("live-update", &[live_update::functions]),
    ("kubernetes", &[kubernetes::functions, kubernetes_resource::functions, kubernetes_kinds::functions]),
    ("helm-and-kustomize", &[helm::functions, kustomize::functions]),
    ("compose", &[compose::functions]),
    ("this-machine", &[local::functions, probes::functions]),
    ("files-and-data", &[files::functions, encoding::functions]),
    ("settings", &[settings::functions]),
];

fn build() -> Registry {
    let mut builder = GlobalsBuilder::extended_by(&[LibraryExtension::SetType]);
    for (_, files) in TOPICS {
        files.iter().for_each(|functions| functions(&mut builder));
    }
    builder.set("TRIGGER_MODE_AUTO", TriggerModeValue(TriggerMode::Auto));
    builder.set("TRIGGER_MODE_MANUAL", TriggerModeValue(TriggerMode::Manual));
    builder.set(ENDLESS, Endless);
    let modules: Vec<(&'static str, GlobalsBuilder)> = vec![
        ("os", GlobalsBuilder::new().with(os::functions)),
        ("os.path", GlobalsBuilder::new().with(os::path_functions)),
        ("config", GlobalsBuilder::new().with(config::functions)),
        ("sys", GlobalsBuilder::new()),
        ("shlex", GlobalsBuilder::new().with(system::shlex_functions)),
        ("v1alpha1", GlobalsBuilder::new().with(v1alpha1::functions)),
    ];
    let modules = modules.into_iter().map(|(name, functions)| (name, functions.build())).collect();
    Registry { globals: builder.build(), modules }
}

fn registry() -> &'static Registry {
    registry::get_or_build(build)
}

pub(crate) fn are_ready() -> bool {
    registry::get().is_some()
}

pub(crate) fn make_ready() {
    registry();
}

pub(crate) fn globals() -> &'static Globals {
    &registry().globals
}

/// The functions of a module.
pub(crate) fn module_members(module: &str) -> Option<&'static Globals> {
    registry().modules.iter().find(|(name, _)| *name == module).map(|(_, members)| members)
}

/// Returns the names that a file bound itself. Predeclared builtins do not count, unless the file bound their names to
/// other values.
pub(crate) fn bound_names(module: &Module<'_>) -> Vec<String> {
    let own = |name: &String| {
        let builtin = |value: Value<'_>| {
            let known = globals().iter().find(|(known, _)| known == name);
            let support = extension::PRIVATE_BUILTINS.iter().any(|(known, _)| known == name);
            known.is_some_and(|(_, builtin)| builtin.to_value().ptr_eq(value))
                || support
                || value.downcast_ref::<TimedBuiltin>().is_some()
                || value.downcast_ref::<Namespace>().is_some_and(|namespace| namespace.name == *name)
        };
        // It is none for names with a leading _, and for names that were loaded from other files.
        let private = module.get(name).is_none();
        let kept = !private || name.starts_with('_');
        // lilt's own variables are no identifiers.
        let internal = matches!(name.as_str(), "__file__" | "__name__") || name.contains('(');
        kept && !internal && !module.get(name).is_some_and(builtin)
    };
    let names = module.names_and_visibilities().map(|(name, _)| name.as_str().to_owned());
    names.filter(own).collect()
}

/// Declares the builtins as variables of the file, so that it may rebind their names. Only those that occur in it,
/// which saves most of the time.
pub(crate) fn predeclare(module: &Module<'_>, state: &LoadState<'_>, source: &Source) {
    for (name, value) in globals().iter().filter(|(name, _)| source.mentions(name)) {
        match timed(state, name.to_owned(), value) {
            Some(timed) => module.set(name, module.heap().alloc(timed)),
            None => module.set(name, value.to_value()),
        }
    }
    module.frozen_heap().add_reference(globals().heap());
    if extension::is_bundled(state, source.path()) {
        for (name, value) in extension::PRIVATE_BUILTINS.iter() {
            module.set(name, value.to_value());
        }
        module.frozen_heap().add_reference(extension::PRIVATE_BUILTINS.heap());
    }
    if source.mentions("__file__") {
        let path = source.path().display().to_string();
        module.set("__file__", module.heap().alloc(path));
    }
    if source.mentions("__name__") {
        let name = match source.path() == state.request.path {
            true => "__main__".to_owned(),
            false => source.path().file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        module.set("__name__", module.heap().alloc(name));
    }
    for name in MODULES {
        if source.mentions(name) {
            module.set(name, namespace(module, state, name).to_value());
        }
    }
}

fn timed(state: &LoadState<'_>, name: String, value: FrozenValue) -> Option<TimedBuiltin> {
    state.request.with_timings.then(|| TimedBuiltin::new(name, value)).flatten()
}

fn namespace(module: &Module<'_>, state: &LoadState<'_>, name: &'static str) -> FrozenValue {
    let heap = module.frozen_heap();
    let mut members = SmallMap::new();
    let functions =
        registry().modules.iter().find(|(module, _)| *module == name).map(|(_, functions)| functions);
    if let Some(functions) = functions {
        heap.add_reference(functions.heap());
        for (member, value) in functions.iter() {
            let timed = timed(state, format!("{name}.{member}"), value);
            members.insert(member.to_owned(), timed.map_or(value, |timed| heap.alloc(timed)));
        }
    }
    let mut add = |name: &str, value: FrozenValue| members.insert(name.to_owned(), value);
    match name {
        "os" => {
            add("path", namespace(module, state, "os.path"));
            add("environ", heap.alloc(Environ));
            add("name", heap.alloc(if cfg!(windows) { "nt" } else { "posix" }));
        }
        "sys" => {
            add("argv", heap.alloc(AllocList(state.system.arguments())));
            let executable = state.system.executable().map(|path| heap.alloc(path.display().to_string()));
            add("executable", executable.unwrap_or(FrozenValue::new_none()));
        }
        "config" => {
            let path = &state.request.path;
            add("tilt_subcommand", heap.alloc(state.request.subcommand.as_str()));
            add("main_path", heap.alloc(path.display().to_string()));
            let directory = path.parent().map(|directory| directory.display().to_string());
            add("main_dir", heap.alloc(directory.unwrap_or_default()));
        }
        _ => {}
    }
    Namespace { name: name.to_owned(), members }.alloc_frozen_value(heap)
}
