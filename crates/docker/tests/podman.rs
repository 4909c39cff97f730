//! A server that responds as Podman's socket does according to its documentation. Runs without the test bed.
#![expect(clippy::disallowed_methods, reason = "the test writes the files that are built")]

use lilt_docker::{BuildProgress, BuildRequest, Engine};
use lilt_model::files::FileSet;
use lilt_model::image::DockerBuild;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

const PING: &str = "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nBuildkit-Version: \r\nBuilder-Version: \r\n\
    Libpod-Api-Version: 5.4.0\r\nContent-Length: 2\r\n\r\nOK";
const ID: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Reads one request with headers and body; none when the client has disconnected.
async fn request(stream: &mut UnixStream) -> Option<String> {
    let mut seen = Vec::new();
    let mut piece = [0; 8192];
    loop {
        let length = stream.read(&mut piece).await.ok().filter(|length| *length > 0)?;
        seen.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&seen);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        if !head.to_lowercase().contains("transfer-encoding: chunked") || body.ends_with("0\r\n\r\n") {
            return Some(text.into_owned());
        }
    }
}

fn json(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Responds and records requests until the test ends.
fn serve(listener: UnixListener, build: String) -> tokio::sync::mpsc::UnboundedReceiver<String> {
    // Unbounded: a handful of requests.
    let (seen, requests) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let Some(request) = request(&mut stream).await else { continue };
            let path = request.split(' ').nth(1).unwrap_or_default();
            let answer = match path {
                "/_ping" => PING.to_owned(),
                path if path.contains("/build?") => json(&build),
                path if path.contains("/images/") => json(&format!(r#"{{"Id": "{ID}"}}"#)),
                path => panic!("nobody asks Podman for {path}"),
            };
            stream.write_all(answer.as_bytes()).await.expect("the client is there");
            let _ = seen.send(request);
        }
    });
    requests
}

fn engine(listener_path: &std::path::Path) -> Engine {
    let host = format!("unix://{}", listener_path.display());
    Engine::connect(&move |name| (name == "DOCKER_HOST").then(|| host.clone()), None)
        .expect("it is an address")
}

#[tokio::test]
async fn podman_build_sends_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let context = folder.path().join("context");
    std::fs::create_dir(&context).unwrap();
    std::fs::write(context.join("file"), "content of the file").unwrap();
    let socket = folder.path().join("podman.sock");
    let lines = ["STEP 1/2: FROM busybox\\n", "STEP 2/2: COPY file /\\n", "--> 0123456789ab\\n", "COMMIT\\n"];
    let mut answers: String = lines.iter().map(|line| format!("{{\"stream\":\"{line}\"}}\n")).collect();
    answers.push_str(&format!("{{\"aux\":{{\"ID\":\"{ID}\"}}}}\n"));
    let mut requests = serve(UnixListener::bind(&socket).unwrap(), answers);
    let request = BuildRequest::new(DockerBuild {
        context: FileSet::new(vec![context], Vec::new()),
        dockerfile: "FROM busybox\nCOPY file /\n".into(),
        ..DockerBuild::default()
    });
    let mut steps = Vec::new();
    let mut note = |progress| {
        if let BuildProgress::Finished { name, .. } = progress {
            steps.push(name.to_string());
        }
    };
    let built = engine(&socket).build(&request, &mut note, CancellationToken::new()).await.unwrap();
    assert_eq!(built.id, ID);
    assert_eq!(steps, ["[1/2] FROM busybox", "[2/2] COPY file /"]);
    let ping = requests.recv().await.unwrap();
    assert!(ping.starts_with("GET /_ping"), "{ping}");
    let build = requests.recv().await.unwrap();
    assert!(build.starts_with("POST /v1.41/build?dockerfile=.lilt.Dockerfile&"), "{build}");
    assert!(!build.contains("session="), "Podman has no sessions: {build}");
    assert!(build.contains("content of the file"), "{build}");
}

#[tokio::test]
async fn failing_podman_step_has_a_location() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("podman.sock");
    let error = "building at STEP \\\"RUN exit 5\\\": while running runtime: exit status 5";
    let answers = format!(
        "{{\"stream\":\"STEP 1/2: FROM busybox\\n\"}}\n{{\"stream\":\"STEP 2/2: RUN exit 5\\n\"}}\n\
         {{\"errorDetail\":{{\"message\":\"{error}\"}},\"error\":\"{error}\"}}\n"
    );
    let _requests = serve(UnixListener::bind(&socket).unwrap(), answers);
    let request = BuildRequest::new(DockerBuild {
        context: FileSet::new(vec![folder.path().to_owned()], Vec::new()),
        dockerfile: "FROM busybox\n\nRUN exit 5\n".into(),
        dockerfile_path: Some("app/Dockerfile".into()),
        ..DockerBuild::default()
    });
    let failure = engine(&socket).build(&request, |_| {}, CancellationToken::new()).await.unwrap_err();
    assert_eq!(failure.message, "`RUN exit 5` failed with exit code 5");
    assert_eq!(failure.location.unwrap().line, 3);
}
