//! The objects of the API group `tilt.dev/v1alpha1` as types: one file per kind, with Tilt's field names and no field of
//! our own.
//!
//! The types are the only place that knows the fields. Their doc comments are the descriptions that `explain` shows;
//! validation, the OpenAPI documents and the Tiltfile's `v1alpha1.*` functions read the schema that [`kinds`] derives
//! from them. A field is always written and thus required, unless it has a `skip_serializing_if`; `#[schemars(…)]` says
//! so for the few that Tilt always writes without requiring them.
//!
//! The file of a kind also has the conversions between its specification and the types of `lilt_model`. A closed enum,
//! [`ObjectKind`], names the kinds; [`Content`] holds the parsed content of an object of any of them.
//!
//! Nothing here does IO or holds state.

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

/// Whether Go's `omitempty` leaves a value out.
fn is_empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A list that nothing was ever put into is null in Go, where it is not left out.
fn null_if_empty<T: serde::Serialize, S: serde::Serializer>(
    list: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if list.is_empty() { serializer.serialize_none() } else { serializer.collect_seq(list) }
}
