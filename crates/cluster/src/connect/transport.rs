//! The HTTP client below kube, with what kube's own lacks.
//!
//! kube leaves Nagle's algorithm on, which costs 40 ms per exchange, and resumes TLS sessions, which loses the client
//! certificate with some servers. Its retry policy waits for minutes; ours stays below a second.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Request, Response, Uri};
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ConfigExt};
use kube::{Config, Error};
use rustls::client::Resumption;
use tower::retry::RetryLayer;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceBuilder};

/// For TCP, proxy and TLS together. Long enough for a slow VPN, short enough to report an error soon.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Detects a dead peer on an idle connection after about 20 seconds.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// Detects a dead peer with data in flight, which keepalive does not probe. The default is a quarter of an hour.
const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(20);

/// Sends one request and returns its response.
pub(super) type Transport = BoxCloneSyncService<Request<Body>, Response<Incoming>, BoxError>;

pub(super) fn new_transport(config: Config) -> Result<Transport, Error> {
    install_crypto();
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(Duration::from_secs(5)));
    tcp.set_keepalive_retries(Some(3));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED_TIMEOUT));
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    match config.proxy_url.clone() {
        None => with_connector(config, tcp),
        Some(proxy) if proxy.scheme_str() == Some("http") => with_connector(config, tunnel(&proxy, tcp)),
        Some(proxy) if proxy.scheme_str() == Some("https") => {
            let tls = HttpsConnectorBuilder::new().with_tls_config(proxy_tls(&config)).https_only();
            let connector = tls.enable_http1().wrap_connector(tcp);
            with_connector(config, tunnel(&proxy, connector))
        }
        Some(proxy) if matches!(proxy.scheme_str(), Some("socks5" | "socks5h")) => {
            match socks_login(&proxy) {
                Some((user, password)) => {
                    with_connector(config, SocksV5::new(proxy, tcp).with_auth(user, password))
                }
                None => with_connector(config, SocksV5::new(proxy, tcp)),
            }
        }
        Some(proxy) => Err(Error::ProxyProtocolUnsupported { proxy_url: Box::new(proxy) }),
    }
}

/// Installs the crypto provider: rustls panics if there are several to choose from.
fn install_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Fails only if another thread was first, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

fn tunnel<C>(proxy: &Uri, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    match proxy_login(proxy) {
        Some(login) => tunnel.with_auth(login),
        None => tunnel,
    }
}

/// A proxy may be signed by the system's authorities or, as with kubectl, by the cluster's.
fn proxy_tls(config: &Config) -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    // What cannot be read vouches for nobody.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let own = config.root_cert.iter().flatten().map(|certificate| certificate.clone().into());
    roots.add_parsable_certificates(own);
    rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}

fn proxy_login(proxy: &Uri) -> Option<HeaderValue> {
    let (login, _) = proxy.authority()?.as_str().rsplit_once('@')?;
    HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(login))).ok()
}

fn socks_login(proxy: &Uri) -> Option<(String, String)> {
    let (login, _) = proxy.authority()?.as_str().rsplit_once('@')?;
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    Some((user.to_owned(), password.to_owned()))
}

fn with_connector<C>(config: Config, connector: C) -> Result<Transport, Error>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    let mut tls = super::client_certificate::tls(&config)?;
    tls.resumption = Resumption::disabled();
    let mut https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = name
            .clone()
            .try_into()
            .map_err(|error: rustls::pki_types::InvalidDnsNameError| Error::Service(Box::new(error)))?;
        https = https.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let mut connector = TimeoutConnector::new(https.enable_http1().wrap_connector(connector));
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let http = hyper_util::client::legacy::Builder::new(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .build::<_, Body>(connector);

    let retry = RetryPolicy::new(Duration::from_millis(20), Duration::from_millis(250), 4, false)
        .expect("invariant: these delays are valid");
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(RetryLayer::new(retry))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(BoxCloneSyncService::new(service))
}
