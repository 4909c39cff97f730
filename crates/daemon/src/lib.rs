//! The loop that owns all state, and one runner per kind of task.
//!
//! [`run`] waits for events, lets the engine apply them and diffs the engine's plan against what runs. Runners do
//! the work at the edges and answer with events. They share no state with the loop or with each other; what several of
//! them need belongs to one task that answers requests, such as [`runner::FileReader`].

mod api;
mod command_environment;
mod connections;
mod context;
mod deployers;
mod docker_prune;
mod down;
mod dry_run;
mod examine;
mod host_system;
mod in_flight;
mod minikube;
mod object_queries;
mod plugin_log;
mod program;
mod recording;
mod runner;
mod secrets;
mod session;
mod settings;
mod tasks;
#[cfg(test)]
mod test_support;

pub use api::Store;
pub use command_environment::CommandEnvironment;
pub use docker_prune::docker_prune;
pub use down::{DownOptions, down};
pub use dry_run::{DeployedResource, DownDryRun, DryRun, Removal, ResourceDryRun, dry_run, dry_run_down};
pub use examine::{ClusterFacts, DockerFacts, deploy_reference, examine_cluster, examine_docker};
pub use host_system::HostSystem;
pub use lilt_cluster::{PluginOutput, SessionKubeconfig};
pub use session::{SessionOutcome, run};
pub use settings::{BuildInfo, Project, Settings, Transport, node_commands_from_environment};
