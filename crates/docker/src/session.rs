//! The client side of a BuildKit session: a gRPC server on a connection that we opened, through which the engine
//! requests files, credentials, secrets and ssh agents during a build.
//!
//! Each build has its own session. Dropping it closes the connection and ends every task it started.

mod auth;
mod diff_copy;
mod secrets;
mod selection;
mod ssh;
mod walk;

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::convert::Infallible;
use std::future::Future;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bollard_buildkit_proto::health::health_check_response::ServingStatus;
use bollard_buildkit_proto::health::health_server::{Health, HealthServer};
use bollard_buildkit_proto::health::{
    HealthCheckRequest, HealthCheckResponse, HealthListRequest, HealthListResponse,
};
use bollard_buildkit_proto::moby::buildkit::secrets::v1::secrets_server::SecretsServer;
use bollard_buildkit_proto::moby::filesync::v1::auth_server::AuthServer;
use bollard_buildkit_proto::moby::filesync::v1::file_sync_server::FileSyncServer;
use bollard_buildkit_proto::moby::sshforward::v1::ssh_server::SshServer;
use http::{HeaderMap, HeaderValue};
use hyper::body::Incoming;
use hyper::service::service_fn;
use lilt_model::Failure;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;
use tonic::codegen::Service as _;
use tonic::{Request, Response, Status};

use crate::credentials::Credentials;
use crate::engine::Engine;
use crate::ssh_agent::{KeyAgent, SshSource};
use crate::transport;

pub(crate) use diff_copy::Source;
pub(crate) use walk::{has_content, ignored, is_directory, list_all, list_up_to};

/// The methods that BuildKit may call; others have to be announced here first.
const METHODS: [&str; 8] = [
    "/moby.filesync.v1.FileSync/DiffCopy",
    "/moby.filesync.v1.Auth/Credentials",
    "/moby.filesync.v1.Auth/FetchToken",
    "/moby.filesync.v1.Auth/GetTokenAuthority",
    "/moby.buildkit.secrets.v1.Secrets/GetSecret",
    "/moby.sshforward.v1.SSH/CheckAgent",
    "/moby.sshforward.v1.SSH/ForwardAgent",
    "/grpc.health.v1.Health/Check",
];

/// What a session has sent so far.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) listed: AtomicU64,
    pub(crate) files: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, amount: usize) {
        counter.fetch_add(u64::try_from(amount).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// What a build may request from this machine.
pub(crate) struct SessionResources {
    pub(crate) files: Source,
    pub(crate) secrets: BTreeMap<String, Vec<u8>>,
    pub(crate) ssh: BTreeMap<String, SshSource>,
}

pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) counters: Arc<Counters>,
    _server: AbortOnDropHandle<()>,
    /// Cancels the tasks of single calls.
    _calls: DropGuard,
    _agents: Vec<KeyAgent>,
}

impl Session {
    /// Opens a session. By `shared_key` the engine finds the files of earlier sessions, so that only changed ones are
    /// sent.
    pub(crate) async fn open(
        engine: &Engine,
        shared_key: &str,
        resources: SessionResources,
    ) -> Result<Session, Failure> {
        let id = random_id();
        let (sockets, agents) = start_agents(resources.ssh).await?;
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("X-Docker-Expose-Session-Uuid", id.as_str()),
            ("X-Docker-Expose-Session-Name", "lilt"),
            ("X-Docker-Expose-Session-Sharedkey", shared_key),
        ] {
            headers
                .insert(name, HeaderValue::from_str(value).expect("invariant: ids and keys are plain ASCII"));
        }
        for method in METHODS {
            headers.append("X-Docker-Expose-Session-Grpc-Method", HeaderValue::from_static(method));
        }
        let path = engine.versioned("/session").await?;
        let upgraded = transport::upgrade_to_h2c(&engine.address, &path, headers).await?;

