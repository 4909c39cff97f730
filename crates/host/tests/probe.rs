//! Readiness probes against real servers and commands.

// clippy.toml restricts these methods to host; these are its tests.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod guarded;

use std::sync::Arc;
use std::time::Duration;

use lilt_host::probe::{Attempt, attempt};
use lilt_host::process::Launch;
use lilt_model::probe::ProbeAction;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::timeout;

/// Long enough that only a hang runs into it.
const DEADLINE: Duration = Duration::from_secs(20);

async fn probe(action: ProbeAction, limit: Duration) -> Attempt {
    let launch =
        |argv: &[String]| Launch { argv: argv.to_vec(), dir: "/".into(), env: vec![], unset: vec![] };
    timeout(DEADLINE, attempt(&guarded::guardian(), &action, limit, launch)).await.expect("in time")
}

async fn http(port: u16, path: &str) -> Attempt {
    let action = ProbeAction::HttpGet {
        port: port.into(),
        host: "127.0.0.1".into(),
        scheme: String::new(),
        path: path.into(),
        headers: Vec::new(),
    };
    probe(action, DEADLINE).await
}

fn failed(cause: &str) -> Attempt {
    Attempt { cause: Some(cause.into()), output: String::new() }
}

/// Serves every request with `answer`, until the runtime ends.
async fn serve(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            respond(&mut stream, &answer).await;
        }
    });
    port
}

async fn respond(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), answer: &impl Fn(&str) -> String) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if !matches!(stream.read(&mut byte).await, Ok(1)) {
            return;
        }
        request.extend(byte);
    }
    let request = String::from_utf8(request).expect("text");
    let _ = stream.write_all(answer(&request).as_bytes()).await;
    let _ = stream.shutdown().await;
}

fn answer(status: &str, more: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{more}\r\n{body}", body.len())
}

#[tokio::test]
async fn http_probe_accepts_status_200_to_399() {
    let port = serve(|request| {
        let path = request.split(' ').nth(1).expect("a path");
        let location = |to: &str| format!("Location: {to}\r\n");
        match path {
            "/" => answer("200 OK", "", &request.replace('\r', "")),
            "/away" => answer("302 Found", &location("http://elsewhere.invalid/"), "gone"),
            "/here" => answer("301 Moved", &location("/"), ""),
            "/nowhere" => answer("301 Moved", &location("/missing"), ""),
            "/round" => answer("307 Again", &location("/round"), ""),
            "/silent" => String::new(),
            "/failing" => answer("503 Service Unavailable", "", "starting"),
            _ => answer("404 Not Found", "", ""),
        }
    })
    .await;
    let plain = http(port, "").await;
    assert_eq!(plain.cause, None);
    let expected = format!(
        "GET / HTTP/1.1\nhost: 127.0.0.1:{port}\nuser-agent: tilt-probe/0.1\naccept: */*\nconnection: close\n\n"
    );
    assert_eq!(plain.output, expected);
    let headers =
        [("X-Who", "me"), ("User-Agent", "own")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let action = ProbeAction::HttpGet {
        port: port.into(),
        host: "127.0.0.1".into(),
        scheme: String::new(),
        path: String::new(),
        headers: headers.to_vec(),
    };
    let output = probe(action, DEADLINE).await.output;
    assert!(output.contains("x-who: me\nuser-agent: own\n") && !output.contains("tilt-probe"), "{output}");
    assert_eq!(http(port, "/here").await.output, expected, "within the host redirects are followed");
    assert_eq!(http(port, "/away").await, Attempt { cause: None, output: "gone".into() });
    let base = format!("http://127.0.0.1:{port}");
    assert_eq!(http(port, "/nowhere").await, failed(&format!("{base}/missing answers 404 Not Found")));
    assert_eq!(
        http(port, "failing").await,
        failed(&format!("{base}/failing answers 503 Service Unavailable"))
    );
    assert_eq!(http(port, "/round").await, failed(&format!("{base}/round: it redirects more than 10 times")));
    let silent = format!("{base}/silent: it closed the connection without an answer");
    assert_eq!(http(port, "/silent").await, failed(&silent));
}

#[tokio::test]
async fn https_probe_accepts_self_signed_certificate() {
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::pki_types::pem::PemObject as _;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(CERTIFICATE.as_bytes()).expect("a key");
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("they belong together");
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(mut stream) = acceptor.accept(stream).await {
                respond(&mut stream, &|_| answer("204 No Content", "", "")).await;
            }
        }
    });
    let action = |scheme: &str| ProbeAction::HttpGet {
        port: port.into(),
        host: "127.0.0.1".into(),
        scheme: scheme.into(),
        path: String::new(),
        headers: Vec::new(),
    };
    assert_eq!(probe(action("HTTPS"), DEADLINE).await.cause, None);
    assert!(!probe(action("HTTP"), DEADLINE).await.succeeded());
}

