//! Connections and credentials that a kubeconfig may contain, against the real API server.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test may panic, and uses this machine as it is"
)]

#[path = "bed/space.rs"]
mod space;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lilt_cluster::{Cluster, ConnectOptions};
use serde_json::{Value, json};
use space::{DEADLINE, Space};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The test bed's kubeconfig.
fn admin() -> Value {
    let output = Command::new("kubectl").args(["config", "view", "--raw", "-o", "json"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn write(folder: &Path, name: &str, config: &Value) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

/// A token of an account with all permissions in the test's namespace, and no others.
fn token(space: &Space) -> String {
    let kubectl = |arguments: &[&str]| {
        let output = Command::new("kubectl").args(["-n", &space.name]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    kubectl(&["create", "serviceaccount", "worker"]);
    let account = format!("--serviceaccount={}:worker", space.name);
    kubectl(&["create", "rolebinding", "worker", "--clusterrole=admin", &account]);
    kubectl(&["create", "token", "worker"])
}

/// Applies an object through a kubeconfig.
async fn works(space: &Space, files: Vec<PathBuf>) {
    let options = ConnectOptions {
        kubeconfig: files,
        namespace: Some(space.name.clone()),
        ..ConnectOptions::default()
    };
    let cluster = Cluster::connect(options).await.unwrap_or_else(|failure| panic!("{failure}"));
    let info = cluster.probe().await.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(info.server_version.starts_with("v1."), "{info:?}");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "b"}});
    cluster.apply(&[map], DEADLINE).await.unwrap_or_else(|failure| panic!("{failure}"));
}

#[tokio::test]
async fn tokens_in_kubeconfig_and_in_a_file() {
    let space = Space::new("token").await;
    let folder = tempfile::tempdir().unwrap();
    let mut config = admin();
    let token = token(&space);
    config["users"][0]["user"] = json!({"token": token});
    works(&space, vec![write(folder.path(), "token", &config)]).await;
    std::fs::write(folder.path().join("t"), &token).unwrap();
    config["users"][0]["user"] = json!({"tokenFile": folder.path().join("t")});
    works(&space, vec![write(folder.path(), "file", &config)]).await;
}

/// A renewed token is written to the file; like kubectl, the connection rereads it within a minute.
#[tokio::test]
async fn token_file_is_reread() {
    let space = Space::new("renewed").await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t");
    std::fs::write(&file, "expired").unwrap();
    let mut config = admin();
    config["users"][0]["user"] = json!({"tokenFile": file});
    let options = ConnectOptions {
        kubeconfig: vec![write(folder.path(), "config", &config)],
        namespace: Some(space.name.clone()),
        ..ConnectOptions::default()
    };
    let cluster = Cluster::connect(options).await.unwrap();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    let refused = cluster.apply(std::slice::from_ref(&map), DEADLINE).await.unwrap_err();
    std::fs::write(&file, token(&space)).unwrap();
    let begin = std::time::Instant::now();
    while let Err(failure) = cluster.apply(std::slice::from_ref(&map), DEADLINE).await {
        assert!(begin.elapsed() < 2 * DEADLINE, "{refused}; and later {failure}");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn exec_plugin_runs_again_after_expiry() {
    let space = Space::new("exec").await;
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("login");
    let answer = json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"token": token(&space), "expirationTimestamp": "2020-01-01T00:00:00Z"}});
    let text = format!("#!/bin/sh\necho $GREETING >> {}/asked\necho '{answer}'\n", folder.path().display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut config = admin();
    config["users"][0]["user"] = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1",
        "command": script, "env": [{"name": "GREETING", "value": "hello"}], "interactiveMode": "Never"}});
    works(&space, vec![write(folder.path(), "config", &config)]).await;
    let asked = std::fs::read_to_string(folder.path().join("asked")).unwrap();
    assert!(asked.lines().count() > 1 && asked.lines().all(|line| line == "hello"), "{asked:?}");
    // A failing command is reported.
    std::fs::write(&script, "#!/bin/sh\necho no ticket >&2\nexit 3\n").unwrap();
    let path = folder.path().join("config");
    let failure = match Cluster::connect(ConnectOptions {
        kubeconfig: vec![path],
        ..ConnectOptions::default()
    })
    .await
    {
        Ok(cluster) => cluster.probe().await.unwrap_err(),
        Err(failure) => failure,
    };
    assert!(failure.to_string().contains("login"), "{failure}");
}

