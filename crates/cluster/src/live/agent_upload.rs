//! Uploads lilt's agent into a running container over the open connection. The pod does not change, and nothing but
//! the agent's process stays in the container.

use lilt_model::Failure;
use lilt_model::cluster::PodRef;

use super::Channel;
use super::agent::AgentChannel;
use super::shell::ShellChannel;
use crate::connect::Cluster;

/// Where most containers allow any user to store and start a program.
const COMMON_FOLDERS: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/run"];

/// The agent to upload.
#[derive(Clone, Copy, Debug)]
pub struct AgentUpload<'a> {
    /// Returns the program for an architecture, as printed by `uname -m`.
    pub program: fn(&str) -> Option<&'static [u8]>,
    /// Fallback folders, which are writable because they are sync targets.
    pub folders: &'a [String],
}

/// Opens a channel to the uploaded agent, or to the shell if that is not possible.
pub(super) async fn open(
    cluster: &Cluster,
    pod: &PodRef,
    container: &str,
    agent_upload: &AgentUpload<'_>,
) -> Result<Channel, Failure> {
    let synced = agent_upload.folders.iter().map(String::as_str);
    let folders: Vec<&str> = COMMON_FOLDERS.into_iter().chain(synced).collect();
    let mut shell = ShellChannel::open(cluster, pod, container, &folders).await?;
    if !shell.upload_agent(agent_upload).await? {
        return Ok(Channel::Shell(Box::new(shell)));
    }
    let (exec, streams, buffered) = shell.become_agent().await?;
    match AgentChannel::uploaded(exec, streams, buffered).await {
        Ok(agent) => Ok(Channel::Agent(Box::new(agent))),
        // It was startable a moment ago but does not respond. The shell needs less.
        Err(_) => Ok(Channel::Shell(Box::new(ShellChannel::open(cluster, pod, container, &[]).await?))),
    }
}
