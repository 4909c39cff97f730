//! The Docker edge: builds images, tags and pushes them, runs commands in containers.
//!
//! Knows the engine's HTTP API and BuildKit's session protocol, and nothing of resources, updates or clusters:
//! `daemon` translates. Never prints and never reads the process's environment, which callers pass in.

pub mod build;
pub mod credentials;
pub mod engine;
pub mod image_reader;

mod address;
mod builder;
mod container_user;
mod error;
mod exec;
mod export;
mod fingerprint;
mod messages;
mod prune;
mod registry;
mod session;
mod ssh_agent;
mod transport;
mod version;

pub use build::{BuildProgress, BuildRequest, BuiltImage, StepId, Transferred};
pub use engine::{Engine, ImageStore, Info, PushProgress, Pushed};
pub use exec::{Access, ExecOutput, Executed, RunningContainer};
pub use export::{Exported, Parts};
pub use fingerprint::{Fingerprint, fingerprint};
pub use prune::{PruneOutcome, PruneRequest};
pub use ssh_agent::SshSource;
