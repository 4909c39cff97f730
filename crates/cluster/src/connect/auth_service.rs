//! Sends requests to one API server with valid credentials, and refreshes those when they expire.
//!
//! All clones of a client share one service, so that one login serves them all. A semaphore makes concurrent requests wait
//! for it.

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
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tower::{BoxError, Service, ServiceExt as _};

use super::credentials::{CredentialSource, Origin};
use super::exec_plugin::{self, Credentials, LoginError, PluginOutput};
use super::transport::{self, Transport};
use crate::shared::Shared;

/// How long a failed login is not retried: many requests fail at the same time.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(2);
/// The delay doubles with each failure up to this. Some login commands open a browser window each time.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

pub(super) struct AuthRefreshService {
    state: Shared<State>,
    /// Held while credentials are fetched: concurrent requests wait for the result.
    refreshing: Semaphore,
    output: PluginOutput,
}

struct State {
    /// Without its credential source.
    config: Config,
    source: Option<CredentialSource>,
    login: LoginState,
    transport: Transport,
}

#[derive(Clone)]
enum LoginState {
    /// Not requested yet, or rejected by the server.
    None,
    Valid(Credentials),
    Failed(LoginFailure),
}

#[derive(Clone)]
struct LoginFailure {
    cause: LoginError,
    /// When the login may be retried.
    retry_at: Instant,
    /// The time from the failure until then.
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
    /// Fetches no credentials yet: the first request that needs them does.
    pub(super) fn new(config: Config, origin: Origin, output: PluginOutput) -> Result<Self, Error> {
        Ok(Self { state: Shared::new(State::new(config, origin)?), refreshing: Semaphore::new(1), output })
    }

    /// Replaces configuration and credential source.
    pub(super) fn reload(&self, config: Config, origin: Origin) -> Result<(), Error> {
        let reloaded = State::new(config, origin)?;
        self.state.update(|state| *state = reloaded);
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

    /// Returns the transport and the credentials for a request.
    async fn authenticate(&self) -> Result<(Transport, Option<Credentials>), BoxError> {
        if let Some(open) = self.cached() {
            return Ok(open?);
        }
        let _permit = self.refreshing.acquire().await;
        // Another request may have fetched them meanwhile.
        if let Some(open) = self.cached() {
            return Ok(open?);
        }
        let Some(mut source) = self.state.read(|state| state.source.clone()) else {
            return Ok((self.transport(), None));
        };
        let credentials = source.get(&self.output).await.and_then(|credentials| {
            // The error is dropped because it might contain the key.
            self.store(credentials.clone(), &source)
                .map(|()| credentials)
                .map_err(|_| exec_plugin::unusable())
        });
        match credentials {
            Ok(credentials) => Ok((self.transport(), Some(credentials))),
            Err(failed) => {
                let cause = failed.clone();
                self.state.update(|state| {
                    state.login = LoginState::Failed(LoginFailure::new(cause, &state.login));
                });
                Err(failed.into())
            }
        }
    }

    /// Returns none if credentials have to be fetched.
    fn cached(&self) -> Option<Result<(Transport, Option<Credentials>), LoginError>> {
        self.state.read(|state| match (&state.source, &state.login) {
            (None, _) => Some(Ok((state.transport.clone(), None))),
            (_, LoginState::Valid(credentials)) if credentials.is_valid() => {
                Some(Ok((state.transport.clone(), Some(credentials.clone()))))
            }
            (_, LoginState::Failed(failed)) if Instant::now() < failed.retry_at => {
                Some(Err(failed.cause.clone()))
            }
            _ => None,
        })
    }

    fn transport(&self) -> Transport {
        self.state.read(|state| state.transport.clone())
    }

    /// Stores fetched credentials. Another certificate applies to new connections.
    fn store(&self, credentials: Credentials, source: &CredentialSource) -> Result<(), Error> {
        let before = self.state.read(|state| match &state.login {
            LoginState::Valid(before) => before.identity.clone(),
            _ => None,
        });
        let mut transport = None;
        if let Some((certificate, key)) =
            credentials.identity.as_ref().filter(|it| before.as_ref() != Some(it))
        {
            let mut config = self.state.read(|state| state.config.clone());
            config.auth_info.client_certificate_data = Some(STANDARD.encode(certificate));
            config.auth_info.client_key_data = Some(STANDARD.encode(key).into());
            transport = Some(transport::new_transport(config)?);
        }
        self.state.update(|state| {
            state.login = LoginState::Valid(credentials);
            state.source = Some(source.clone());
            if let Some(transport) = transport {
                state.transport = transport;
            }
        });
        Ok(())
    }

    /// Lets the next request retry a failed login without a delay.
    pub(super) fn retry_login(&self) {
        self.state.update(|state| {
            if matches!(state.login, LoginState::Failed(_)) {
                state.login = LoginState::None;
            }
        });
    }

    /// Drops credentials that the server rejected, so that the next request fetches others.
    fn discard(&self, rejected: &Credentials) {
        self.state.update(|state| {
            if matches!(&state.login, LoginState::Valid(credentials) if credentials == rejected) {
                state.login = LoginState::None;
            }
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

/// The service that a `kube::Client` calls.
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
    fn retry_delay_after_failed_login_doubles_up_to_a_minute() {
        let cause = || LoginError { message: String::new(), output: String::new(), hint: String::new() };
        let mut login = LoginState::None;
        let pauses = [(); 7].map(|()| {
            let failure = LoginFailure::new(cause(), &login);
            login = LoginState::Failed(failure.clone());
            failure.delay.as_secs()
        });
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60]);
    }
}
