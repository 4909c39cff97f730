//! The `oidc` auth provider of kubeconfig, for kubectl and for lilt, with an identity provider in the test.
//!
//! The API server accepts tokens of service accounts, which are JSON Web Tokens: the identity provider returns one.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use lilt_cluster::{Cluster, ConnectOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn kubectl(arguments: &[&str]) -> String {
    let output = Command::new("kubectl").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn jwt(expires: u64) -> String {
    let claims = URL_SAFE_NO_PAD.encode(json!({"exp": expires}).to_string());
    format!("{}.{claims}.c2ln", URL_SAFE_NO_PAD.encode("{}"))
}

/// An identity provider with TLS, which accepts each refresh token once.
struct Provider {
    port: u16,
    certificate: String,
}

impl Provider {
    /// `wants_header`: whether the client must be in the header, else in the body.
    async fn start(id_token: String, wants_header: bool) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let key = tokio_rustls::rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der());
        let crypto = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = tokio_rustls::rustls::ServerConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.unwrap())
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let uses = Arc::new(AtomicUsize::new(0));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (acceptor, id_token, uses) = (acceptor.clone(), id_token.clone(), Arc::clone(&uses));
                tokio::spawn(async move {
                    let mut client = acceptor.accept(client).await.ok()?;
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(client.read_u8().await.ok()?);
                    }
                    let head = String::from_utf8(head).ok()?;
                    let lower = head.to_lowercase();
                    let length = lower.split("content-length: ").nth(1).and_then(|it| it.lines().next());
                    let mut body = vec![0; length.map_or(0, |it| it.trim().parse().unwrap())];
                    client.read_exact(&mut body).await.ok()?;
                    let body = String::from_utf8(body).ok()?;
                    let count = uses.load(Ordering::Relaxed);
                    let login = format!("Basic {}", STANDARD.encode("lilt:s%3Dcret"));
                    let is_client = match wants_header {
                        true => head.contains(&login),
                        false => {
                            body.contains("client_id=lilt&client_secret=s%3Dcret")
                                || body.contains("client_secret=s%3Dcret") && body.contains("client_id=lilt")
                        }
                    };
                    let is_fresh = body.contains(&format!("refresh_token=refresh-number-{count}"));
                    let (status, answer) = if head.starts_with("GET /.well-known/openid-configuration ") {
                        (200, json!({"token_endpoint": format!("https://127.0.0.1:{port}/token")}))
                    } else if head.starts_with("POST /token ") && is_client && is_fresh {
                        uses.fetch_add(1, Ordering::Relaxed);
                        let next = format!("refresh-number-{}", count + 1);
                        let mut answer =
                            json!({"token_type": "bearer", "access_token": "a", "refresh_token": next});
                        if !id_token.is_empty() {
                            answer["id_token"] = id_token.into();
                        }
                        (200, answer)
                    } else {
                        (400, json!({"error": "invalid_grant"}))
                    };
                    let answer = answer.to_string();
                    let head = format!(
                        "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                        answer.len()
                    );
                    client.write_all((head + &answer).as_bytes()).await.ok()?;
                    client.shutdown().await.ok()
                });
            }
        });
        Self { port, certificate: made.cert.pem() }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oidc_users_work_as_with_kubectl() {
    let folder = tempfile::tempdir().unwrap();
    let config = kubectl(&["config", "view", "--raw", "--flatten", "--minify", "-o", "json"]);
    let config: Value = serde_json::from_str(&config).unwrap();
    let name = config["users"][0]["name"].as_str().unwrap().to_owned();
    let token = kubectl(&["-n", "kube-system", "create", "token", "node-controller"]);
    let (expired, refresh) = (jwt(1), "refresh-number-0");
    let rows = [
        ("valid", json!({"id-token": token}), true, true),
        ("expired", json!({"id-token": expired}), true, false),
        ("expired-with-refresh", json!({"id-token": expired, "refresh-token": refresh}), true, true),
        ("refresh-alone", json!({"refresh-token": refresh}), true, true),
        ("client-in-body", json!({"id-token": expired, "refresh-token": refresh}), false, true),
        ("used-refresh", json!({"id-token": expired, "refresh-token": "refresh-number-7"}), true, false),
        ("unknown-authority", json!({"id-token": expired, "refresh-token": refresh}), true, false),
        ("authority-file", json!({"id-token": expired, "refresh-token": refresh}), true, true),
        ("wrong-secret", json!({"refresh-token": refresh, "client-secret": "other"}), true, false),
        ("no-id-token", json!({"id-token": expired, "refresh-token": refresh}), true, false),
        ("no-client", json!({"id-token": token, "client-id": ""}), true, false),
        ("garbage", json!({"id-token": "abc", "refresh-token": refresh}), true, false),
    ];
    for (row, fields, wants_header, is_good) in rows {
        let mut saved = Vec::new();
        for is_kubectl in [true, false] {
            let id_token = if row == "no-id-token" { String::new() } else { token.clone() };
            let provider = Provider::start(id_token, wants_header).await;
            let issuer = format!("https://127.0.0.1:{}", provider.port);
            let mut oidc = json!({"idp-issuer-url": issuer, "client-id": "lilt", "client-secret": "s=cret"});
            match row {
                "unknown-authority" => {}
                "authority-file" => {
                    let file = folder.path().join("idp.crt");
                    std::fs::write(&file, &provider.certificate).unwrap();
                    oidc["idp-certificate-authority"] = json!(file);
                }
                _ => oidc["idp-certificate-authority-data"] = STANDARD.encode(&provider.certificate).into(),
            }
            oidc.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let mut config = config.clone();
            config["users"][0]["user"] = json!({"auth-provider": {"name": "oidc", "config": oidc}});
            let file = folder.path().join(format!("{row}-{is_kubectl}"));
            std::fs::write(&file, config.to_string()).unwrap();
            let found = if is_kubectl {
                let mut command = Command::new("kubectl");
                command.args(["get", "--raw", "/api/v1/nodes?limit=1", "--kubeconfig"]).arg(&file);
                let output = command.stdin(Stdio::null()).output().unwrap();
                output.status.success().then_some(()).ok_or(String::from_utf8(output.stderr).unwrap())
            } else {
                let options = ConnectOptions { kubeconfig: vec![file.clone()], ..ConnectOptions::default() };
                match Cluster::connect(options).await {
                    Ok(cluster) => cluster.probe().await.map(|_| ()).map_err(|failure| failure.to_string()),
                    Err(failure) => Err(failure.to_string()),
                }
            };
            assert_eq!(found.is_ok(), is_good, "{row}, kubectl: {is_kubectl}: {found:?}");
            let user = format!("jsonpath={{.users[?(@.name=='{name}')].user.auth-provider.config}}");
            let written =
                kubectl(&["config", "view", "--raw", "-o", &user, "--kubeconfig", file.to_str().unwrap()]);
            let written: Value = serde_json::from_str(&written).unwrap();
            saved.push([written["id-token"].clone(), written["refresh-token"].clone()]);
        }
        assert_eq!(saved[1], saved[0], "{row}: lilt saves what kubectl saves");
        if row == "expired-with-refresh" {
            assert_eq!(saved[1], [json!(token), json!("refresh-number-1")]);
        }
    }
}

