//! The channel for containers with `sh`, and with `tar` for files.
//!
//! A shell loop ([`script`]) reads requests and responds with framed output ([`frames`]). It exits when the channel
//! closes. Where possible, it is replaced by lilt's agent.

use std::fmt;

use bytes::{Bytes, BytesMut};
use lilt_model::Failure;
use lilt_model::cluster::PodRef;
use tokio::io::{AsyncWriteExt, ReadHalf, SimplexStream, WriteHalf};

use super::exec::{Exec, Streams};
use super::frames::{Frames, Piece};
use super::script::Hello;
use super::{AgentUpload, Changes, Content, Output, Put, REMOVALS_AT_ONCE, SentTimes, script};
use crate::connect::Cluster;

/// The failed command of a file update.
struct Failed {
    stderr: Vec<u8>,
    status: i32,
}

/// How much of a command's stderr a failure contains.
const MAX_STDERR: usize = 16 << 10;

pub(super) struct ShellChannel {
    exec: Exec,
    stdin: WriteHalf<SimplexStream>,
    stdout: Frames<ReadHalf<SimplexStream>>,
    stderr: Frames<ReadHalf<SimplexStream>>,
    hello: Hello,
    /// A request is incomplete: what arrives next on the streams belongs to it.
    busy: bool,
    sent_times: SentTimes,
}

impl fmt::Debug for ShellChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShellChannel").field("target", &self.exec.target).finish_non_exhaustive()
    }
}

impl ShellChannel {
    /// `folders`: where the agent may be stored temporarily, in order of preference.
    pub(super) async fn open(
        cluster: &Cluster,
        pod: &PodRef,
        container: &str,
        folders: &[&str],
    ) -> Result<Self, Failure> {
        let marker = script::new_marker();
        let command = ["sh", "-c", &script::serve(&marker, folders)];
        let (exec, Streams { stdin, stdout, stderr }) = Exec::open(cluster, pod, container, &command).await?;
        let mut channel = Self {
            exec,
            stdin,
            stdout: Frames::new(stdout, &marker),
            stderr: Frames::new(stderr, &marker),
            hello: Hello::default(),
            busy: false,
            sent_times: SentTimes::default(),
        };
        channel.hello = channel.hello().await?;
        Ok(channel)
    }

    /// Uploads the agent; false if there is none for this architecture or it cannot be started, in which case nothing
    /// has changed.
    pub(super) async fn upload_agent(&mut self, agent_upload: &AgentUpload<'_>) -> Result<bool, Failure> {
        if !self.hello.takes_programs {
            return Ok(false);
        }
        let Some(program) = (agent_upload.program)(&self.hello.machine) else { return Ok(false) };
        let request = script::upload_agent(program.len());
        Ok(self.request(&request, program, |_| {}).await? == 0)
    }

    /// Replaces the shell loop with the uploaded agent, to which the streams belong from now on.
    pub(super) async fn become_agent(mut self) -> Result<(Exec, Streams, BytesMut), Failure> {
        let line = format!("{}\n", script::BECOME_AGENT);
        let written = async {
            self.stdin.write_all(line.as_bytes()).await?;
            self.stdin.flush().await
        };
        if written.await.is_err() {
            return Err(self.ended().await);
        }
        let ((stdout, buffered), (stderr, _)) = (self.stdout.into_parts(), self.stderr.into_parts());
        Ok((self.exec, Streams { stdin: self.stdin, stdout, stderr }, buffered))
    }

    /// Removes and unpacks in one round trip. Directories in the place of files are only looked for when tar fails.
    pub(super) async fn update(&mut self, changes: &Changes) -> Result<(), Failure> {
        let archive = changes.archive(&mut self.sent_times)?;
        if archive.is_some() && !self.hello.has_tar {
            return Err(self.exec.target.missing_program("tar"));
        }
        let first = self.unpack(archive.as_ref(), changes.removals()).await?;
        match first {
            Ok(()) => Ok(()),
            Err(_) if self.remove_directories(changes).await? => {
                self.unpack(archive.as_ref(), &[]).await?.map_err(|failed| self.not_written(&failed))
            }
            Err(failed) => Err(self.not_written(&failed)),
        }
    }

    /// Removes directories that are in the way of files; whether there were any.
    async fn remove_directories(&mut self, changes: &Changes) -> Result<bool, Failure> {
        let is_leaf = |put: &&Put| !matches!(put.content, Content::Directory { .. });
        let paths: Vec<&str> = changes.puts().iter().filter(is_leaf).map(|put| put.path.as_str()).collect();
        let mut removed = false;
        for paths in paths.chunks(REMOVALS_AT_ONCE) {
            removed |= self.request(&script::remove_directories(paths), &[], |_| {}).await?
                == script::REMOVED_DIRECTORY;
        }
        Ok(removed)
    }