        let calls = CancellationToken::new();
        let counters = Arc::new(Counters::default());
        let services = Services {
            files: FileSyncServer::new(diff_copy::FileSender::new(
                resources.files,
                Arc::clone(&counters),
                calls.clone(),
            )),
            auth: AuthServer::new(auth::CredentialProvider::new(Credentials::clone(&engine.credentials))),
            secrets: SecretsServer::new(secrets::SecretProvider::new(resources.secrets)),
            ssh: SshServer::new(ssh::SshForwarder::new(sockets, calls.clone())),
            health: HealthServer::new(AlwaysServing),
        };
        let executor = CallExecutor { calls: calls.clone() };
        let server = tokio::spawn(async move {
            let _connection = upgraded.connection;
            let service = service_fn(move |request| services.clone().call(request));
            // The result of the connection is irrelevant: the build's response contains the error.
            let _ = hyper::server::conn::http2::Builder::new(executor)
                .max_frame_size(Some(1 << 20))
                .serve_connection(upgraded.stream, service)
                .await;
        });
        let server = AbortOnDropHandle::new(server);
        Ok(Session { id, counters, _server: server, _calls: calls.drop_guard(), _agents: agents })
    }
}

/// Returns the sockets of all agents; starts those for key files.
async fn start_agents(
    sources: BTreeMap<String, SshSource>,
) -> Result<(BTreeMap<String, PathBuf>, Vec<KeyAgent>), Failure> {
    let (mut sockets, mut started) = (BTreeMap::new(), Vec::new());
    for (id, source) in sources {
        let socket = match source {
            SshSource::Agent(socket) => socket,
            SshSource::Keys(keys) => {
                let agent = KeyAgent::start(&keys).await?;
                let socket = agent.socket();
                started.push(agent);
                socket
            }
        };
        sockets.insert(id, socket);
    }
    Ok((sockets, started))
}

fn random_id() -> String {
    // The keys of a RandomState are random, and so is an empty hash with them.
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

/// Runs the tasks of single calls, which end with the session.
#[derive(Clone)]
struct CallExecutor {
    calls: CancellationToken,
}

impl<F> hyper::rt::Executor<F> for CallExecutor
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, call: F) {
        let calls = self.calls.clone();
        tokio::spawn(async move {
            calls.run_until_cancelled(call).await;
        });
    }
}

#[derive(Clone)]
struct Services {
    files: FileSyncServer<diff_copy::FileSender>,
    auth: AuthServer<auth::CredentialProvider>,
    secrets: SecretsServer<secrets::SecretProvider>,
    ssh: SshServer<ssh::SshForwarder>,
    health: HealthServer<AlwaysServing>,
}

impl Services {
    async fn call(
        mut self,
        request: http::Request<Incoming>,
    ) -> Result<http::Response<tonic::body::Body>, Infallible> {
        let service = request.uri().path().trim_start_matches('/').split('/').next().unwrap_or_default();
        match service {
            "moby.filesync.v1.FileSync" => self.files.call(request).await,
            "moby.filesync.v1.Auth" => self.auth.call(request).await,
            "moby.buildkit.secrets.v1.Secrets" => self.secrets.call(request).await,
            "moby.sshforward.v1.SSH" => self.ssh.call(request).await,
            "grpc.health.v1.Health" => self.health.call(request).await,
            _ => Ok(Status::unimplemented("not served here").into_http()),
        }
    }
}

#[derive(Clone, Copy)]
struct AlwaysServing;

#[tonic::async_trait]
impl Health for AlwaysServing {
    type WatchStream = futures_util::stream::Pending<Result<HealthCheckResponse, Status>>;

    async fn check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(HealthCheckResponse { status: ServingStatus::Serving.into() }))
    }

    async fn list(&self, _: Request<HealthListRequest>) -> Result<Response<HealthListResponse>, Status> {
        Err(Status::unimplemented("not served here"))
    }

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("not served here"))
    }
}
