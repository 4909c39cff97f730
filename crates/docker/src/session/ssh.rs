//! Forwards requests of build steps to an ssh agent of this machine, and its responses back. Keys stay here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use bollard_buildkit_proto::moby::sshforward::v1::ssh_server::Ssh;
use bollard_buildkit_proto::moby::sshforward::v1::{BytesMessage, CheckAgentRequest, CheckAgentResponse};
use futures_util::stream::BoxStream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

/// The metadata key with the id of the agent.
const ID: &str = "buildkit.ssh.id";
/// The agent for steps that name none.
const DEFAULT: &str = "default";
/// Messages of agents are short.
const MAX_MESSAGE: usize = 16 * 1024;

pub(super) struct SshForwarder {
    sockets: Arc<BTreeMap<String, PathBuf>>,
    session: CancellationToken,
}

impl SshForwarder {
    pub(super) fn new(sockets: BTreeMap<String, PathBuf>, session: CancellationToken) -> Self {
        Self { sockets: Arc::new(sockets), session }
    }

    fn socket(&self, id: &str) -> Result<&PathBuf, Status> {
        let id = if id.is_empty() { DEFAULT } else { id };
        // BuildKit reports this text as the cause, unless the step works without an agent.
        self.sockets
            .get(id)
            .ok_or_else(|| Status::not_found(format!("no ssh agent {id:?} is given to the build")))
    }
}

#[tonic::async_trait]
impl Ssh for SshForwarder {
    type ForwardAgentStream = BoxStream<'static, Result<BytesMessage, Status>>;

    async fn check_agent(
        &self,
        request: Request<CheckAgentRequest>,
    ) -> Result<Response<CheckAgentResponse>, Status> {
        self.socket(&request.get_ref().id).map(|_| Response::new(CheckAgentResponse {}))
    }

    async fn forward_agent(
        &self,
        request: Request<Streaming<BytesMessage>>,
    ) -> Result<Response<Self::ForwardAgentStream>, Status> {
        let id = request.metadata().get(ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
        let path = self.socket(id)?;
        let agent = UnixStream::connect(path).await.map_err(|error| {
            Status::unavailable(format!("the ssh agent at {} does not answer: {error}", path.display()))
        })?;
        let (responses, requests) = agent.into_split();
        let forwarding = forward_requests(request.into_inner(), requests);
        // A task of its own, because requests and responses are independent.
        let session = self.session.clone();
        tokio::spawn(async move { session.run_until_cancelled(forwarding).await });
        Ok(Response::new(Box::pin(futures_util::stream::unfold(responses, read_response))))
    }
}

async fn forward_requests(mut messages: Streaming<BytesMessage>, mut agent: OwnedWriteHalf) {
    // In any case the agent sees the end of its connection, and the step's ssh reports what is missing.
    while let Ok(Some(message)) = messages.message().await {
        if agent.write_all(&message.data).await.is_err() {
            return;
        }
    }
    let _ = agent.shutdown().await;
}

async fn read_response(mut agent: OwnedReadHalf) -> Option<(Result<BytesMessage, Status>, OwnedReadHalf)> {
    let mut data = vec![0; MAX_MESSAGE];
    let length = agent.read(&mut data).await.unwrap_or(0);
    data.truncate(length);
    (length > 0).then_some((Ok(BytesMessage { data }), agent))
}