/// A kubeconfig with this script as its exec plugin. Most do not set interactiveMode.
fn login_command(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("login");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut config = admin();
    config["users"][0]["user"] =
        json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": path}});
    write(folder, "config", &config)
}

fn credential(status: &Value) -> String {
    let answer = json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": status});
    format!("cat <<'END'\n{answer}\nEND")
}

/// The plugin does not read this terminal, and its stderr is reported.
#[tokio::test]
async fn exec_plugin_stderr_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let config = login_command(folder.path(), "cat\necho 'the ticket is from yesterday' >&2\nexit 3");
    let options = ConnectOptions { kubeconfig: vec![config], ..ConnectOptions::default() };
    let failure = Cluster::connect(options).await.unwrap().probe().await.unwrap_err().to_string();
    assert!(
        failure.contains("login failed: exit status: 3") || failure.contains("of kubeconfig failed"),
        "{failure}"
    );
    assert!(failure.contains("\nthe ticket is from yesterday\n"), "{failure}");
}

/// A token without an expiry may be rejected at any time.
#[tokio::test]
async fn exec_plugin_runs_again_after_rejected_token() {
    let space = Space::new("refused").await;
    let folder = tempfile::tempdir().unwrap();
    let config = login_command(folder.path(), &credential(&json!({"token": "from-yesterday"})));
    let options = ConnectOptions {
        kubeconfig: vec![config],
        namespace: Some(space.name.clone()),
        ..ConnectOptions::default()
    };
    let cluster = Cluster::connect(options).await.unwrap();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    assert!(cluster.apply(std::slice::from_ref(&map), DEADLINE).await.is_err());
    login_command(folder.path(), &credential(&json!({"token": token(&space)})));
    cluster.apply(&[map], DEADLINE).await.unwrap_or_else(|failure| panic!("{failure}"));
}

#[tokio::test]
async fn exec_plugin_may_return_a_certificate() {
    let space = Space::new("identity").await;
    let folder = tempfile::tempdir().unwrap();
    let user = &admin()["users"][0]["user"];
    let decoded = |field: &str| {
        String::from_utf8(STANDARD.decode(user[field].as_str().unwrap_or_default()).unwrap()).unwrap()
    };
    let status = json!({"clientCertificateData": decoded("client-certificate-data"),
        "clientKeyData": decoded("client-key-data")});
    assert!(
        status["clientKeyData"].as_str().is_some_and(|key| !key.is_empty()),
        "the bed's user has a certificate"
    );
    works(&space, vec![login_command(folder.path(), &credential(&status))]).await;
}

