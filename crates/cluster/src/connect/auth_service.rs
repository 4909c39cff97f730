//! The transport to one API server, with whatever login is good now: that of kubeconfig, or what its login command gives. All
//! clones of a client go through one service, so that a new login serves them all.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use kube::client::Body;
use kube::{Client, Config, Error};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tower::{BoxError, Service, ServiceExt as _};

use super::credentials::{CredentialSource, Origin};
use super::exec_plugin::{self, Credentials, LoginError, PluginOutput};
use super::transport::{self, Transport};

/// A login command that failed is not run again for so long: many ask at once.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(2);
/// The delay doubles with each failure up to this: every start of some commands opens a browser window.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

pub(super) struct AuthRefreshService {
    state: watch::Sender<State>,
    /// Of running the login command: who comes meanwhile waits for its answer.
    refreshing: Semaphore,
    output: PluginOutput,
}

struct State {
    /// Without the source of its credentials.
    config: Config,
    source: Option<CredentialSource>,
    login: LoginState,
    transport: Transport,
}

#[derive(Clone)]
enum LoginState {
    /// Not asked for, or not accepted.
    None,
    Valid(Credentials),
    Failed(LoginFailure),
}

#[derive(Clone)]
struct LoginFailure {
    cause: LoginError,
    /// When the login command may run again.
    retry_at: Instant,
    /// From the failure until then.
    delay: Duration,
}

impl LoginFailure {
    fn new(cause: LoginError, before: &LoginState) -> Self {
        let delay = match before {
            LoginState::Failed(before) => (before.delay * 2).min(MAX_RETRY_DELAY),
            _ => FIRST_RETRY_DELAY,
        };
        Self { cause, retry_at: Instant::now() + delay, delay }
    }
}

impl AuthRefreshService {
    /// The login command is asked when the first request needs it.
    pub(super) fn new(config: Config, origin: Origin, output: PluginOutput) -> Result<Self, Error> {
        Ok(Self {
            state: watch::Sender::new(State::new(config, origin)?),
            refreshing: Semaphore::new(1),
            output,
        })
    }

    /// From now on with this configuration.
    pub(super) fn reload(&self, config: Config, origin: Origin) -> Result<(), Error> {
        self.state.send_replace(State::new(config, origin)?);
        Ok(())
    }

    pub(super) fn client(self: &Arc<Self>, namespace: String) -> Client {
        Client::new(AuthenticatedClient(Arc::clone(self)), namespace)
    }

    async fn send(&self, mut request: Request<Body>) -> Result<Response<Incoming>, BoxError> {
        let (transport, credentials) = self.authenticate().await?;
        if let Some(token) = credentials.as_ref().and_then(|credentials| credentials.token.clone()) {
            request.headers_mut().insert(AUTHORIZATION, token);
        }
        let response = transport.oneshot(request).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(credentials) = credentials
        {
            self.discard(&credentials);
        }
        Ok(response)
    }

    /// The transport, and the login that goes with it.
    async fn authenticate(&self) -> Result<(Transport, Option<Credentials>), BoxError> {
        if let Some(open) = self.cached() {
            return Ok(open?);
        }
        let _permit = self.refreshing.acquire().await;
        // Somebody may have asked meanwhile.
        if let Some(open) = self.cached() {
            return Ok(open?);
        }
        let Some(mut source) = self.state.borrow().source.clone() else {
            return Ok((self.transport(), None));
        };
        let credentials = source.get(&self.output).await.and_then(|credentials| {
            // The error would show what it could not read, and that may be the key.
            self.store(credentials.clone(), &source)
                .map(|()| credentials)
                .map_err(|_| exec_plugin::unusable())
        });
        match credentials {
            Ok(credentials) => Ok((self.transport(), Some(credentials))),
            Err(failed) => {
                let cause = failed.clone();
                self.state.send_modify(|state| {
                    state.login = LoginState::Failed(LoginFailure::new(cause, &state.login));
                });
                Err(failed.into())
            }
        }
    }

    /// None: the login command must be asked.
    fn cached(&self) -> Option<Result<(Transport, Option<Credentials>), LoginError>> {
        let state = self.state.borrow();
        match (&state.source, &state.login) {
            (None, _) => Some(Ok((state.transport.clone(), None))),
            (_, LoginState::Valid(credentials)) if credentials.is_valid() => {
                Some(Ok((state.transport.clone(), Some(credentials.clone()))))
            }
            (_, LoginState::Failed(failed)) if Instant::now() < failed.retry_at => {
                Some(Err(failed.cause.clone()))
            }
            _ => None,
        }
    }

    fn transport(&self) -> Transport {
        self.state.borrow().transport.clone()
    }

    /// Another certificate is for connections that are made from now on.
    fn store(&self, credentials: Credentials, source: &CredentialSource) -> Result<(), Error> {
        let before = match &self.state.borrow().login {
            LoginState::Valid(before) => before.identity.clone(),
            _ => None,
        };
        let mut transport = None;
        if let Some((certificate, key)) =
            credentials.identity.as_ref().filter(|it| before.as_ref() != Some(it))
        {
            let mut config = self.state.borrow().config.clone();
            config.auth_info.client_certificate_data = Some(STANDARD.encode(certificate));
            config.auth_info.client_key_data = Some(STANDARD.encode(key).into());
            transport = Some(transport::new_transport(config)?);
        }
        self.state.send_modify(|state| {
            state.login = LoginState::Valid(credentials);
            state.source = Some(source.clone());
            if let Some(transport) = transport {
                state.transport = transport;
            }
        });
        Ok(())
    }

    /// Lets the next request run a login command that has failed, without a delay.
    pub(super) fn retry_login(&self) {
        self.state.send_if_modified(|state| {
            let has_failed = matches!(state.login, LoginState::Failed(_));
            if has_failed {
                state.login = LoginState::None;
            }
            has_failed
        });
    }

    /// It was not accepted: the next request asks for another one.
    fn discard(&self, refused: &Credentials) {
        self.state.send_if_modified(|state| {
            let is_it = matches!(&state.login, LoginState::Valid(credentials) if credentials == refused);
            if is_it {
                state.login = LoginState::None;
            }
            is_it
        });
    }
}

impl State {
    fn new(mut config: Config, origin: Origin) -> Result<Self, Error> {
        let source = CredentialSource::take_from(&mut config, origin);
        Ok(Self {
            transport: transport::new_transport(config.clone())?,
            config,
            source,
            login: LoginState::None,
        })
    }
}

/// What a client asks.
struct AuthenticatedClient(Arc<AuthRefreshService>);

impl Service<Request<Body>> for AuthenticatedClient {
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let service = Arc::clone(&self.0);
        async move { service.send(request).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_after_a_failed_login_doubles_up_to_a_minute() {
        let cause = || LoginError { words: String::new(), said: String::new(), hint: String::new() };
        let mut login = LoginState::None;
        let pauses = [(); 7].map(|()| {
            let failure = LoginFailure::new(cause(), &login);
            login = LoginState::Failed(failure.clone());
            failure.delay.as_secs()
        });
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60]);
    }
}
