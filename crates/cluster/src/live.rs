//! Changing files of a running container and running commands in it, over one exec that stays open.
//!
//! A new exec costs tens of milliseconds, a request on an open one a few. In the container a shell loop
//! ([`script`]) reads requests and answers in frames ([`frames`]); it ends by itself when the channel closes.
//! Needs `sh`, and `tar` for files.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::{AttachParams, AttachedProcess};
use lilt_model::Failure;
use lilt_model::cluster::PodRef;
use tokio::io::{AsyncWriteExt, ReadHalf, SimplexStream, WriteHalf};

use crate::connect::Cluster;

mod frames;
mod script;

use frames::{Frames, Piece};

/// Removing more paths at once might exceed what a command line may hold.
const REMOVALS_AT_ONCE: usize = 1000;
/// As much of a command's complaints as a failure shows.
const MOST_DETAIL: usize = 16 << 10;
const BUFFER: usize = 256 << 10;

/// What a command writes, as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    Stdout(&'a [u8]),
    Stderr(&'a [u8]),
}

/// An open channel to one container. Dropping it closes it. A failed or cancelled request breaks it: open a new one.
pub struct LiveChannel {
    /// Its task moves the bytes.
    _process: AttachedProcess,
    end: End,
    stdin: WriteHalf<SimplexStream>,
    stdout: Frames<ReadHalf<SimplexStream>>,
    stderr: Frames<ReadHalf<SimplexStream>>,
    has_tar: bool,
    /// A request was begun and not finished: what comes next on the streams belongs to it.
    busy: bool,
    pod: String,
    container: String,
}

impl fmt::Debug for LiveChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveChannel").field("pod", &self.pod).field("container", &self.container).finish()
    }
}

