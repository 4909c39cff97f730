//! Runs commands and changes files in containers of the engine: in nodes of clusters that are containers, and in pods
//! of clusters that share the engine.

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use hyper_util::rt::TokioIo;
use lilt_model::Failure;
use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::container_user;
use crate::engine::{Engine, Query, encode_path, refusal};
use crate::transport::{self, Payload, UpgradedConnection};

/// A running container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningContainer {
    pub id: String,
    pub name: String,
    pub labels: std::collections::BTreeMap<String, String>,
}

/// Whether an engine can change the files of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The engine does not have it, or it is not running.
    Absent,
    /// Its root file system is read-only, also for the engine.
    ReadOnly,
    Writable,
}

/// The exit code and output of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    pub code: i64,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Output of a command, as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecOutput<'a> {
    Stdout(&'a [u8]),
    Stderr(&'a [u8]),
}

/// Limits stderr, which nobody reads completely; stdout is kept whole.
const MAX_STDERR: usize = 64 * 1024;

impl Engine {
    /// Returns the running containers with all of these labels, sorted by name.
    pub async fn containers(&self, labels: &[&str]) -> Result<Vec<RunningContainer>, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Container {
            id: String,
            #[serde(default)]
            names: Vec<String>,
            #[serde(default)]
            labels: std::collections::BTreeMap<String, String>,
        }
        let filters = serde_json::json!({ "label": labels, "status": ["running"] }).to_string();
        let query = Query::new().add("filters", &filters).finish();
        let found: Vec<Container> = self.get(&format!("/containers/json?{query}")).await?;
        let running = |container: Container| RunningContainer {
            name: container
                .names
                .first()
                .map(|name| name.trim_start_matches('/').to_owned())
                .unwrap_or_default(),
            id: container.id,
            labels: container.labels,
        };
        let mut found: Vec<RunningContainer> = found.into_iter().map(running).collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    pub async fn access(&self, container: &str) -> Result<Access, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Inspected {
            state: State,
            host_config: HostConfig,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct HostConfig {
            #[serde(default)]
            readonly_rootfs: bool,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct State {
            running: bool,
        }
        let path = format!("/containers/{}/json", encode_path(container));
        let response = self.request(Method::GET, &path, HeaderMap::new()).await?;
        if response.status == StatusCode::NOT_FOUND {
            return Ok(Access::Absent);
        }
        if !response.status.is_success() {
            return Err(refusal(response, &format!("the Docker engine refused {path}")).await);
        }
        let Inspected { state, host_config } = self.read(&path, response).await?;
        Ok(match (state.running, host_config.readonly_rootfs) {
            (false, _) => Access::Absent,
            (true, true) => Access::ReadOnly,
            (true, false) => Access::Writable,
        })
    }

    /// Unpacks an archive in the root directory of a container, whatever tools and permissions the container has.
    ///
    /// The files belong to the container's user, who is written into the archive. The engine's own option for that
    /// (`copyUIDGID`) looks up user names on the engine's host.
    pub async fn put_archive(&self, container: &str, archive: Bytes) -> Result<(), Failure> {
        let mut archive = Vec::from(archive);
        container_user::set_owner(&mut archive, self.container_user(container).await?)?;
        let path = format!("/containers/{}/archive?path=%2F", encode_path(container));
        let mut headers = HeaderMap::new();
        headers.insert("content-type", http::HeaderValue::from_static("application/x-tar"));
        let response = self.send(Method::PUT, &path, headers, Payload::whole(archive)).await?;
        match response.status.is_success() {
            true => Ok(()),
            false => Err(refusal(response, "the Docker engine cannot copy files").await),
        }
    }

    /// Removes paths in a container with its `rm`, which engines cannot replace. Where the container's user may not,
    /// root does, like with [`Self::put_archive`].
    pub async fn remove_paths(&self, container: &str, paths: &[String]) -> Result<(), Failure> {
        let words = ["rm", "-rf", "--"].into_iter().chain(paths.iter().map(String::as_str));
        let argv: Vec<String> = words.map(str::to_owned).collect();
        let mut output = Vec::new();
        for user in [None, Some("0")] {
            let removed = self.execute_as(container, user, &argv, None).await?;
            if removed.code == 0 {
                return Ok(());
            }
            output = [removed.stdout, removed.stderr].concat();
        }
        Err(Failure::user("cannot remove files in the container")
            .detail(String::from_utf8_lossy(&output).trim().to_owned()))
    }

    /// Runs a command in a container, with the channel as its stdin.
    pub async fn execute(
        &self,
        container: &str,
        argv: &[String],
        input: Option<mpsc::Receiver<Bytes>>,
    ) -> Result<Executed, Failure> {
        self.execute_as(container, None, argv, input).await
    }

    async fn execute_as(
        &self,
        container: &str,
        user: Option<&str>,
        argv: &[String],
        input: Option<mpsc::Receiver<Bytes>>,
    ) -> Result<Executed, Failure> {
        let mut executed = Executed::default();
        let (stdout, stderr) = (&mut executed.stdout, &mut executed.stderr);
        let collect = |output: ExecOutput<'_>| match output {
            ExecOutput::Stdout(bytes) => stdout.extend_from_slice(bytes),
            ExecOutput::Stderr(bytes) => {
                let room = MAX_STDERR.saturating_sub(stderr.len());
                stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        };
        let code = self.run_exec(container, user, argv, input, collect).await?;
        Ok(Executed { code, ..executed })
    }

    /// Like [`Self::execute`], but passes on output as it arrives. Returns the exit code.
    pub async fn execute_streaming(
        &self,
        container: &str,
        argv: &[String],
        input: Option<mpsc::Receiver<Bytes>>,
        on_output: impl FnMut(ExecOutput<'_>) + Send,
    ) -> Result<i64, Failure> {
        self.run_exec(container, None, argv, input, on_output).await
    }

    /// `user`: none is the container's own.
    async fn run_exec(
        &self,
        container: &str,
        user: Option<&str>,
        argv: &[String],
        input: Option<mpsc::Receiver<Bytes>>,
        on_output: impl FnMut(ExecOutput<'_>) + Send,
    ) -> Result<i64, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Created {
            id: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Inspected {
            exit_code: Option<i64>,
        }
        let wanted = serde_json::json!({
            "AttachStdin": input.is_some(), "AttachStdout": true, "AttachStderr": true, "Cmd": argv,
            "User": user.unwrap_or_default(),
        });
        let path = format!("/containers/{}/exec", encode_path(container));
        let response = self.post_json(&path, &wanted).await?;
        if !response.status.is_success() {
            return Err(
                refusal(response, &format!("cannot run a command in the container {container}")).await
            );
        }
        let Created { id } = self.read(&path, response).await?;
        let path = self.versioned(&format!("/exec/{id}/start")).await?;
        let body = r#"{"Detach":false,"Tty":false}"#.to_owned();
        let upgraded =
            transport::upgrade(&self.address, &path, HeaderMap::new(), "tcp", body, "a command").await?;
        transfer(upgraded, input, on_output).await.map_err(|error| {
            Failure::environment(format!("lost the command in the container {container}: {error}"))
        })?;
        let ended: Inspected = self.get(&format!("/exec/{id}/json")).await?;
        Ok(ended.exit_code.unwrap_or(-1))
    }
}

/// Sends stdin and reads output until the command ends.
async fn transfer(
    upgraded: UpgradedConnection,
    input: Option<mpsc::Receiver<Bytes>>,
    on_output: impl FnMut(ExecOutput<'_>) + Send,
) -> std::io::Result<()> {
    let UpgradedConnection { stream, connection } = upgraded;
    let (mut reader, mut writer) = tokio::io::split(TokioIo::new(stream));
    let feed = async {
        if let Some(mut input) = input {
            while let Some(bytes) = input.recv().await {
                // The command closed its stdin; if that is an error, it says so.
                if writer.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            let _ = writer.shutdown().await;
        }
    };
    let read = read_frames(&mut reader, on_output);
    // When the command has ended, the rest of its stdin is dropped.
    tokio::pin!(feed, read);
    let output = tokio::select! {
        output = &mut read => output,
        () = &mut feed => read.await,
    };
    drop(connection);
    output
}

/// Reads the engine's frames: a byte for stdout (1) or stderr (2), three zeros, the length, the content.
async fn read_frames(
    reader: &mut (impl tokio::io::AsyncRead + Unpin),
    mut on_output: impl FnMut(ExecOutput<'_>),
) -> std::io::Result<()> {
    let mut header = [0; 8];
    loop {
        match reader.read_exact(&mut header).await {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let length = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        let mut content = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        reader.read_exact(&mut content).await?;
        on_output(if header[0] == 2 { ExecOutput::Stderr(&content) } else { ExecOutput::Stdout(&content) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stdout_and_stderr_frames_are_distinguished() {
        let frame = |kind: u8, content: &[u8]| {
            let length = u32::try_from(content.len()).unwrap().to_be_bytes();
            [&[kind, 0, 0, 0], length.as_slice(), content].concat()
        };
        let bytes = [frame(1, b"one"), frame(2, b"wrong"), frame(1, b" two")].concat();
        let mut output = Vec::new();
        let told = |it: ExecOutput<'_>| output.push(format!("{it:?}"));
        read_frames(&mut bytes.as_slice(), told).await.unwrap();
        let expected =
            [ExecOutput::Stdout(b"one"), ExecOutput::Stderr(b"wrong"), ExecOutput::Stdout(b" two")];
        assert_eq!(output, expected.map(|it| format!("{it:?}")));
        assert!(read_frames(&mut &bytes[..bytes.len() - 1], |_| {}).await.is_err());
    }
}