#[tokio::test]
async fn invalid_port_or_scheme_fails_the_attempt() {
    let tcp = ProbeAction::TcpSocket { port: 70000, host: String::new() };
    assert_eq!(probe(tcp, DEADLINE).await, failed("port number out of range: 70000"));
    let http = |port, scheme: &str| ProbeAction::HttpGet {
        port,
        host: String::new(),
        scheme: scheme.into(),
        path: String::new(),
        headers: Vec::new(),
    };
    assert_eq!(probe(http(0, ""), DEADLINE).await, failed("port number out of range: 0"));
    assert_eq!(probe(http(80, "FTP"), DEADLINE).await, failed("unsupported scheme \"FTP\""));
}

#[tokio::test]
async fn tcp_probe_succeeds_only_while_port_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let action = || ProbeAction::TcpSocket { port: port.into(), host: "127.0.0.1".into() };
    assert_eq!(probe(action(), DEADLINE).await, Attempt { cause: None, output: String::new() });
    drop(listener);
    assert_eq!(probe(action(), DEADLINE).await, failed(&format!("127.0.0.1:{port}: connection refused")));
}

#[tokio::test]
async fn http_probe_times_out() {
    // The kernel accepts the connection, and nobody responds.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let action = ProbeAction::HttpGet {
        port: port.into(),
        host: "127.0.0.1".into(),
        scheme: String::new(),
        path: String::new(),
        headers: Vec::new(),
    };
    let found = probe(action, Duration::from_millis(20)).await;
    assert_eq!(found, failed(&format!("no answer from http://127.0.0.1:{port}/ within 20ms")));
}

#[tokio::test]
async fn exec_probe_result_follows_exit_code() {
    let sh = |line: &str| ProbeAction::Exec { command: vec!["sh".into(), "-c".into(), line.into()] };
    let good = probe(sh("echo fine; echo really >&2"), DEADLINE).await;
    assert_eq!(good, Attempt { cause: None, output: "fine\nreally\n".into() });
    let bad = probe(sh("echo first; echo not yet; exit 3"), DEADLINE).await;
    assert_eq!(bad.cause.as_deref(), Some("`sh` ended with exit code 3: not yet"));
    assert_eq!(bad.output, "first\nnot yet\n");
    let quiet = probe(sh("kill -9 $$"), DEADLINE).await;
    assert_eq!(quiet.cause.as_deref(), Some("`sh` ended with signal KILL"));
    let late = probe(sh("sleep 300"), Duration::from_millis(20)).await;
    assert_eq!(late.cause.as_deref(), Some("`sh` did not end within 20ms"));
    let missing = ProbeAction::Exec { command: vec!["no-such-program-of-lilt".into()] };
    assert_eq!(probe(missing, DEADLINE).await, failed("the program `no-such-program-of-lilt` was not found"));
    let chatty = probe(sh("head -c 100000 /dev/zero | tr '\\0' x"), DEADLINE).await;
    assert_eq!((chatty.cause, chatty.output.len()), (None, 10 * 1024));
}

/// Self-signed, made for this test: a probe does not verify certificates.
const CERTIFICATE: &str = "\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgkxfVn35ybOuLka8b
DOkF4Rr0uKLm18gcy08RaNFWSHOhRANCAAQ9XD1Lojecp6N403Ay+fSieN30codt
iboLMyvh9Vw7QQjZRfCY2NKL0YU2QR6L/06a73sJ8ToP0A+HVArUaUQT
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBdjCCAR2gAwIBAgIUJuSG20Szr3N8PbHl7OwpeFkptWAwCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGbm9ib2R5MB4XDTI2MTExNjAyMTU1MVoXDTI2MTExNzAyMTU1
MVowETEPMA0GA1UEAwwGbm9ib2R5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
PVw9S6I3nKejeNNwMvn0onjd9HKHbYm6CzMr4fVcO0EI2UXwmNjSi9GFNkEei/9O
mu97CfE6D9APh1QK1GlEE6NTMFEwHQYDVR0OBBYEFLeU7PytLh66LRrEBSA5v/QY
j+Q7MB8GA1UdIwQYMBaAFLeU7PytLh66LRrEBSA5v/QYj+Q7MA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgU3Fd5hHZ0lJGKRwSueKdY/WCNF3SBT0s
hrd7L2Fj190CIA9m/mXgSHHfThEbFluABWydejv1ufFGjwzyo6Bhg2XD
-----END CERTIFICATE-----
";
