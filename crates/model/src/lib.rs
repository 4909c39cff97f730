//! Plain data that every other crate uses: names, resource specs, settings, failures, ignore rules.
//!
//! Nothing here does IO, waits or holds state.

pub mod annotation;
pub mod auth;
pub mod cluster;
pub mod command;
pub mod compose;
pub mod dockerfile;
pub mod duration;
pub mod escape;
pub mod failure;
pub mod files;
pub mod ignore;
pub mod image;
pub mod image_facts;
pub mod json_path;
pub mod kubeconfig;
pub mod kubernetes;
pub mod localhost;
pub mod locator;
pub mod log;
pub mod names;
pub mod nearest;
pub mod os_error;
pub mod probe;
pub mod project;
pub mod reference;
pub mod registry;
pub mod request;
pub mod resource;
pub mod secret;
pub mod settings;
pub mod size;
pub mod time;
pub mod timeline;
pub mod yaml;

pub use failure::{Class, Failure, FailureKind, Location, Unreachable};
pub use names::{ClusterName, ContainerId, ImageName, ResourceName, SpanId, Uid};
pub use resource::Resource;
pub use time::Timestamp;

/// The Tilt version that lilt is compatible with. Tiltfiles that check a version see this one.
pub const COMPATIBLE_TILT_VERSION: &str = "0.37.6";
