//! The Kubernetes edge: connect, apply, delete, watch pods, follow logs, forward ports, change running containers.
//!
//! Uses the plain data of `lilt-model` and turns every error of the API server into a [`lilt_model::Failure`]. Knows
//! nothing of resources, updates or Docker, reads no files but kubeconfig and what it names, keeps no state but
//! caches of what does not change, and prints nothing.

mod apply;
mod archive;
mod conditions;
mod connect;
mod delete;
mod difference;
mod error;
mod find;
mod fingerprint;
mod forward;
pub mod inject;
mod kinds;
mod list_cache;
mod live;
mod logs;
mod order;
mod original_manifest;
mod pod;
mod probe;
mod shared;
mod watch;

pub use apply::{Applied, ApplyOptions, KeptObject, OtherDeployer, Preview, Remark, is_create_once};
pub use conditions::ObjectState;
pub use connect::{
    Cluster, ConnectOptions, ContextSelection, IN_CLUSTER, PluginOutput, SessionKubeconfig,
    WrittenKubeconfig, connection_files, context_selection, current_context, kube_contexts, kubeconfig_files,
};
pub use delete::DeleteOutcome;
pub use difference::FieldChange;
pub use error::is_unreachable;
pub use find::FoundObject;
pub use fingerprint::{KnownObject, digest};
pub use forward::{Forwarder, PortStream};
pub use live::{
    AgentUpload, Changes, Content, FileBytes, LiveChannel, LiveTransport, Output, Put, REMOVALS_AT_ONCE,
    SentTimes,
};
pub use logs::{LogChunk, LogStream};
pub use watch::{NamespaceEvent, NamespaceWatch, ObjectEvent};
