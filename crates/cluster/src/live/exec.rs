//! An exec in a container that stays open, and the errors of its connection.

use std::pin::Pin;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::{AttachParams, AttachedProcess};
use lilt_model::Failure;
use lilt_model::cluster::PodRef;
use tokio::io::{ReadHalf, SimplexStream, WriteHalf};

use crate::connect::Cluster;
use crate::error::{Error, WriteFault};

const BUFFER: usize = 256 << 10;

/// A running command. Dropping it closes the connection.
pub(super) struct Exec {
    /// Its background task transfers the bytes.
    _process: AttachedProcess,
    pub(super) end: End,
    pub(super) target: ExecTarget,
}

/// The streams of an exec.
pub(super) struct Streams {
    pub(super) stdin: WriteHalf<SimplexStream>,
    pub(super) stdout: ReadHalf<SimplexStream>,
    pub(super) stderr: ReadHalf<SimplexStream>,
}

/// Identifies the container in messages.
#[derive(Clone, Debug)]
pub(super) struct ExecTarget {
    pub(super) pod: String,
    pub(super) container: String,
}

impl Exec {
    pub(super) async fn open(
        cluster: &Cluster,
        pod: &PodRef,
        container: &str,
        command: &[&str],
    ) -> Result<(Self, Streams), Failure> {
        let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &pod.namespace);
        let parameters = AttachParams::default()
            .container(container)
            .stdin(true)
            .stdout(true)
            .stderr(true)
            .max_stdin_buf_size(BUFFER)
            .max_stdout_buf_size(BUFFER)
            .max_stderr_buf_size(BUFFER);
        let mut process = match pods.exec(&pod.name, command.iter().copied(), &parameters).await {
            Ok(process) => process,
            Err(error) => return Err(not_opened(cluster, pod, container, &error)),
        };
        let asked = "invariant: asked for when attaching";
        let streams = Streams {
            stdin: process.stdin().expect(asked),
            stdout: process.stdout().expect(asked),
            stderr: process.stderr().expect(asked),
        };
        let end = End::of(process.take_status());
        let target = ExecTarget { pod: pod.name.clone(), container: container.to_owned() };
        Ok((Self { _process: process, end, target }, streams))
    }

    /// Returns the message of the final status, which may arrive a moment after the end of the streams.
    pub(super) async fn final_status(&mut self) -> &str {
        let _ = tokio::time::timeout(Duration::from_secs(1), self.end.reached()).await;
        self.end.message()
    }
}

impl ExecTarget {
    fn names(&self) -> (String, String) {
        (self.pod.clone(), self.container.clone())
    }

    pub(super) fn channel_lost(&self, cause: &str) -> Failure {
        let (pod, container) = self.names();
        Error::ChannelLost { pod, container, cause: cause.to_owned() }.into()
    }

    pub(super) fn cannot_restart(&self) -> Failure {
        let (pod, container) = self.names();
        Error::NotOwnProcess { pod, container }.into()
    }

    pub(super) fn not_restarted(&self, cause: String) -> Failure {
        let (pod, container) = self.names();
        Error::NotRestarted { pod, container, cause }.into()
    }

    pub(super) fn missing_program(&self, program: &str) -> Failure {
        let (pod, container) = self.names();
        Error::NoProgram { pod, container, program: program.to_owned() }.into()
    }

    /// Files could not be changed. `output` is the output of the other side.
    pub(super) fn not_written(&self, output: &str) -> Failure {
        let (pod, container) = self.names();
        let fault = WriteFault::of_output(output);
        Error::NotWritten { pod, container, fault, output: output.to_owned() }.into()
    }
}

/// The end of the exec. A lost connection does not close its streams: only the status reports it.
pub(super) enum End {
    Ahead(Pin<Box<dyn Future<Output = Option<Status>> + Send>>),
    /// With the message of the status, if there is one.
    Reached(Option<String>),
}

impl End {
    pub(super) fn of(status: Option<impl Future<Output = Option<Status>> + Send + 'static>) -> Self {
        match status {
            Some(status) => Self::Ahead(Box::pin(status)),
            None => Self::Reached(None),
        }
    }

    pub(super) async fn reached(&mut self) {
        if let Self::Ahead(status) = self {
            let status = status.await;
            *self = Self::Reached(status.and_then(|status| status.message));
        }
    }

    pub(super) fn message(&self) -> &str {
        match self {
            Self::Reached(Some(message)) => message,
            _ => "",
        }
    }
}

fn not_opened(cluster: &Cluster, pod: &PodRef, container: &str, error: &kube::Error) -> Failure {
    match crate::error::code(error) {
        Some(404) => Failure::environment(format!("cannot update: the pod {} is gone", pod.name)),
        Some(403) => cluster.forbidden(&format!("to run commands in pod {} (pods/exec)", pod.name), error),
        Some(code) => {
            Error::ExecRefused { pod: pod.name.clone(), container: container.to_owned(), code }.into()
        }
        None => cluster.failure(&format!("entering pod {}", pod.name), error),
    }
}
