//! Builders of `docker buildx`. This one is the BuildKit of the test bed's engine, reached as a remote builder.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests use this machine's files, processes and environment; what cannot be is a bug of the test"
)]

#[path = "support/bed.rs"]
mod bed;

use std::path::Path;
use std::process::Command;

use bed::{Context, Image, output};
use lilt_docker::{BuildProgress, BuildRequest, Engine, SshSource};
use lilt_model::Failure;
use lilt_model::files::IgnoreRule;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

/// A builder in a Docker configuration of the test.
struct Builder {
    folder: tempfile::TempDir,
}

impl Builder {
    async fn new() -> Self {
        let builder = Self { folder: tempfile::tempdir().unwrap() };
        let socket = builder.folder.path().join("buildkit.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(bridge(client));
            }
        });
        // The plugins of the test bed's configuration, which must not change.
        let plugins = Path::new(&std::env::var("DOCKER_CONFIG").unwrap()).join("cli-plugins");
        std::os::unix::fs::symlink(plugins, builder.folder.path().join("cli-plugins")).unwrap();
        builder.docker(&[
            "buildx",
            "create",
            "--driver",
            "remote",
            "--name",
            "far",
            &format!("unix://{}", socket.display()),
        ]);
        builder
    }

    fn config(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    fn docker(&self, arguments: &[&str]) {
        let ended =
            Command::new("docker").args(arguments).env("DOCKER_CONFIG", self.config()).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
    }

    async fn build(
        &self,
        request: &BuildRequest,
        named: &str,
    ) -> (Result<Image, Failure>, Vec<BuildProgress>) {
        let environment = |name: &str| match name {
            "DOCKER_CONFIG" => Some(self.config().to_owned()),
            "BUILDX_BUILDER" => Some(named.to_owned()),
            _ => std::env::var(name).ok(),
        };
        let engine = Engine::connect(&environment, None).unwrap();
        let mut told = Vec::new();
        let built = engine.build(request, |progress| told.push(progress), CancellationToken::new()).await;
        (built.map(Image), told)
    }
}

