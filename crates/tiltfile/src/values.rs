//! The Starlark values that builtins return and take: blobs, live update steps, forwards, links, and types of the
//! language that the interpreter lacks.
//!
//! They hold plain data only and are immutable, so that files can share them.

// Only for what the derives of starlark generate.
#![allow(unsafe_code)]

pub(crate) mod byte_string;
pub(crate) mod elements;
mod endless;
pub(crate) mod environ;
pub(crate) mod equality;
mod git_repo;
mod kubernetes;
pub(crate) mod limits;
pub(crate) mod mapping;
mod probe;
mod range;
pub(crate) mod structure;
pub(crate) mod text;
pub(crate) mod unpack;

use std::fmt;
use std::hash::Hasher;
use std::path::PathBuf;

use allocative::Allocative;
use lilt_model::command::Command;
use lilt_model::kubernetes::Forward;
use lilt_model::resource::{Link, TriggerMode};
use starlark::any::ProvidesStaticType;
use starlark::collections::{SmallMap, StarlarkHasher};
use starlark::starlark_simple_value;
use starlark::values::{
    FrozenValue, Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value,
};

use crate::failure::SourceSpan;

pub(crate) use endless::Endless;
pub(crate) use environ::Environ;
pub(crate) use git_repo::GitRepo;
pub(crate) use kubernetes::{CustomBuildValue, ObjectId};
pub(crate) use probe::{ActionValue, ProbeValue};
pub(crate) use range::Range;

/// Text and its origin. Builtins that take a path or a text distinguish them by this type.
#[derive(Clone, Debug, PartialEq, Eq, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct Blob {
    pub(crate) text: String,
    /// For messages: `file: app.yaml`, `local: cat app.yaml`.
    pub(crate) source: String,
}
starlark_simple_value!(Blob);

impl fmt::Display for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[starlark_value(type = "blob")]
impl<'v> StarlarkValue<'v> for Blob {
    fn to_bool(&self) -> bool {
        !self.text.is_empty()
    }

    fn write_hash(&self, hasher: &mut StarlarkHasher) -> starlark::Result<()> {
        hasher.write(self.text.as_bytes());
        Ok(())
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.downcast_ref::<Blob>() == Some(self))
    }
}

/// What a step of `live_update` does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    InitialSync,
    FallBackOn(Vec<PathBuf>),
    Sync { local: PathBuf, container: String },
    Run { argv: Vec<String>, triggers: Vec<String>, echo_off: bool },
    RestartContainer,
    RestartProcess { triggers: Vec<String> },
}

/// One step of `live_update`, as `sync()`, `run()` and the like return it.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct LiveUpdateStep {
    #[allocative(skip)]
    pub(crate) step: Step,
    #[allocative(skip)]
    pub(crate) span: SourceSpan,
}
starlark_simple_value!(LiveUpdateStep);

impl LiveUpdateStep {
    /// Tilt's name of its type: each kind of step has its own.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.step {
            Step::InitialSync => "live_update_initial_sync_step",
            Step::FallBackOn(_) => "live_update_fall_back_on_step",
            Step::Sync { .. } => "live_update_sync_step",
            Step::Run { .. } => "live_update_run_step",
            Step::RestartContainer => "live_update_restart_container_step",
            Step::RestartProcess { .. } => "live_update_restart_process_step",
        }
    }
}

impl fmt::Display for LiveUpdateStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.step {
            Step::InitialSync => f.write_str("initial_sync step"),
            Step::FallBackOn(paths) => {
                let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
                // The lone quote is Tilt's.
                write!(f, "fall_back_on step: [{}]'", paths.join(" "))
            }
            Step::Sync { local, container } => write!(f, "sync step: '{}'->'{container}'", local.display()),
            Step::Run { argv, triggers, .. } => {
                let command =
                    Command { argv: argv.clone(), dir: PathBuf::new(), env: Vec::new(), unset: Vec::new() };
                write!(f, "run step: {}", text::quoted(&command.display()))?;
                match triggers.as_slice() {
                    [] => Ok(()),
                    triggers => write!(f, " (triggers: {})", triggers.join("; ")),
                }
            }
            Step::RestartContainer => f.write_str("restart_container step"),
            Step::RestartProcess { .. } => f.write_str("restart_process step"),
        }
    }
}

#[starlark_value(type = "live_update_step")]
impl<'v> StarlarkValue<'v> for LiveUpdateStep {
    fn to_bool(&self) -> bool {
        !matches!(&self.step, Step::FallBackOn(paths) if paths.is_empty())
    }
}

#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct ForwardValue(#[allocative(skip)] pub(crate) Forward);
starlark_simple_value!(ForwardValue);

impl fmt::Display for ForwardValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Forward { local_port, container_port, name, .. } = &self.0;
        let name = text::quoted(name);
        write!(f, "port_forward(local_port={local_port}, container_port={container_port}, name={name})")
    }
}

#[starlark_value(type = "port_forward")]
impl<'v> StarlarkValue<'v> for ForwardValue {}

/// What `link()` returns. Its type is `struct`, as in Tilt.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct LinkValue {
    #[allocative(skip)]
    pub(crate) link: Link,
    /// The URL as Tilt shows it: `localhost:4000` counts as one with a scheme.
    pub(crate) url: String,
}
starlark_simple_value!(LinkValue);

impl fmt::Display for LinkValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link(name = {}, url = {})", text::quoted(&self.link.name), text::quoted(&self.url))
    }
}

#[starlark_value(type = "struct")]
impl<'v> StarlarkValue<'v> for LinkValue {
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        match attribute {
            "url" => Some(heap.alloc(self.url.as_str())),
            "name" => Some(heap.alloc(self.link.name.as_str())),
            _ => None,
        }
    }

    fn dir_attr(&self) -> Vec<String> {
        vec!["name".into(), "url".into()]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct TriggerModeValue(#[allocative(skip)] pub(crate) TriggerMode);
starlark_simple_value!(TriggerModeValue);

impl fmt::Display for TriggerModeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            TriggerMode::Auto => "TRIGGER_MODE_AUTO",
            TriggerMode::Manual => "TRIGGER_MODE_MANUAL",
        })
    }
}

#[starlark_value(type = "TriggerMode")]
impl<'v> StarlarkValue<'v> for TriggerModeValue {
    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.downcast_ref::<TriggerModeValue>() == Some(self))
    }
}

/// A module of builtins: `os`, `os.path`, `config`.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct Namespace {
    pub(crate) name: String,
    pub(crate) members: SmallMap<String, FrozenValue>,
}
starlark_simple_value!(Namespace);

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[module: {}]", self.name)
    }
}

#[starlark_value(type = "module")]
impl<'v> StarlarkValue<'v> for Namespace {
    fn get_attr(&self, attribute: &str, _heap: Heap<'v>) -> Option<Value<'v>> {
        self.members.get(attribute).map(|member| member.to_value())
    }

    fn dir_attr(&self) -> Vec<String> {
        self.members.keys().cloned().collect()
    }
}
