//! The connection for live updates of one container, over either transport.

use lilt_cluster::{AgentUpload, Changes, Cluster, LiveChannel, LiveTransport, Output};
use lilt_engine::SyncTask;
use lilt_model::Failure;

use super::docker::DockerChannel;
use crate::context::Context;

/// Must be reopened after a failed or cancelled request.
#[derive(Debug)]
pub(super) enum Channel {
    /// An exec that stays open.
    Exec(LiveChannel),
    Docker(DockerChannel),
}

impl Channel {
    /// Opens a channel. `by_engine`: through the Docker engine that runs the container, instead of Kubernetes.
    pub(super) async fn open(
        context: &Context,
        cluster: &Cluster,
        task: &SyncTask,
        by_engine: bool,
    ) -> Result<Self, Failure> {
        if by_engine {
            return DockerChannel::open(context, task).await.map(Self::Docker);
        }
        let folders: Vec<String> = task.live_update.syncs.iter().map(|sync| sync.container.clone()).collect();
        let agent_upload = AgentUpload { program: lilt_agent_image::program, folders: &folders };
        let transport = match task.agent {
            true => LiveTransport::Agent,
            false => LiveTransport::Shell((!task.without_agent).then_some(agent_upload)),
        };
        LiveChannel::open(cluster, &task.pod, &task.container, transport).await.map(Self::Exec)
    }

    pub(super) async fn send(&mut self, changes: &Changes) -> Result<(), Failure> {
        match self {
            Self::Exec(channel) => channel.send(changes).await,
            Self::Docker(channel) => channel.send(changes).await,
        }
    }

    pub(super) async fn commit(&mut self) -> Result<(), Failure> {
        match self {
            Self::Exec(channel) => channel.commit().await,
            Self::Docker(_) => Ok(()),
        }
    }

    pub(super) async fn run(
        &mut self,
        argv: &[String],
        on_output: impl FnMut(Output<'_>) + Send,
    ) -> Result<i32, Failure> {
        match self {
            Self::Exec(channel) => channel.run(argv, on_output).await,
            Self::Docker(channel) => channel.run(argv, on_output).await,
        }
    }

    pub(super) async fn restart(&mut self) -> Result<(), Failure> {
        match self {
            Self::Exec(channel) => channel.restart().await,
            Self::Docker(_) => {
                Err(Failure::internal("a process is started anew only where lilt's agent is, through it"))
            }
        }
    }
}
