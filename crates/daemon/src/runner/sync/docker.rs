//! The way through the Docker engine that runs a container: its own copy needs neither `tar` nor rights in the container.

use std::sync::Arc;

use lilt_cluster::{Changes, Output, REMOVALS_AT_ONCE};
use lilt_docker::{Engine, Heard, Rights};
use lilt_engine::SyncTask;
use lilt_model::Failure;

use crate::context::Context;
use crate::settings::Transport;

#[derive(Debug)]
pub(super) struct DockerChannel {
    engine: Arc<Engine>,
    /// As the engine calls it.
    container: String,
}

impl DockerChannel {
    /// None if it is not the way: the container is not one of Docker's, or of another engine than those that are known
    /// here, or has the agent, or the user wants another way. What the engine writes is root's: for other users, and where
    /// little may be written, Kubernetes is the way unless somebody wants this one.
    pub(super) async fn open(context: &Context, task: &SyncTask) -> Result<Option<Self>, Failure> {
        let transport = context.settings.live_update.unwrap_or_default();
        if transport == Transport::Exec || task.agent {
            return Ok(None);
        }
        let mut trouble = None;
        if let Some(id) = task.id.as_str().strip_prefix("docker://") {
            let own = context.engine_of(&task.pod.cluster).map(|own| Arc::clone(&own.engine));
            for engine in own.into_iter().chain(context.edges.docker.iter().cloned()) {
                match engine.rights(id).await {
                    Ok(Some(rights)) if transport == Transport::Docker || suits(rights) => {
                        return Ok(Some(Self { engine, container: id.to_owned() }));
                    }
                    Ok(_) => {}
                    Err(failure) => trouble = Some(failure),
                }
            }
        }
        match transport {
            Transport::Docker => Err(trouble.unwrap_or_else(|| is_nowhere(task))),
            Transport::Any | Transport::Exec => Ok(None),
        }
    }

    /// Removes, then writes.
    pub(super) async fn send(&self, changes: &Changes) -> Result<(), Failure> {
        // What cannot be written is found before anything goes.
        let archive = changes.archive()?;
        for paths in changes.removals().chunks(REMOVALS_AT_ONCE) {
            let words = ["rm", "-rf", "--"].into_iter().chain(paths.iter().map(String::as_str));
            let argv: Vec<String> = words.map(str::to_owned).collect();
            let removed = self.engine.execute(&self.container, &argv, None).await?;
            if removed.code != 0 {
                let words = [removed.output, removed.errors].concat();
                return Err(Failure::user("cannot remove files in the container")
                    .detail(String::from_utf8_lossy(&words).trim().to_owned()));
            }
        }
        match archive {
            Some(archive) => self.engine.put_archive(&self.container, archive).await,
            None => Ok(()),
        }
    }

    pub(super) async fn run(
        &self,
        argv: &[String],
        mut on_output: impl FnMut(Output<'_>) + Send,
    ) -> Result<i32, Failure> {
        let tell = |heard: Heard<'_>| {
            on_output(match heard {
                Heard::Output(bytes) => Output::Stdout(bytes),
                Heard::Errors(bytes) => Output::Stderr(bytes),
            });
        };
        let code = self.engine.execute_telling(&self.container, argv, None, tell).await?;
        Ok(i32::try_from(code).unwrap_or(-1))
    }
}

fn suits(rights: Rights) -> bool {
    rights.is_root && !rights.is_read_only
}

fn is_nowhere(task: &SyncTask) -> Failure {
    Failure::user(format!(
        "no Docker engine here has the container {} of the pod {}",
        task.container, task.pod.name
    ))
    .hint("leave --update-mode=container out")
}
