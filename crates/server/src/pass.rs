//! The token without which the web port answers nobody: whoever may steer a session may run commands as its user.
//!
//! Scripts and commands send it in a header. A browser gets it once in the link that lilt prints, which is answered with a
//! cookie and leads on to the page: the token is not in the address bar, and script of the page cannot read it. The port
//! is in the cookie's name because cookies know no ports, and sessions must not take each other's away.
//!
//! The cookie is `SameSite=Lax`: a browser sends it when somebody follows a link on another site's page to this one, and
//! with nothing else that another site causes. What comes that way can only be read, by the one who followed the link;
//! whatever changes something, or opens a WebSocket, must tell our own Origin beside the cookie.

use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Redirect, Response};

use crate::api::is_same_token;
use crate::routes::is_page;

/// As Tilt's clients send it.
const HEADER: &str = "x-tilt-token";
/// As Tilt's pages had it.
const TILT_COOKIE: &str = "Tilt-Token";
/// In the printed link.
const PARAMETER: &str = "token";

/// Tilt's WebSocket, and where in its address a script shows what `/api/websocket_token` gave it.
const TILT_SOCKET: &str = "/ws/view";
const SOCKET_PARAMETER: &str = "csrf";

/// How long a browser that was let in stays in: a year.
const REMEMBERED_SECONDS: u32 = 31_536_000;

const LOGIN: &str = include_str!("pass/login.html");

/// The token of one web port.
#[derive(Clone)]
pub(crate) struct Pass {
    /// None: whoever passes the guard comes in; the user said so.
    token: Option<Arc<str>>,
    cookie: Arc<str>,
    /// Given to those who had the token, for Tilt's WebSocket alone.
    socket: Option<Arc<str>>,
}

/// How a request shows that it may come in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shown {
    Header,
    Cookie,
    /// In the address of Tilt's WebSocket.
    Address,
    Nothing,
}

impl Pass {
    pub(crate) fn new(token: Option<Arc<str>>, socket: Option<Arc<str>>, port: u16) -> Self {
        Self { token, socket, cookie: Arc::from(format!("lilt-token-{port}")) }
    }

    fn shown(&self, token: &str, request: &Request) -> Shown {
        let headers = request.headers();
        if !headers.contains_key(HEADER) && self.is_in_address(request.uri()) {
            return Shown::Address;
        }
        self.shown_in(token, headers)
    }

    fn is_in_address(&self, address: &Uri) -> bool {
        let Some(socket) = self.socket.as_ref().filter(|_| address.path() == TILT_SOCKET) else {
            return false;
        };
        let pairs = address.query().unwrap_or_default().split('&').filter_map(|part| part.split_once('='));
        let mut own = pairs.filter(|(name, _)| *name == SOCKET_PARAMETER);
        own.next().is_some_and(|(_, given)| is_same_token(socket, given))
    }

    fn shown_in(&self, token: &str, headers: &HeaderMap) -> Shown {
        let text = |value: &HeaderValue| value.to_str().map(str::to_owned).unwrap_or_default();
        if let Some(given) = headers.get(HEADER) {
            // A wrong one is not made good by a cookie.
            return if is_same_token(token, &text(given)) { Shown::Header } else { Shown::Nothing };
        }
        let cookies: Vec<String> = headers.get_all(header::COOKIE).iter().map(text).collect();
        let pairs = cookies.iter().flat_map(|cookies| cookies.split(';')).map(str::trim);
        let mut own = pairs.filter_map(|pair| pair.split_once('=')).filter(|(name, _)| {
            // Names of cookies are told apart by case.
            *name == &*self.cookie || *name == TILT_COOKIE
        });
        if own.any(|(_, given)| is_same_token(token, given)) { Shown::Cookie } else { Shown::Nothing }
    }

    fn cookie(&self, token: &str) -> String {
        format!("{}={token}; Path=/; Max-Age={REMEMBERED_SECONDS}; HttpOnly; SameSite=Lax", self.cookie)
    }
}

pub(crate) async fn check(State(pass): State<Pass>, request: Request, next: Next) -> Response {
    let Some(token) = &pass.token else { return next.run(request).await };
    match pass.shown(token, &request) {
        Shown::Header | Shown::Address => next.run(request).await,
        // The guard has let only our own origin pass. Where a page could do harm, there must be one: what sends a
        // cookie and no origin is no page of ours.
        Shown::Cookie if only_reads(&request) || request.headers().contains_key(header::ORIGIN) => {
            next.run(request).await
        }
        Shown::Cookie => refuse("A request with a cookie that changes something must tell its Origin.\n"),
        // A page that is open asks with HEAD whether it was its token that was refused.
        Shown::Nothing if only_reads(&request) && is_page(request.uri().path()) => {
            admit(&pass, token, request.uri())
        }
        Shown::Nothing => refuse(
            "This needs the session's token, in the header X-Tilt-Token or as the cookie of its page: open the link \
             that lilt printed.\n",
        ),
    }
}

fn refuse(words: &'static str) -> Response {
    (StatusCode::FORBIDDEN, words).into_response()
}

fn only_reads(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
        && !request.headers().contains_key(header::UPGRADE)
}

/// The rest of an address's query as fields of the form, so that who comes in gets to see what was asked for.
fn kept(address: &Uri) -> String {
    let Ok(Query(pairs)) = Query::<Vec<(String, String)>>::try_from_uri(address) else {
        return String::new();
    };
    let field = |(name, value): &(String, String)| {
        format!("<input type=\"hidden\" name=\"{}\" value=\"{}\" />", escaped(name), escaped(value))
    };
    pairs.iter().filter(|(name, _)| name != PARAMETER).map(field).collect()
}

/// As text within quotes of HTML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Braces are what the page itself is filled in by.
            '{' => out.push_str("&#123;"),
            other => out.push(other),
        }
    }
    out
}

/// Exchanges the token of a link for a cookie, or asks for it.
fn admit(pass: &Pass, token: &str, address: &Uri) -> Response {
    let query = address.query().unwrap_or_default();
    let (own, rest): (Vec<&str>, Vec<&str>) =
        query.split('&').partition(|part| part.split('=').next() == Some(PARAMETER));
    let given = own.first().and_then(|part| part.split_once('=')).map(|(_, given)| given);
    if !given.is_some_and(|given| is_same_token(token, given)) {
        let words = if given.is_some() { "That was not this session's token." } else { "" };
        let page = LOGIN.replace("{words}", words).replace("{kept}", &kept(address));
        return (StatusCode::UNAUTHORIZED, [(header::CACHE_CONTROL, "no-store")], Html(page)).into_response();
    }
    let rest = rest.join("&");
    let target =
        if rest.is_empty() { address.path().to_owned() } else { format!("{}?{rest}", address.path()) };
    let mut response = Redirect::to(&target).into_response();
    if let Ok(value) = HeaderValue::from_str(&pass.cookie(token)) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}