/// As MicroK8s creates them: X.509 version 1, without extensions.
#[tokio::test]
async fn x509_v1_client_certificates_are_sent() {
    let space = Space::new("version-one").await;
    let folder = tempfile::tempdir().unwrap();
    // The test bed's authority, beside its kubeconfig.
    let authority = PathBuf::from(std::env::var_os("KUBECONFIG").unwrap()).with_file_name("ca");
    let openssl = |arguments: &[&str]| {
        let output = Command::new("openssl").current_dir(folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let subject = "/O=system:masters/CN=old";
    openssl(&[
        "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-subj", subject, "-out", "request",
    ]);
    let (certificate, key) = (authority.with_extension("crt"), authority.with_extension("key"));
    let (certificate, key) = (certificate.to_str().unwrap(), key.to_str().unwrap());
    let sign = [
        "x509",
        "-req",
        "-in",
        "request",
        "-CA",
        certificate,
        "-CAkey",
        key,
        "-set_serial",
        "77",
        "-out",
        "old",
    ];
    openssl(&sign);
    assert!(openssl(&["x509", "-in", "old", "-noout", "-text"]).contains("Version: 1 "));
    let mut config = admin();
    let data = |name: &str| STANDARD.encode(std::fs::read(folder.path().join(name)).unwrap());
    config["users"][0]["user"] =
        json!({"client-certificate-data": data("old"), "client-key-data": data("key")});
    works(&space, vec![write(folder.path(), "data", &config)]).await;
    let path = |name: &str| folder.path().join(name);
    config["users"][0]["user"] = json!({"client-certificate": path("old"), "client-key": path("key")});
    works(&space, vec![write(folder.path(), "files", &config)]).await;
}

/// After a new login, a running lilt needs no restart: all clones of the connection use the new credentials.
#[tokio::test]
async fn connection_reloads_credentials_of_its_context() {
    let space = Space::new("anew").await;
    let folder = tempfile::tempdir().unwrap();
    let mut config = admin();
    config["users"][0]["user"] = json!({"token": "from-yesterday"});
    let options = ConnectOptions {
        kubeconfig: vec![write(folder.path(), "config", &config)],
        namespace: Some(space.name.clone()),
        ..ConnectOptions::default()
    };
    let cluster = Cluster::connect(options.clone()).await.unwrap();
    let clone = cluster.clone();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    assert!(clone.apply(std::slice::from_ref(&map), DEADLINE).await.is_err());
    config["users"][0]["user"] = json!({"token": token(&space)});
    write(folder.path(), "config", &config);
    cluster.reload_login(options.clone()).await.unwrap_or_else(|failure| panic!("{failure}"));
    clone.apply(std::slice::from_ref(&map), DEADLINE).await.unwrap_or_else(|failure| panic!("{failure}"));
    // Rejected if the context has another server by now.
    config["clusters"][0]["cluster"]["server"] = json!("https://127.0.0.1:1");
    write(folder.path(), "config", &config);
    assert!(cluster.reload_login(options).await.is_err());
    clone.apply(&[map], DEADLINE).await.unwrap_or_else(|failure| panic!("{failure}"));
}

#[tokio::test]
async fn context_may_be_split_over_files() {
    let space = Space::new("files").await;
    let folder = tempfile::tempdir().unwrap();
    let config = admin();
    let part = |name: &str, fields: &[&str]| {
        let mut part = json!({"apiVersion": "v1", "kind": "Config"});
        for field in fields {
            part[*field] = config[*field].clone();
        }
        write(folder.path(), name, &part)
    };
    let files = vec![
        folder.path().join("missing"),
        part("contexts", &["contexts", "current-context"]),
        part("users", &["users"]),
        part("clusters", &["clusters"]),
    ];
    works(&space, files).await;
}

/// A proxy that counts connections and forwards what follows its handshake.
fn proxy(handshake: fn(&mut TcpStream) -> Option<String>) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let counter = Arc::clone(&counter);
            std::thread::spawn(move || {
                let Some(target) = handshake(&mut client) else { return };
                counter.fetch_add(1, Ordering::Relaxed);
                let Ok(server) = TcpStream::connect(target) else { return };
                for (mut from, mut to) in [
                    (client.try_clone().unwrap(), server.try_clone().unwrap()),
                    (server.try_clone().unwrap(), client.try_clone().unwrap()),
                ] {
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(std::net::Shutdown::Write);
                    });
                }
            });
        }
    });
    (port, count)
}

/// `CONNECT host:port`, with a login.
fn http_handshake(client: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    // me:secret
    if !head.to_lowercase().contains("proxy-authorization: basic bwu6c2vjcmv0") {
        client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").ok()?;
        return None;
    }
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    Some(head.split_whitespace().nth(1)?.to_owned())
}

