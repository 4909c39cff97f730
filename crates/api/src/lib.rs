//! Types of the API group `tilt.dev/v1alpha1`: one file per kind, with exactly the fields of Tilt.
//!
//! The types are the single source of truth for the fields. Their doc comments become the descriptions in `explain` and
//! in the OpenAPI documents. Validation, the OpenAPI documents and the Tiltfile's `v1alpha1.*` functions use the schema
//! that [`kinds`] derives from them. A field is required unless it has a `skip_serializing_if`; `#[schemars(…)]` marks
//! the few optional fields that Tilt always writes.
//!
//! The file of a kind also contains the conversions between its specification and the types of `lilt_model`.
//! [`ObjectKind`] enumerates the kinds; [`Content`] holds the parsed content of an object of any kind.
//!
//! This crate does no IO and has no state.

pub mod check;
mod cluster;
mod cmd;
mod cmd_image;
mod config_map;
mod convert;
mod disable;
mod docker_compose_log_stream;
mod docker_compose_service;
mod docker_image;
mod extension;
mod extension_repo;
mod file_watch;
mod image_map;
pub mod kinds;
mod kubernetes_apply;
mod kubernetes_discovery;
mod live_update;
mod meta;
mod notes;
mod object;
mod object_kind;
mod pod;
mod pod_log_stream;
mod port_forward;
mod probe;
mod schema;
mod session;
mod tiltfile;
mod time;
mod toggle_button;
mod triggers;
mod ui_button;
mod ui_input;
mod ui_resource;
mod ui_session;

pub use cluster::*;
pub use cmd::*;
pub use cmd_image::*;
pub use config_map::*;
pub use convert::sanitize_name;
pub use disable::*;
pub use docker_compose_log_stream::*;
pub use docker_compose_service::*;
pub use docker_image::*;
pub use extension::*;
pub use extension_repo::*;
pub use file_watch::*;
pub use image_map::*;
pub use kubernetes_apply::*;
pub use kubernetes_discovery::*;
pub use lilt_model::annotation;
pub use live_update::*;
pub use meta::*;
pub use notes::{Notes, show_in};
pub use object::{OWNER_REFERENCES, Object, ObjectKey};
pub use object_kind::{ApiContent, Content, ObjectKind, parse_content};
pub use pod::*;
pub use pod_log_stream::*;
pub use port_forward::*;
pub use probe::*;
pub use session::*;
pub use tiltfile::*;
pub use time::{Duration, Time};
pub use toggle_button::*;
pub use triggers::*;
pub use ui_button::*;
pub use ui_input::*;
pub use ui_resource::*;
pub use ui_session::*;

pub const API_VERSION: &str = "tilt.dev/v1alpha1";

/// Returns whether Go's `omitempty` omits a value.
fn is_empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Serializes an empty list as null, as Go does without `omitempty`.
fn null_if_empty<T: serde::Serialize, S: serde::Serializer>(
    list: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if list.is_empty() { serializer.serialize_none() } else { serializer.collect_seq(list) }
}