/// The engine passes connections to its BuildKit.
async fn bridge(mut client: UnixStream) {
    let engine = bed::engine().address().trim_start_matches("unix://").to_owned();
    let mut engine = UnixStream::connect(engine).await.unwrap();
    let request = "POST /grpc HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
    engine.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(engine.read_u8().await.unwrap());
    }
    let _ = tokio::io::copy_bidirectional(&mut client, &mut engine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chosen_builder_is_used() {
    let builder = Builder::new().await;
    let context = Context::new(&[
        ("keep.txt", "kept"),
        ("secret.key", ""),
        ("node_modules/x/y.js", ""),
        ("docs/a.md", ""),
        ("docs/keep.md", ""),
        ("odd/[x]*.txt", ""),
        ("odd/x.txt", ""),
        (".dockerignore", "keep.txt\n"),
    ]);
    let dockerfile = format!(
        "FROM busybox AS one\nARG WORD\nWORKDIR /app\nCOPY . .\n\
         RUN --mount=type=secret,id=token : {} && echo got $WORD && cat /run/secrets/token && find . | sort\nFROM one\nRUN false\n",
        context.path().display()
    );
    let mut request = context.request(&dockerfile);
    let rule = |patterns: &[&str]| IgnoreRule {
        base: context.path().to_owned(),
        patterns: patterns.iter().map(|pattern| (*pattern).to_owned()).collect(),
    };
    // More than one list with exceptions, which a .dockerignore cannot express.
    request.build.context.ignores =
        vec![rule(&["*.key", "node_modules", "docs", "!docs/keep.md"]), rule(&["odd", "!odd/x.txt"])];
    request.build.build_args = vec![("WORD".into(), "a b".into())];
    request.build.target = "one".into();
    request.secrets.insert("token".into(), b"s3cret\n".to_vec());

    builder.docker(&["buildx", "use", "far"]);
    let (built, told) = builder.build(&request, "").await;
    let image = built.unwrap();
    assert!(image.id.starts_with("sha256:"), "{image:?}");
    let expected = [
        "got a b",
        "s3cret",
        ".",
        "./.dockerignore",
        "./docs",
        "./docs/keep.md",
        "./keep.txt",
        "./odd",
        "./odd/x.txt",
    ];
    assert_eq!(output(&told), expected);
    let labels = ["image", "inspect", "--format", "{{index .Config.Labels \"dev.tilt.built\"}}", &image.id];
    let labels = Command::new("docker").args(labels).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&labels.stdout).trim(), "true");
    // The same content results in the same image, and steps come from the cache.
    let (again, told) = builder.build(&request, "").await;
    assert_eq!(again.unwrap().id, image.id);
    assert!(told.iter().any(|progress| matches!(progress, BuildProgress::Finished { cached: true, .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_argument_reaches_the_builder() {
    let builder = Builder::new().await;
    let key = builder.folder.path().join("key");
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status();
    assert!(made.unwrap().success());
    let context = Context::new(&[]);
    let dockerfile = format!(
        "FROM busybox\nRUN --mount=type=ssh : {} && ls /sys/class/net && grep far.example /etc/hosts && test -S \"$SSH_AUTH_SOCK\"\n",
        context.path().display()
    );
    let mut request = context.request(&dockerfile);
    let named = format!("{}:other", bed::unique("lilt-buildx"));
    request.build.network = "none".into();
    request.build.extra_hosts = vec!["far.example:10.9.8.7".into()];
    request.build.extra_tags = vec![named.clone()];
    request.build.cache_from = vec![format!("{}/{}:cache", bed::registry(), bed::unique("lilt-cache"))];
    request.ssh = [("default".to_owned(), SshSource::Keys(vec![key]))].into();
    let (built, told) = builder.build(&request, "far").await;
    let image = built.unwrap();
    assert_eq!(output(&told), ["lo", "10.9.8.7\tfar.example"]);
    let imports = |progress: &BuildProgress| matches!(progress, BuildProgress::Started { name, .. } if name.contains(&request.build.cache_from[0]));
    assert!(told.iter().any(imports), "{told:?}");
    assert_eq!(bed::engine().image_id(&named).await.unwrap().as_deref(), Some(image.id.as_str()));

    // The unreachable registry only matters if newer base images are requested.
    let mut request = context.request("FROM localhost:1/nobody:v1\n");
    request.build.pull = true;
    let failure = builder.build(&request, "far").await.0.err().unwrap();
    assert!(failure.to_string().contains("localhost:1/nobody:v1"), "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_have_location_and_cause() {
    let builder = Builder::new().await;
    let context = Context::new(&[]);
    let dockerfile =
        format!("FROM busybox\n\nRUN : {} && echo why \\\n && exit 3\n", context.path().display());
    let failure = builder.build(&context.request(&dockerfile), "far").await.0.err().unwrap();
    assert!(failure.message.ends_with("failed with exit code 3"), "{failure}");
    assert_eq!(failure.location.as_ref().map(|location| location.line), Some(3));
    assert_eq!(failure.detail.as_deref(), Some("why"));

    let failure = builder.build(&context.request("FROM busybox\nRUNN x\n"), "far").await.0.err().unwrap();
    assert_eq!(failure.location.as_ref().map(|location| location.line), Some(2), "{failure}");

    let failure = builder.build(&context.request("FROM busybox\n"), "nobody").await.0.err().unwrap();
    assert!(failure.message.contains("nobody"), "{failure}");
}

/// With the engine's own builder, images for several platforms are built by buildx.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_platforms_in_one_image() {
    let context = Context::new(&[("file", &bed::unique("x"))]);
    let mut request = context.request("FROM scratch\nCOPY file /\n");
    request.build.platform = "linux/amd64,linux/arm64".into();
    let built = bed::build(&request).await.unwrap();
    for platform in ["linux/amd64", "linux/arm64"] {
        let look = ["image", "inspect", "--platform", platform, &built.id];
        let looked = Command::new("docker").args(look).output().unwrap();
        assert!(looked.status.success(), "{looked:?}");
    }
}