impl LiveChannel {
    pub async fn open(cluster: &Cluster, pod: &PodRef, container: &str) -> Result<Self, Failure> {
        let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &pod.namespace);
        let marker = script::new_marker();
        let parameters = AttachParams::default()
            .container(container)
            .stdin(true)
            .stdout(true)
            .stderr(true)
            .max_stdin_buf_size(BUFFER)
            .max_stdout_buf_size(BUFFER)
            .max_stderr_buf_size(BUFFER);
        let command = ["sh".to_owned(), "-c".to_owned(), script::serve(&marker)];
        let mut process = match pods.exec(&pod.name, command, &parameters).await {
            Ok(process) => process,
            Err(error) => return Err(not_opened(cluster, pod, container, &error)),
        };
        let streams = "invariant: asked for when attaching";
        let mut channel = Self {
            stdin: process.stdin().expect(streams),
            stdout: Frames::new(process.stdout().expect(streams), &marker),
            stderr: Frames::new(process.stderr().expect(streams), &marker),
            end: End::of(process.take_status()),
            _process: process,
            has_tar: false,
            busy: false,
            pod: pod.name.clone(),
            container: container.to_owned(),
        };
        let hello = channel.hello().await?;
        channel.has_tar = script::says_tar(&hello);
        Ok(channel)
    }

    /// Unpacks a tar archive in `/`.
    pub async fn put(&mut self, archive: &Bytes) -> Result<(), Failure> {
        self.update(Some(archive), &[]).await
    }

    /// Removes files and directories; those that do not exist are no error.
    pub async fn remove(&mut self, paths: &[String]) -> Result<(), Failure> {
        self.update(None, paths).await
    }

    /// Removes `removals`, then unpacks `archive` in `/`, in one round trip.
    pub async fn update(&mut self, archive: Option<&Bytes>, removals: &[String]) -> Result<(), Failure> {
        if archive.is_some() && !self.has_tar {
            return Err(self.lacks("tar"));
        }
        let batches = removals.len().div_ceil(REMOVALS_AT_ONCE).max(1);
        for batch in 0..batches {
            let from = batch * REMOVALS_AT_ONCE;
            let paths = &removals[from..removals.len().min(from + REMOVALS_AT_ONCE)];
            let data = archive.filter(|_| batch + 1 == batches);
            let mut complaints = Vec::new();
            let request = script::update(paths, data.map(Bytes::len));
            let data = data.map(Bytes::as_ref).unwrap_or_default();
            let status = self.request(&request, data, |output| gather(&mut complaints, output)).await?;
            if status != 0 {
                return Err(self.not_written(&complaints, status));
            }
        }
        Ok(())
    }

    /// Runs a command in the container's working directory, without input, and gives its exit code.
    pub async fn run(
        &mut self,
        argv: &[String],
        on_output: impl FnMut(Output<'_>) + Send,
    ) -> Result<i32, Failure> {
        self.request(&script::run(argv), &[], on_output).await
    }

    async fn request(
        &mut self,
        request: &str,
        data: &[u8],
        mut on_output: impl FnMut(Output<'_>) + Send,
    ) -> Result<i32, Failure> {
        if self.busy {
            return Err(self.broken("an earlier request was not finished"));
        }
        self.busy = true;
        let (stdin, stdout, stderr) = (&mut self.stdin, &mut self.stdout, &mut self.stderr);
        let write = async {
            stdin.write_all(request.as_bytes()).await.ok()?;
            stdin.write_all(data).await.ok()?;
            stdin.flush().await.ok()
        };
        let read = async {
            let (mut end_of_stdout, mut end_of_stderr) = (None, None);
            while end_of_stdout.is_none() || end_of_stderr.is_none() {
                tokio::select! {
                    piece = stdout.next(), if end_of_stdout.is_none() => match piece? {
                        Piece::Bytes(bytes) => on_output(Output::Stdout(&bytes)),
                        Piece::End(text) => end_of_stdout = Some(text),
                    },
                    piece = stderr.next(), if end_of_stderr.is_none() => match piece? {
                        Piece::Bytes(bytes) => on_output(Output::Stderr(&bytes)),
                        Piece::End(text) => end_of_stderr = Some(text),
                    },
                }
            }
            end_of_stdout
        };
        let answer = async {
            tokio::pin!(write, read);
            tokio::select! {
                biased;
                answer = &mut read => answer,
                // All is sent, or cannot be sent: either way the answer says more.
                _ = &mut write => read.await,
            }
        };
        let answer = tokio::select! {
            biased;
            answer = answer => answer,
            // What came before the end was read above.
            () = self.end.reached() => None,
        };
        let Some(text) = answer else { return Err(self.ended().await) };
        let Ok(status) = text.trim().parse() else {
            return Err(Failure::internal(format!("the live update channel answered {text:?}")));
        };
        self.busy = false;
        Ok(status)
    }

    async fn hello(&mut self) -> Result<String, Failure> {
        loop {
            let piece = tokio::select! {
                biased;
                piece = self.stdout.next() => piece,
                () = self.end.reached() => None,
            };
            match piece {
                Some(Piece::End(text)) => return Ok(text),
                Some(Piece::Bytes(_)) => {}
                None => return Err(self.ended().await),
            }
        }
    }

    /// The exec ended; its status says why.
    async fn ended(&mut self) -> Failure {
        // The streams may end a moment before the status comes.
        let _ = tokio::time::timeout(Duration::from_secs(1), self.end.reached()).await;
        let message = self.end.message();
        if message.contains("executable file not found") || message.contains("no such file or directory") {
            return self.lacks("sh");
        }
        self.broken(if message.is_empty() { "the connection closed" } else { message })
    }

    fn broken(&self, cause: &str) -> Failure {
        Failure::environment(format!(
            "lost the live update channel to the container {} of the pod {}",
            self.container, self.pod
        ))
        .detail(cause.to_owned())
    }

    fn lacks(&self, program: &str) -> Failure {
        Failure::user(format!(
            "live update needs `{program}`, which the container {} of the pod {} does not have",
            self.container, self.pod
        ))
        .hint(format!(
            "add `{program}` to the image, or remove live_update to rebuild the image on every change"
        ))
    }

    fn not_written(&self, complaints: &[u8], status: i32) -> Failure {
        let complaints = String::from_utf8_lossy(complaints);
        let failure = Failure::user(format!(
            "cannot change files in the container {} of the pod {}",
            self.container, self.pod
        ));
        let detail = if complaints.trim().is_empty() {
            format!("exit code {status}")
        } else {
            complaints.trim_end().to_owned()
        };
        let hint = if complaints.contains("Permission denied") || complaints.contains("not permitted") {
            "the container's user may not write there: check USER and ownership in the Dockerfile"
        } else if complaints.contains("Read-only") {
            "the container's file system is read-only: mount a writable volume there, or drop readOnlyRootFilesystem"
        } else if complaints.contains("No space left") {
            "the container's disk is full"
        } else {
            return failure.detail(detail);
        };
        failure.detail(detail).hint(hint)
    }
}

/// The end of the exec. A lost connection does not end its streams: their other ends are dropped without a word, and
/// only the status tells.
enum End {
    Ahead(Pin<Box<dyn Future<Output = Option<Status>> + Send>>),
    /// With what the status says, if there is one.
    Reached(Option<String>),
}

impl End {
    fn of(status: Option<impl Future<Output = Option<Status>> + Send + 'static>) -> Self {
        match status {
            Some(status) => Self::Ahead(Box::pin(status)),
            None => Self::Reached(None),
        }
    }

    async fn reached(&mut self) {
        if let Self::Ahead(status) = self {
            let status = status.await;
            *self = Self::Reached(status.and_then(|status| status.message));
        }
    }

    fn message(&self) -> &str {
        match self {
            Self::Reached(Some(message)) => message,
            _ => "",
        }
    }
}

fn gather(complaints: &mut Vec<u8>, output: Output<'_>) {
    let (Output::Stdout(bytes) | Output::Stderr(bytes)) = output;
    let room = MOST_DETAIL.saturating_sub(complaints.len());
    complaints.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

fn not_opened(cluster: &Cluster, pod: &PodRef, container: &str, error: &kube::Error) -> Failure {
    match crate::error::code(error) {
        Some(404) => Failure::environment(format!("cannot update: the pod {} is gone", pod.name)),
        Some(403) => cluster.forbidden(&format!("to run commands in pod {} (pods/exec)", pod.name), error),
        Some(code) => {
            Failure::environment(format!("cannot enter the container {container} of the pod {}", pod.name))
                .detail(format!("the API server answered {code}"))
                .hint("is the container running?")
        }
        None => cluster.failure(&format!("entering pod {}", pod.name), error),
    }
}
