//! Registries that require credentials, in front of the test bed's: pulls of base images and pushes, with every place
//! where Docker stores credentials.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests use this machine's files, processes and environment; what cannot be is a bug of the test"
)]

#[path = "support/bed.rs"]
mod bed;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bed::{Context, Image};
use lilt_docker::Engine;
use lilt_model::{Class, Failure};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// How a registry authenticates.
#[derive(Clone, Copy, PartialEq)]
enum Asks {
    /// With user name and password.
    Basic,
    /// With a token, which an identity token is exchanged for.
    Bearer,
}

/// An authenticating proxy before the test bed's registry. Ends with the test's runtime.
async fn guarded(asks: Asks) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("localhost:{}", listener.local_addr().unwrap().port());
    let name = host.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(serve(client, asks, name.clone()));
        }
    });
    host
}

async fn serve(mut client: TcpStream, asks: Asks, host: String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match client.read_u8().await {
            // A TLS handshake: Go falls back to HTTP when the response is plain text.
            Ok(0x16) if head.is_empty() => {
                return drop(client.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n").await);
            }
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
    };
    if head.split(' ').nth(1).is_some_and(|path| path.starts_with("/token")) {
        let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut form = vec![0; length];
        client.read_exact(&mut form).await.unwrap();
        let known = String::from_utf8_lossy(&form).contains("refresh_token=identity");
        // As in real registries, a password is rejected where a token is required.
        let (status, token) = match known {
            true => ("200 OK", json!({"access_token": "good"}).to_string()),
            false => ("401 Unauthorized", String::new()),
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{token}",
            token.len()
        );
        return client.write_all(answer.as_bytes()).await.unwrap();
    }
    let wanted = match asks {
        Asks::Basic => format!("Basic {}", STANDARD.encode("me:secret")),
        Asks::Bearer => "Bearer good".to_owned(),
    };
    if header("authorization") != Some(wanted) {
        let challenge = match asks {
            Asks::Basic => "Basic realm=\"test\"".to_owned(),
            Asks::Bearer => format!("Bearer realm=\"http://{host}/token\",service=\"test\""),
        };
        let answer = format!(
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: {challenge}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        // A rejected client may have disconnected.
        return drop(client.write_all(answer.as_bytes()).await);
    }
    let mut registry = TcpStream::connect(bed::registry()).await.unwrap();
    let plain: String = head
        .lines()
        .filter(|line| !line.to_lowercase().starts_with("connection:"))
        .map(|line| format!("{line}\r\n"))
        .collect();
    let head = plain.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    registry.write_all(head.as_bytes()).await.unwrap();
    let _ = tokio::io::copy_bidirectional(&mut client, &mut registry).await;
}

/// An engine with this Docker configuration and a credential helper that has these credentials.
fn engine(folder: &Path, config: &Value, buildkit: &str) -> Engine {
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let (folder, buildkit) = (folder.to_str().unwrap().to_owned(), buildkit.to_owned());
    let environment = move |name: &str| match name {
        "DOCKER_CONFIG" => Some(folder.clone()),
        "DOCKER_BUILDKIT" => Some(buildkit.clone()),
        "PATH" => Some(path.clone()),
        _ => std::env::var(name).ok(),
    };
    Engine::connect(&environment, None).unwrap()
}

/// A credential helper.
fn helper(folder: &Path, name: &str, secret: &Value) {
    let path = folder.join(format!("docker-credential-{name}"));
    let script = format!(
        "#!/bin/sh\nread host\necho \"$1 $host\" >> {}/asked\ncat <<'END'\n{secret}\nEND\n",
        folder.display()
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Pushes an image, then builds on it.
async fn round_trip(engine: &Engine, host: &str) -> Result<(), Failure> {
    let context = Context::new(&[]);
    let name = format!("{host}/{}:v1", bed::unique("lilt-login"));
    let build = |dockerfile: String| {
        let request = context.request(&dockerfile);
        async move { engine.build(&request, |_| {}, CancellationToken::new()).await.map(Image) }
    };
    let image = build(format!("FROM busybox\nRUN echo {name} > /name\n")).await?;
    engine.tag(&image.id, &name).await?;
    engine.push(&name, |_| {}, CancellationToken::new()).await?;
    drop(image);
    let removed = std::process::Command::new("docker").args(["image", "rm", "-f", &name]).output().unwrap();
    drop(removed);
    build(format!("FROM {name}\nRUN grep {name} /name\n")).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_are_found_in_every_place() {
    let folder = tempfile::tempdir().unwrap();
    helper(folder.path(), "password", &json!({"Username": "me", "Secret": "secret"}));
    helper(folder.path(), "token", &json!({"Username": "<token>", "Secret": "identity"}));
    let (basic, bearer) = (guarded(Asks::Basic).await, guarded(Asks::Bearer).await);
    let password = STANDARD.encode("me:secret");
    let cases = [
        (&basic, json!({"auths": {&basic: {"auth": password}}})),
        (&basic, json!({"credHelpers": {&basic: "password"}})),
        (&basic, json!({"credsStore": "password", "auths": {&basic: {}}})),
        (&bearer, json!({"credsStore": "token"})),
        (&bearer, json!({"auths": {&bearer: {"auth": STANDARD.encode("me:"), "identitytoken": "identity"}}})),
    ];
    for (host, config) in &cases {
        round_trip(&engine(folder.path(), config, "1"), host).await.unwrap();
    }
    let asked = std::fs::read_to_string(folder.path().join("asked")).unwrap();
    assert!(asked.lines().all(|line| line.starts_with("get ")), "{asked}");
    // The classic builder gets credentials in advance.
    for (host, config) in [&cases[1], &cases[4]] {
        round_trip(&engine(folder.path(), config, "0"), host).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_credentials_failure_names_the_registry() {
    let folder = tempfile::tempdir().unwrap();
    let host = guarded(Asks::Basic).await;
    let engine = |buildkit: &str| engine(folder.path(), &json!({}), buildkit);
    let context = Context::new(&[]);
    for buildkit in ["1", "0"] {
        let request = context.request(&format!("# private\nFROM {host}/private:v1\n"));
        let failure = engine(buildkit).build(&request, |_| {}, CancellationToken::new()).await.err().unwrap();
        assert!(
            failure.message.starts_with(&format!("cannot get the base image {host}/private:v1: ")),
            "{failure}"
        );
        assert_eq!(
            (failure.class(), failure.location.as_ref().map(|it| it.line)),
            (Class::User, Some(2)),
            "{failure}"
        );
        assert!(failure.hint.as_ref().unwrap().contains(&format!("docker login {host}")), "{failure}");
    }
    let image = bed::build(&context.request("FROM busybox\n")).await.unwrap();
    let name = format!("{host}/{}:v1", bed::unique("lilt-login"));
    engine("1").tag(&image.id, &name).await.unwrap();
    let failure = engine("1").push(&name, |_| {}, CancellationToken::new()).await.err().unwrap();
    assert!(failure.hint.as_ref().unwrap().contains(&format!("docker login {host}")), "{failure}");
}
