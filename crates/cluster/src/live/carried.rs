//! lilt's agent comes over the open connection into a container that was made without it: nothing of the pod changes,
//! and nothing is left in the container but the process that serves.

use lilt_model::Failure;
use lilt_model::cluster::PodRef;

use super::Kind;
use super::agent::AgentChannel;
use super::shell::ShellChannel;
use crate::connect::Cluster;

/// Where most containers let a file be written and started, whoever their user is.
const USUAL: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/run"];

/// The agent, as it is taken along.
#[derive(Clone, Copy, Debug)]
pub struct Carried<'a> {
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
    carried: &Carried<'_>,
) -> Result<Kind, Failure> {
    let own = carried.folders.iter().map(String::as_str);
    let folders: Vec<&str> = USUAL.into_iter().chain(own).collect();
    let mut shell = ShellChannel::open(cluster, pod, container, &folders).await?;
    if !shell.bring_agent(carried).await? {
        return Ok(Kind::Shell(Box::new(shell)));
    }
    let (exec, streams, heard) = shell.become_agent().await?;
    match AgentChannel::guest(exec, streams, heard).await {
        Ok(agent) => Ok(Kind::Agent(Box::new(agent))),
        // It could be started a moment ago, and yet it does not serve. The other way needs less.
        Err(_) => Ok(Kind::Shell(Box::new(ShellChannel::open(cluster, pod, container, &[]).await?))),
    }
}
