//! lilt's agent comes over the open connection into a container that was made without it: nothing of the pod changes,
//! and nothing is left in the container but the process that serves.

use lilt_model::Failure;
use lilt_model::cluster::PodRef;

use super::Channel;
use super::agent::AgentChannel;
use super::shell::ShellChannel;
use crate::connect::Cluster;

/// Where most containers let a file be written and started, whoever their user is.
const COMMON_FOLDERS: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/run"];

/// The agent, as it is taken along.
#[derive(Clone, Copy, Debug)]
pub struct AgentUpload<'a> {
    /// The program for a machine, as `uname -m` names it.
    pub program: fn(&str) -> Option<&'static [u8]>,
    /// Where it may lie for a moment if nothing else will do: what is synced can be written there.
    pub folders: &'a [String],
}

/// The agent if it can be, the shell alone if not.
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
        // It could be started a moment ago, and yet it does not serve. The other way needs less.
        Err(_) => Ok(Channel::Shell(Box::new(ShellChannel::open(cluster, pod, container, &[]).await?))),
    }
}