    async fn unpack(
        &mut self,
        archive: Option<&Bytes>,
        removals: &[String],
    ) -> Result<Result<(), Failed>, Failure> {
        let batches = removals.len().div_ceil(REMOVALS_AT_ONCE).max(1);
        for batch in 0..batches {
            let from = batch * REMOVALS_AT_ONCE;
            let paths = &removals[from..removals.len().min(from + REMOVALS_AT_ONCE)];
            let data = archive.filter(|_| batch + 1 == batches);
            let mut stderr = Vec::new();
            let request = script::update(paths, data.map(Bytes::len));
            let data = data.map(Bytes::as_ref).unwrap_or_default();
            let status = self.request(&request, data, |output| collect_output(&mut stderr, output)).await?;
            if status != 0 {
                return Ok(Err(Failed { stderr, status }));
            }
        }
        Ok(Ok(()))
    }

    pub(super) async fn run(
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
            return Err(self.exec.target.channel_lost("an earlier request was not finished"));
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
                // The request is sent or cannot be sent: in both cases the response decides.
                _ = &mut write => read.await,
            }
        };
        let answer = tokio::select! {
            biased;
            answer = answer => answer,
            // Output before the end was read above.
            () = self.exec.end.reached() => None,
        };
        let Some(text) = answer else { return Err(self.ended().await) };
        let Ok(status) = text.trim().parse() else {
            return Err(Failure::internal(format!("the live update channel answered {text:?}")));
        };
        self.busy = false;
        Ok(status)
    }

    async fn hello(&mut self) -> Result<Hello, Failure> {
        loop {
            let piece = tokio::select! {
                biased;
                piece = self.stdout.next() => piece,
                () = self.exec.end.reached() => None,
            };
            match piece {
                Some(Piece::End(text)) => {
                    let strange = || Failure::internal(format!("the live update channel said {text:?}"));
                    return Hello::read(&text).ok_or_else(strange);
                }
                Some(Piece::Bytes(_)) => {}
                None => return Err(self.ended().await),
            }
        }
    }

    /// The exec ended; its status contains the reason.
    async fn ended(&mut self) -> Failure {
        let message = self.exec.final_status().await.to_owned();
        if is_missing_shell(&message) {
            return self.exec.target.missing_program("sh");
        }
        self.exec.target.channel_lost(&message)
    }

    pub(super) fn cannot_restart(&self) -> Failure {
        self.exec.target.cannot_restart()
    }

    fn not_written(&self, Failed { stderr, status }: &Failed) -> Failure {
        let stderr = String::from_utf8_lossy(stderr);
        match stderr.trim_end() {
            "" => self.exec.target.not_written(&format!("exit code {status}")),
            stderr => self.exec.target.not_written(stderr),
        }
    }
}

/// Whether an exec ended because there is no `sh`.
///
/// containerd and CRI-O say so in the status. Docker writes the message to the command's output and returns the exit
/// code of a shell that does not find a program.
fn is_missing_shell(message: &str) -> bool {
    ["executable file not found", "no such file or directory"].iter().any(|words| message.contains(words))
        || ["exit code 126", "exit code 127"].iter().any(|words| message.ends_with(words))
}

fn collect_output(stderr: &mut Vec<u8>, output: Output<'_>) {
    let (Output::Stdout(bytes) | Output::Stderr(bytes)) = output;
    let space = MAX_STDERR.saturating_sub(stderr.len());
    stderr.extend_from_slice(&bytes[..bytes.len().min(space)]);
}

#[cfg(test)]
mod tests {
    use super::is_missing_shell;

    #[test]
    fn missing_shell_is_detected_for_every_runtime() {
        for message in [
            "Internal error occurred: error executing command in container: failed to exec in container: failed to start \
             exec \"1\": OCI runtime exec failed: exec failed: unable to start container process: exec: \"sh\": executable \
             file not found in $PATH",
            "command terminated with non-zero exit code: command terminated with exit code 127",
            "command terminated with non-zero exit code: exec failed: exec: \"/bin/sh\": stat /bin/sh: no such file or directory",
        ] {
            assert!(is_missing_shell(message), "{message}");
        }
        for message in
            ["", "command terminated with non-zero exit code: command terminated with exit code 137"]
        {
            assert!(!is_missing_shell(message), "{message}");
        }
    }
}
