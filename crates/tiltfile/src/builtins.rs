//! The registry of everything a Tiltfile can call: one file per topic.
//!
//! A builtin only checks its arguments and notes what was declared; deciding what becomes of it is the work of
//! [`assemble`](crate::assemble). Built once per process: it takes milliseconds.

#![allow(clippy::too_many_arguments, reason = "the parameters of a builtin are Tilt's")]

mod compose;
mod compose_config;
mod config;
mod custom_build;
mod docker;
mod encoding;
mod files;
mod helm;
mod image_files;
mod kubernetes;
mod kubernetes_kinds;
mod kubernetes_resource;
mod kustomize;
mod language;
mod live_update;
mod local;
mod os;
mod probes;
mod settings;
mod tool;
mod v1alpha1;

use std::num::NonZeroI32;
use std::sync::LazyLock;

use starlark::collections::SmallMap;
use starlark::docs::{DocItem, DocMember};
use starlark::environment::{Globals, GlobalsBuilder, LibraryExtension, Module};
use starlark::values::range::Range;
use starlark::values::{AllocFrozenValue, FrozenValue};

use crate::extension;
use crate::session::Session;
use crate::source::{FOREVER, Source};
use crate::values::{Namespace, NotSupportedYet, TriggerModeValue};
use lilt_model::resource::TriggerMode;

/// Builtins of Tilt that have no body here yet, one per line, with the name of their module where they have one.
const NOT_SUPPORTED_YET: &str = include_str!("builtins/not_supported_yet.txt");

const ONE: NonZeroI32 = NonZeroI32::new(1).expect("invariant: 1 is not 0");

struct Registry {
    globals: Globals,
    /// Functions by the module they are members of.
    modules: Vec<(&'static str, Globals)>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut builder = GlobalsBuilder::extended_by(&[LibraryExtension::StructType, LibraryExtension::SetType]);
    for topic in [
        language::functions,
        docker::functions,
        custom_build::functions,
        live_update::functions,
        kubernetes::functions,
        kubernetes_resource::functions,
        kubernetes_kinds::functions,
        helm::functions,
        kustomize::functions,
        compose::functions,
        local::functions,
        probes::functions,
        files::functions,
        encoding::functions,
        settings::functions,
    ] {
        topic(&mut builder);
    }
    builder.set("TRIGGER_MODE_AUTO", TriggerModeValue(TriggerMode::Auto));
    builder.set("TRIGGER_MODE_MANUAL", TriggerModeValue(TriggerMode::Manual));
    // Not quite for ever: 2³¹ rounds, more than anybody waits for.
    builder.set(FOREVER, Range::new(0, i32::MAX, ONE));
    let mut modules: Vec<(&'static str, GlobalsBuilder)> = vec![
        ("os", GlobalsBuilder::new().with(os::functions)),
        ("os.path", GlobalsBuilder::new().with(os::path_functions)),
        ("config", GlobalsBuilder::new().with(config::functions)),
        ("sys", GlobalsBuilder::new()),
        ("shlex", GlobalsBuilder::new()),
        ("v1alpha1", GlobalsBuilder::new().with(v1alpha1::functions)),
    ];
    for name in NOT_SUPPORTED_YET.lines() {
        let missing = NotSupportedYet { name: name.to_owned() };
        match name.rsplit_once('.') {
            None => builder.set(name, missing),
            Some((module, member)) => modules
                .iter_mut()
                .find(|(name, _)| *name == module)
                .expect("invariant: the list names known modules only")
                .1
                .set(member, missing),
        }
    }
    let modules = modules.into_iter().map(|(name, functions)| (name, functions.build())).collect();
    Registry { globals: builder.build(), modules }
});

pub(crate) fn globals() -> &'static Globals {
    &REGISTRY.globals
}

/// Everything that can be named, for "did you mean".
pub(crate) fn global_names() -> Vec<String> {
    let modules = REGISTRY.modules.iter().map(|(name, _)| (*name).to_owned());
    globals().names().map(|name| name.as_str().to_owned()).chain(modules).collect()
}

/// The parameters of a builtin, in order. Members of modules are found with the module's name and without.
pub(crate) fn parameters(function: &str) -> Option<Vec<String>> {
    let (module, member) =
        function.rsplit_once('.').map_or((None, function), |(module, member)| (Some(module), member));
    let modules = REGISTRY.modules.iter().filter(|(name, _)| module.is_none_or(|module| *name == module));
    let places =
        Some(globals()).filter(|_| module.is_none()).into_iter().chain(modules.map(|(_, members)| members));
    places.into_iter().find_map(|place| match place.documentation().members.get(member)? {
        DocItem::Member(DocMember::Function(function)) => {
            Some(function.params.regular_params().map(|parameter| parameter.name.clone()).collect())
        }
        _ => None,
    })
}

/// Makes the builtins variables of the file, so that it may bind their names anew. Only those that occur in it:
/// nobody sees the difference, and it saves most of the time.
pub(crate) fn predeclare(module: &Module<'_>, session: &Session<'_>, source: &Source) {
    for (name, value) in globals().iter().filter(|(name, _)| source.mentions(name)) {
        module.set(name, value.to_value());
    }
    module.frozen_heap().add_reference(globals().heap());
    if extension::is_bundled(session, source.path()) {
        for (name, value) in extension::SUPPORT.iter() {
            module.set(name, value.to_value());
        }
        module.frozen_heap().add_reference(extension::SUPPORT.heap());
    }
    if source.mentions("__file__") {
        let path = source.path().display().to_string();
        module.set("__file__", module.heap().alloc(path));
    }
    for name in ["os", "config", "sys", "shlex", "v1alpha1"] {
        if source.mentions(name) {
            module.set(name, namespace(module, session, name).to_value());
        }
    }
}

fn namespace(module: &Module<'_>, session: &Session<'_>, name: &'static str) -> FrozenValue {
    let heap = module.frozen_heap();
    let mut members = SmallMap::new();
    let functions =
        REGISTRY.modules.iter().find(|(module, _)| *module == name).map(|(_, functions)| functions);
    if let Some(functions) = functions {
        heap.add_reference(functions.heap());
        members.extend(functions.iter().map(|(name, value)| (name.to_owned(), value)));
    }
    let mut add = |name: &str, value: FrozenValue| members.insert(name.to_owned(), value);
    match name {
        "os" => {
            add("path", namespace(module, session, "os.path"));
            add("environ", os::environment(session, heap));
            add("name", heap.alloc(if cfg!(windows) { "nt" } else { "posix" }));
        }
        "config" => {
            let path = &session.request.path;
            add("tilt_subcommand", heap.alloc(session.request.subcommand.as_str()));
            add("main_path", heap.alloc(path.display().to_string()));
            let directory = path.parent().map(|directory| directory.display().to_string());
            add("main_dir", heap.alloc(directory.unwrap_or_default()));
        }
        _ => {}
    }
    Namespace { name: name.to_owned(), members }.alloc_frozen_value(heap)
}
