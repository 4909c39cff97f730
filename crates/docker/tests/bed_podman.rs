//! Tests against the socket of Debian's Podman.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests use this machine's files, processes and environment; what cannot be is a bug of the test"
)]

#[path = "support/bed.rs"]
mod bed;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bed::{Context, output, registry, unique};
use lilt_docker::{BuildProgress, BuildRequest, BuiltImage, Engine};
use lilt_model::{Class, Failure};
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(60);

/// Podman with its own images, until the test ends.
struct Podman {
    service: Child,
    folder: tempfile::TempDir,
}

impl Podman {
    async fn new() -> Self {
        // Panics with instructions if the test bed is not up.
        drop(bed::engine());
        let folder = tempfile::Builder::new().prefix("lilt-podman-").tempdir().unwrap();
        let home = folder.path().to_owned();
        let at = |name: &str| home.join(name).display().to_string();
        let registry = registry();
        // The test bed's registry stands for Docker Hub, because there is no network.
        let registries = format!(
            "unqualified-search-registries = [\"docker.io\"]\n\
             [[registry]]\nprefix = \"docker.io\"\nlocation = \"{registry}\"\ninsecure = true\n\
             [[registry]]\nlocation = \"{registry}\"\ninsecure = true\n"
        );
        // Debian's default runtime needs cgroups of systemd.
        let settings = format!(
            "[containers]\nnetns = \"host\"\n[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\n\
             [engine.runtimes]\nrunc = [\"{}\"]\n",
            program("runc")
        );
        std::fs::write(at("registries.conf"), registries).unwrap();
        std::fs::write(at("containers.conf"), settings).unwrap();
        let service = Command::new("podman")
            .args(["--root", &at("root"), "--runroot", &at("run"), "--storage-driver", "vfs"])
            .args(["system", "service", "--time=0", &format!("unix://{}", at("podman.sock"))])
            .env("CONTAINERS_CONF", at("containers.conf"))
            .env("CONTAINERS_REGISTRIES_CONF", at("registries.conf"))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(at("log")).unwrap())
            .spawn()
            .expect("podman is installed: testbed/testbed up does it");
        let podman = Self { service, folder };
        let begin = Instant::now();
        while let Err(failure) = podman.engine().info().await {
            let log = std::fs::read_to_string(at("log")).unwrap_or_default();
            assert!(begin.elapsed() < PATIENCE, "{failure}\n{log}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        podman
    }

    fn engine(&self) -> Engine {
        let host = format!("unix://{}", self.folder.path().join("podman.sock").display());
        let environment = |name: &str| (name == "DOCKER_HOST").then(|| host.clone());
        Engine::connect(&environment, None).expect("it is an address")
    }

    async fn build(&self, request: &BuildRequest) -> (Result<BuiltImage, Failure>, Vec<BuildProgress>) {
        let mut told = Vec::new();
        let engine = self.engine();
        let built = engine.build(request, |progress| told.push(progress), CancellationToken::new()).await;
        (built, told)
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

fn program(name: &str) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let found = path.split(':').map(|folder| Path::new(folder).join(name)).find(|file| file.exists());
    found.expect("the bed has it").display().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn podman_builds_tags_and_pushes() {
    let podman = Podman::new().await;
    let context = Context::new(&[("keep.txt", "kept"), ("secret.key", "")]);
    let mut request = context.request(
        "FROM busybox AS one\nARG WORD\nWORKDIR /app\nCOPY . .\nRUN echo got $WORD && ls\nFROM one\nRUN false\n",
    );
    request.build.context.ignores = vec![lilt_model::files::IgnoreRule {
        base: context.path().to_owned(),
        patterns: vec!["*.key".into()],
    }];
    request.build.build_args = vec![("WORD".into(), "a b".into())];
    request.build.target = "one".into();
    request.build.extra_tags = vec!["podman-extra:1".into()];
    let (built, told) = podman.build(&request).await;
    let built = built.unwrap_or_else(|failure| panic!("{failure}\n{told:#?}"));
    let said = output(&told);
    assert!(["got a b", "keep.txt"].iter().all(|line| said.iter().any(|it| it == line)), "{said:#?}");
    assert!(!said.iter().any(|line| line.contains("secret.key")), "{said:#?}");

    let engine = podman.engine();
    assert_eq!(engine.image_id("podman-extra:1").await.unwrap().as_deref(), Some(built.id.as_str()));
    let reference = format!("{}/{}:tilt-1", registry(), unique("podman"));
    engine.tag(&built.id, &reference).await.unwrap();
    let pushed = engine.push(&reference, |_| {}, CancellationToken::new()).await.unwrap();
    assert!(pushed.digest.starts_with("sha256:"), "{pushed:?}");
    // The test bed's engine finds it there.
    assert_eq!(
        bed::engine().digest_in_registry(&reference).await.unwrap().as_deref(),
        Some(pushed.digest.as_str())
    );

    // The second build comes from the cache and has the same id.
    let (again, told) = podman.build(&request).await;
    assert_eq!(again.unwrap().id, built.id);
    let cached = |it: &BuildProgress| matches!(it, BuildProgress::Finished { name, cached: true, .. } if name.contains("RUN"));
    assert!(told.iter().any(cached), "{told:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn podman_failures_have_location_and_cause() {
    let podman = Podman::new().await;
    let context = Context::new(&[("file", "")]);
    let failed = async |dockerfile: &str, target: &str| {
        let mut request = context.request(dockerfile);
        request.build.target = target.to_owned();
        podman.build(&request).await.0.expect_err("it cannot be built")
    };
    let line = |failure: &Failure| failure.location.as_ref().map(|place| place.line);

    let failure = failed("FROM busybox\nRUN echo before && exit 3\n", "").await;
    assert_eq!((failure.class(), line(&failure)), (Class::User, Some(2)), "{failure}");
    assert!(failure.message.contains("exit code 3"), "{failure}");
    assert!(failure.detail.as_deref().unwrap_or_default().contains("before"), "{failure}");

    let failure = failed("FROM busybox\nCOPY nothing /\n", "").await;
    assert_eq!((failure.class(), line(&failure)), (Class::User, Some(2)), "{failure}");

    let failure = failed("FROM busybox\n", "two").await;
    assert_eq!(failure.class(), Class::User, "{failure}");

    let failure = failed("FROM busybox\nFROB\n", "").await;
    assert_eq!(failure.class(), Class::User, "{failure}");
}
