//! Changing files of a running container and running commands in it, over one exec that stays open: a new one costs
//! tens of milliseconds, a request on an open one a few.

mod agent;
mod agent_upload;
mod changes;
mod container;
mod exec;
mod frames;
mod recent;
mod script;
mod sent_times;
mod shell;

use lilt_model::Failure;
use lilt_model::cluster::PodRef;

use crate::connect::Cluster;
use agent::AgentChannel;
pub use agent_upload::AgentUpload;
pub use changes::{Changes, Content, FileBytes, Put};
pub use sent_times::SentTimes;
use shell::ShellChannel;

/// Removing more paths at once might exceed what a command line may hold.
pub const REMOVALS_AT_ONCE: usize = 1000;

/// What a command writes, as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    Stdout(&'a [u8]),
    Stderr(&'a [u8]),
}

/// Who does it in the container.
#[derive(Clone, Copy, Debug)]
pub enum LiveTransport<'a> {
    /// The image's own `sh`; it takes in lilt's agent, if that is allowed and can be, or else needs `tar`.
    Shell(Option<AgentUpload<'a>>),
    /// lilt's agent, which the pod was made with.
    Agent,
}

/// An open channel to one container. Dropping it closes it. A failed or cancelled request breaks it: open a new one.
#[derive(Debug)]
pub struct LiveChannel(Channel);

#[derive(Debug)]
enum Channel {
    Shell(Box<ShellChannel>),
    Agent(Box<AgentChannel>),
}

impl LiveChannel {
    pub async fn open(
        cluster: &Cluster,
        pod: &PodRef,
        container: &str,
        transport: LiveTransport<'_>,
    ) -> Result<Self, Failure> {
        Ok(Self(match transport {
            LiveTransport::Shell(Some(agent_upload)) => {
                agent_upload::open(cluster, pod, container, &agent_upload).await?
            }
            LiveTransport::Shell(None) => {
                Channel::Shell(Box::new(ShellChannel::open(cluster, pod, container, &[]).await?))
            }
            LiveTransport::Agent => {
                Channel::Agent(Box::new(AgentChannel::open(cluster, pod, container).await?))
            }
        }))
    }

    /// Removes, then writes.
    pub async fn update(&mut self, changes: &Changes) -> Result<(), Failure> {
        self.send(changes).await?;
        self.commit().await
    }

    /// Brings changes to the container. Where the agent is, nothing has changed yet; the shell writes them at once.
    pub async fn send(&mut self, changes: &Changes) -> Result<(), Failure> {
        match &mut self.0 {
            Channel::Shell(channel) => channel.update(changes).await,
            Channel::Agent(channel) => channel.send(changes).await,
        }
    }

    /// Puts what was sent in its place.
    pub async fn commit(&mut self) -> Result<(), Failure> {
        match &mut self.0 {
            Channel::Shell(_) => Ok(()),
            Channel::Agent(channel) => channel.commit().await,
        }
    }

    /// Runs a command in the container's working directory, without input, and gives its exit code.
    pub async fn run(
        &mut self,
        argv: &[String],
        on_output: impl FnMut(Output<'_>) + Send,
    ) -> Result<i32, Failure> {
        match &mut self.0 {
            Channel::Shell(channel) => channel.run(argv, on_output).await,
            Channel::Agent(channel) => channel.run(argv, on_output).await,
        }
    }

    /// Starts the container's process anew, without an end of the container.
    pub async fn restart(&mut self) -> Result<(), Failure> {
        match &mut self.0 {
            Channel::Shell(channel) => Err(channel.cannot_restart()),
            Channel::Agent(channel) => channel.restart().await,
        }
    }
}