/// Commands get a kubeconfig without such a user, followed by the file that has the user.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refresh_token_that_kubectl_uses_up_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let config = kubectl(&["config", "view", "--raw", "--flatten", "--minify", "-o", "json"]);
    let config: Value = serde_json::from_str(&config).unwrap();
    let provider =
        Provider::start(kubectl(&["-n", "kube-system", "create", "token", "node-controller"]), true).await;
    let oidc = json!({"idp-issuer-url": format!("https://127.0.0.1:{}", provider.port), "client-id": "lilt",
        "client-secret": "s=cret", "idp-certificate-authority-data": STANDARD.encode(&provider.certificate),
        "id-token": jwt(1), "refresh-token": "refresh-number-0"});
    let write = |name: &str, users: Value| {
        let mut config = config.clone();
        config["users"] = users;
        std::fs::write(folder.path().join(name), config.to_string()).unwrap();
        folder.path().join(name)
    };
    let user = json!({"auth-provider": {"name": "oidc", "config": oidc}});
    let own = write("own", json!([{"name": config["users"][0]["name"], "user": user}]));
    let frozen = write("frozen", json!([]));
    let options = ConnectOptions { kubeconfig: vec![own.clone()], ..ConnectOptions::default() };
    let cluster = Cluster::connect(options).await.unwrap();
    let mut command = Command::new("kubectl");
    command.args(["get", "--raw", "/api/v1/nodes?limit=1"]).stdin(Stdio::null());
    let output = command.env("KUBECONFIG", std::env::join_paths([&frozen, &own]).unwrap()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(std::fs::read_to_string(&own).unwrap().contains("refresh-number-1"));
    assert!(!std::fs::read_to_string(&frozen).unwrap().contains("refresh-number"));
    // The connection still had the used one.
    cluster.probe().await.unwrap();
}
