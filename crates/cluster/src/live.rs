//! Changes files and runs commands in a running container, over one exec that stays open.
//!
//! Opening an exec takes tens of milliseconds, a request on an open one a few.

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

/// More paths at once might exceed the maximum length of a command line.
pub const REMOVALS_AT_ONCE: usize = 1000;

/// Output of a command, as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    Stdout(&'a [u8]),
    Stderr(&'a [u8]),
}

/// What handles the requests in the container.
#[derive(Clone, Copy, Debug)]
pub enum LiveTransport<'a> {
    /// The image's `sh`. It is replaced by the uploaded agent if that is given and possible; otherwise files need
    /// `tar`.
    Shell(Option<AgentUpload<'a>>),
    /// The agent that is part of the pod.
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

    /// Removes and writes files.
    pub async fn update(&mut self, changes: &Changes) -> Result<(), Failure> {
        self.send(changes).await?;
        self.commit().await
    }

    /// Sends changes. The agent applies them with [`Self::commit`], the shell at once.
    pub async fn send(&mut self, changes: &Changes) -> Result<(), Failure> {
        match &mut self.0 {
            Channel::Shell(channel) => channel.update(changes).await,
            Channel::Agent(channel) => channel.send(changes).await,
        }
    }

    /// Applies what was sent.
    pub async fn commit(&mut self) -> Result<(), Failure> {
        match &mut self.0 {
            Channel::Shell(_) => Ok(()),
            Channel::Agent(channel) => channel.commit().await,
        }
    }

    /// Runs a command in the container's working directory, without stdin, and returns its exit code.
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

    /// Restarts the container's process without restarting the container.
    pub async fn restart(&mut self) -> Result<(), Failure> {
        match &mut self.0 {
            Channel::Shell(channel) => Err(channel.cannot_restart()),
            Channel::Agent(channel) => channel.restart().await,
        }
    }
}
