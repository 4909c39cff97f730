//! The way to one API server, with whatever login is good now: that of kubeconfig, or what its login command gives. All
//! clones of a client go through one door, so that a new login serves them all.

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

use super::credentials::{Origin, Source};
use super::login::{self, Given, LoginFailed, PluginOutput};
use super::transport::{self, Way};

/// A login command that failed is not run again for so long: many ask at once.
const PAUSE: Duration = Duration::from_secs(2);
/// The pause doubles with each failure up to this: every start of some commands opens a browser window.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

pub(super) struct Door {
    state: watch::Sender<State>,
    /// Of running the login command: who comes meanwhile waits for its answer.
    turn: Semaphore,
    output: PluginOutput,
}

struct State {
    /// Without the source of its credentials.
    config: Config,
    source: Option<Source>,
    login: Login,
    way: Way,
}

#[derive(Clone)]
enum Login {
    /// Not asked for, or not accepted.
    None,
    Given(Given),
    Failed(LoginFailure),
}

#[derive(Clone)]
struct LoginFailure {
    cause: LoginFailed,
    /// When the login command may run again.
    retry: Instant,
    /// From the failure until then.
    pause: Duration,
}

impl LoginFailure {
    fn new(cause: LoginFailed, before: &Login) -> Self {
        let pause = match before {
            Login::Failed(before) => (before.pause * 2).min(LONGEST_PAUSE),
            _ => PAUSE,
        };
        Self { cause, retry: Instant::now() + pause, pause }
    }
}

impl Door {
    /// The login command is asked when the first request needs it.
    pub(super) fn new(config: Config, origin: Origin, output: PluginOutput) -> Result<Self, Error> {
        Ok(Self { state: watch::Sender::new(State::new(config, origin)?), turn: Semaphore::new(1), output })
    }

    /// From now on with this configuration.
    pub(super) fn renew(&self, config: Config, origin: Origin) -> Result<(), Error> {
        self.state.send_replace(State::new(config, origin)?);
        Ok(())
    }

    pub(super) fn client(self: &Arc<Self>, namespace: String) -> Client {
        Client::new(Entrance(Arc::clone(self)), namespace)
    }

    async fn pass(&self, mut request: Request<Body>) -> Result<Response<Incoming>, BoxError> {
        let (way, given) = self.open().await?;
        if let Some(token) = given.as_ref().and_then(|given| given.token.clone()) {
            request.headers_mut().insert(AUTHORIZATION, token);
        }
        let response = way.oneshot(request).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(given) = given
        {
            self.forget(&given);
        }
        Ok(response)
    }

    /// The way, and the login that goes with it.
    async fn open(&self) -> Result<(Way, Option<Given>), BoxError> {
        if let Some(open) = self.known() {
            return Ok(open?);
        }
        let _turn = self.turn.acquire().await;
        // Somebody may have asked meanwhile.
        if let Some(open) = self.known() {
            return Ok(open?);
        }
        let Some(mut source) = self.state.borrow().source.clone() else { return Ok((self.way(), None)) };
        let given = source.get(&self.output).await.and_then(|given| {
            // The error would show what it could not read, and that may be the key.
            self.accept(given.clone(), &source).map(|()| given).map_err(|_| login::unusable())
        });
        match given {
            Ok(given) => Ok((self.way(), Some(given))),
            Err(failed) => {
                let cause = failed.clone();
                self.state.send_modify(|state| {
                    state.login = Login::Failed(LoginFailure::new(cause, &state.login));
                });
                Err(failed.into())
            }
        }
    }

    /// None: the login command must be asked.
    fn known(&self) -> Option<Result<(Way, Option<Given>), LoginFailed>> {
        let state = self.state.borrow();
        match (&state.source, &state.login) {
            (None, _) => Some(Ok((state.way.clone(), None))),
            (_, Login::Given(given)) if given.is_valid() => {
                Some(Ok((state.way.clone(), Some(given.clone()))))
            }
            (_, Login::Failed(failed)) if Instant::now() < failed.retry => Some(Err(failed.cause.clone())),
            _ => None,
        }
    }

    fn way(&self) -> Way {
        self.state.borrow().way.clone()
    }

    /// Another certificate is for connections that are made from now on.
    fn accept(&self, given: Given, source: &Source) -> Result<(), Error> {
        let before = match &self.state.borrow().login {
            Login::Given(before) => before.identity.clone(),
            _ => None,
        };
        let mut way = None;
        if let Some((certificate, key)) = given.identity.as_ref().filter(|it| before.as_ref() != Some(it)) {
            let mut config = self.state.borrow().config.clone();
            config.auth_info.client_certificate_data = Some(STANDARD.encode(certificate));
            config.auth_info.client_key_data = Some(STANDARD.encode(key).into());
            way = Some(transport::way(config)?);
        }
        self.state.send_modify(|state| {
            state.login = Login::Given(given);
            state.source = Some(source.clone());
            if let Some(way) = way {
                state.way = way;
            }
        });
        Ok(())
    }

    /// Lets the next request run a login command that has failed, without a pause.
    pub(super) fn retry_login(&self) {
        self.state.send_if_modified(|state| {
            let has_failed = matches!(state.login, Login::Failed(_));
            if has_failed {
                state.login = Login::None;
            }
            has_failed
        });
    }

    /// It was not accepted: the next request asks for another one.
    fn forget(&self, refused: &Given) {
        self.state.send_if_modified(|state| {
            let is_it = matches!(&state.login, Login::Given(given) if given == refused);
            if is_it {
                state.login = Login::None;
            }
            is_it
        });
    }
}

impl State {
    fn new(mut config: Config, origin: Origin) -> Result<Self, Error> {
        let source = Source::take_from(&mut config, origin);
        Ok(Self { way: transport::way(config.clone())?, config, source, login: Login::None })
    }
}

/// What a client asks.
struct Entrance(Arc<Door>);

impl Service<Request<Body>> for Entrance {
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let door = Arc::clone(&self.0);
        async move { door.pass(request).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_after_a_failed_login_doubles_up_to_a_minute() {
        let cause = || LoginFailed { words: String::new(), said: String::new(), hint: String::new() };
        let mut login = Login::None;
        let pauses = [(); 7].map(|()| {
            let failure = LoginFailure::new(cause(), &login);
            login = Login::Failed(failure.clone());
            failure.pause.as_secs()
        });
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60]);
    }
}