/// Version 5, no login, one IPv4 address or name.
fn socks_handshake(client: &mut TcpStream) -> Option<String> {
    let mut greeting = [0; 2];
    client.read_exact(&mut greeting).ok()?;
    let mut methods = vec![0; usize::from(greeting[1])];
    client.read_exact(&mut methods).ok()?;
    client.write_all(&[5, 0]).ok()?;
    let mut request = [0; 4];
    client.read_exact(&mut request).ok()?;
    let host = match request[3] {
        1 => {
            let mut address = [0; 4];
            client.read_exact(&mut address).ok()?;
            std::net::Ipv4Addr::from(address).to_string()
        }
        3 => {
            let mut length = [0];
            client.read_exact(&mut length).ok()?;
            let mut name = vec![0; usize::from(length[0])];
            client.read_exact(&mut name).ok()?;
            String::from_utf8(name).ok()?
        }
        _ => return None,
    };
    let mut port = [0; 2];
    client.read_exact(&mut port).ok()?;
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).ok()?;
    Some(format!("{host}:{}", u16::from_be_bytes(port)))
}

#[tokio::test]
async fn proxy_url_of_the_cluster_is_used() {
    let space = Space::new("proxy").await;
    let folder = tempfile::tempdir().unwrap();
    let mut config = admin();
    let (http, http_count) = proxy(http_handshake);
    let (socks, socks_count) = proxy(socks_handshake);
    for (name, address, count) in [
        ("http", format!("http://me:secret@127.0.0.1:{http}"), http_count),
        ("socks", format!("socks5://127.0.0.1:{socks}"), socks_count),
    ] {
        config["clusters"][0]["cluster"]["proxy-url"] = json!(address);
        works(&space, vec![write(folder.path(), name, &config)]).await;
        assert!(count.load(Ordering::Relaxed) > 0, "{name} was passed by");
    }
    config["clusters"][0]["cluster"]["proxy-url"] = json!("http://127.0.0.1:9");
    let options = ConnectOptions {
        kubeconfig: vec![write(folder.path(), "closed", &config)],
        ..ConnectOptions::default()
    };
    let failure = Cluster::connect(options).await.unwrap().probe().await.unwrap_err();
    assert!(failure.to_string().contains("refused"), "{failure}");
}

/// A proxy that is reached over TLS, and its certificate as PEM.
async fn proxy_with_tls() -> (u16, Arc<AtomicUsize>, String) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key =
        tokio_rustls::rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = tokio_rustls::rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (acceptor, counted) = (acceptor.clone(), Arc::clone(&counted));
            tokio::spawn(async move {
                let mut client = acceptor.accept(client).await.ok()?;
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(client.read_u8().await.ok()?);
                }
                let head = String::from_utf8(head).ok()?;
                let mut server =
                    tokio::net::TcpStream::connect(head.split_whitespace().nth(1)?).await.ok()?;
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::io::copy_bidirectional(&mut client, &mut server).await.ok()
            });
        }
    });
    (port, count, made.cert.pem())
}

#[tokio::test]
async fn tls_proxy_needs_a_trusted_certificate() {
    let space = Space::new("secure-proxy").await;
    let folder = tempfile::tempdir().unwrap();
    let (port, count, certificate) = proxy_with_tls().await;
    let mut config = flattened();
    let cluster = &mut config["clusters"][0]["cluster"];
    cluster["proxy-url"] = json!(format!("https://127.0.0.1:{port}"));
    let own = STANDARD.decode(cluster["certificate-authority-data"].as_str().unwrap()).unwrap();
    let own = String::from_utf8(own).unwrap();
    let options = ConnectOptions {
        kubeconfig: vec![write(folder.path(), "unknown", &config)],
        ..ConnectOptions::default()
    };
    let failure = Cluster::connect(options).await.unwrap().probe().await.unwrap_err();
    assert!(failure.to_string().contains("certificate"), "{failure}");
    config["clusters"][0]["cluster"]["certificate-authority-data"] =
        json!(STANDARD.encode(format!("{own}\n{certificate}")));
    works(&space, vec![write(folder.path(), "known", &config)]).await;
    assert!(count.load(Ordering::Relaxed) > 0, "it was passed by");
}

/// The test bed's kubeconfig, without references to other files.
fn flattened() -> Value {
    let arguments = ["config", "view", "--raw", "--flatten", "-o", "json"];
    let output = Command::new("kubectl").args(arguments).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}
