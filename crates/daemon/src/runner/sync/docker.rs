//! Live updates through the Docker engine that runs the container: they need neither `tar` nor permissions in it.

use std::sync::Arc;

use lilt_cluster::{Changes, Output, REMOVALS_AT_ONCE, SentTimes};
use lilt_docker::{Access, Engine, ExecOutput};
use lilt_engine::SyncTask;
use lilt_model::Failure;

use crate::context::Context;

#[derive(Debug)]
pub(super) struct DockerChannel {
    engine: Arc<Engine>,
    /// The container's id in the engine.
    container: String,
    sent_times: SentTimes,
}

impl DockerChannel {
    /// Finds the container in the cluster's own engine, or in the one of this machine.
    pub(super) async fn open(context: &Context, task: &SyncTask) -> Result<Self, Failure> {
        let mut trouble = None;
        if let Some(id) = task.id.as_str().strip_prefix("docker://") {
            let own =
                context.connections.cluster_engine(&task.pod.cluster).map(|own| Arc::clone(&own.engine));
            for engine in own.into_iter().chain(context.connections.docker().ok().cloned()) {
                match engine.access(id).await {
                    Ok(Access::Writable) => {
                        let (container, sent_times) = (id.to_owned(), SentTimes::default());
                        return Ok(Self { engine, container, sent_times });
                    }
                    Ok(Access::ReadOnly) => trouble = Some(read_only(task)),
                    Ok(Access::Absent) => {}
                    Err(failure) => trouble = Some(failure),
                }
            }
        }
        Err(trouble.unwrap_or_else(|| absent(task)))
    }

    /// Removes files, then writes others.
    pub(super) async fn send(&mut self, changes: &Changes) -> Result<(), Failure> {
        // Files that cannot be sent are detected before anything is removed.
        let archive = changes.archive(&mut self.sent_times)?;
        for paths in changes.removals().chunks(REMOVALS_AT_ONCE) {
            self.engine.remove_paths(&self.container, paths).await?;
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
        let forward = |heard: ExecOutput<'_>| {
            on_output(match heard {
                ExecOutput::Stdout(bytes) => Output::Stdout(bytes),
                ExecOutput::Stderr(bytes) => Output::Stderr(bytes),
            });
        };
        let code = self.engine.execute_streaming(&self.container, argv, None, forward).await?;
        Ok(i32::try_from(code).unwrap_or(-1))
    }
}

fn read_only(task: &SyncTask) -> Failure {
    Failure::user(format!(
        "the root file system of the container {} of the pod {} is read-only, also to its Docker engine",
        task.container, task.pod.name
    ))
    .hint("leave --update-mode=container out")
}

fn absent(task: &SyncTask) -> Failure {
    Failure::user(format!(
        "no Docker engine here has the container {} of the pod {}",
        task.container, task.pod.name
    ))
    .hint("leave --update-mode=container out")
}
