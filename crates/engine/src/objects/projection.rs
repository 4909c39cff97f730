//! Objects as readers see them: with the status that their controllers have.

use lilt_api::{CmdStatus, Content, FileWatchStatus, KubernetesApplyStatus, Object, ObjectKey};
use lilt_model::ResourceName;
use serde_json::{Value, json};

use super::disable::Switch;
use super::tiltfile::tiltfile_status;
use super::{ObjectRecord, Run, apply, building, cluster, command, discovery, pods, unsupported};
use crate::controllers::{file_watch, live_update, log_stream};
use crate::state::State;

/// Returns an object as readers see it; none if it does not exist.
pub fn project_object(state: &State, key: &ObjectKey) -> Option<(String, Object)> {
    let record = state.objects.records.get(key)?;
    let mut object = record.object.clone();
    if let Some(status) = status(state, key, record) {
        object.set_status(&status);
    }
    Some((record.uid.clone(), object))
}

/// Returns the status of an object; none if it is the one that was written, or the kind has none.
fn status(state: &State, key: &ObjectKey, record: &ObjectRecord) -> Option<Value> {
    let disable_status = record.switch.as_ref().map(Switch::status);
    let status = match &record.run {
        Run::Nothing => match &record.content {
            Content::UIButton(button) => json!(button.status),
            Content::DockerComposeService(_) => json!(unsupported::service_status()),
            Content::DockerComposeLogStream(_) => json!(unsupported::log_stream_status()),
            _ => return None,
        },
        Run::Cluster(run) => json!(cluster::status(run)),
        Run::Apply(run) => json!(KubernetesApplyStatus { disable_status, ..apply::status(run) }),
        Run::Image(run) => match &record.content {
            Content::CmdImage(_) => json!(building::cmd_image_status(run)),
            _ => json!(building::docker_image_status(run)),
        },
        Run::LiveUpdate => json!(live_update::object_status(state, key)),
        Run::Discovery => json!(discovery::status(state, key)),
        Run::LogStream => json!(log_stream::status(state, key)),
        Run::Forward => json!(pods::forward_status(state, key)),
        Run::Command(_) => json!(CmdStatus { disable_status, ..command::status(state, key) }),
        Run::FileWatch => {
            let status = state.file_events(&key.name).map(file_watch::status).unwrap_or_default();
            json!(FileWatchStatus { disable_status, ..status })
        }
        Run::Toggle(run) => json!(run.status()),
        Run::Repository(run) => json!(run.status()),
        Run::Extension(run) => json!(run.status()),
        Run::Tiltfile => {
            let tiltfile = state.tiltfile_named(&ResourceName::new(&key.name));
            json!(tiltfile.map(tiltfile_status).unwrap_or_default())
        }
    };
    Some(status)
}
