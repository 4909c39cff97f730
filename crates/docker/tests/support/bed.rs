//! What the tests against the test bed's engine share.

use std::path::{Path, PathBuf};

use lilt_docker::{BuildProgress, BuildRequest, BuiltImage, Engine};
use lilt_model::Failure;
use lilt_model::files::FileSet;
use lilt_model::image::DockerBuild;
use tokio_util::sync::CancellationToken;

/// The bed's engine; says what to do if the bed is not up.
pub fn engine() -> Engine {
    let up = std::env::var("DOCKER_HOST").is_ok_and(|host| host.contains("testbed"));
    assert!(up, "this test needs the test bed: `testbed/testbed up`, then `eval \"$(testbed/testbed env)\"`");
    Engine::connect(&|name| std::env::var(name).ok(), None).unwrap()
}

/// A temporary build context.
pub struct Context {
    directory: tempfile::TempDir,
}

impl Context {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let context = Self { directory: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            context.write(name, text);
        }
        context
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn request(&self, dockerfile: &str) -> BuildRequest {
        BuildRequest::new(DockerBuild {
            context: FileSet { roots: vec![self.path().to_owned()], ignores: Vec::new() },
            dockerfile_path: Some(PathBuf::from("project/Dockerfile")),
            dockerfile: dockerfile.to_owned(),
            build_args: Vec::new(),
            target: String::new(),
            platform: String::new(),
            network: String::new(),
            extra_tags: Vec::new(),
            cache_from: Vec::new(),
            extra_hosts: Vec::new(),
            pull: false,
        })
    }
}

/// A name that no other test run uses.
pub fn unique(prefix: &str) -> String {
    let context = tempfile::Builder::new().prefix("").rand_bytes(12).tempdir().unwrap();
    let random = context.path().file_name().unwrap().to_string_lossy().to_lowercase();
    format!("{prefix}-{random}")
}

pub async fn build(request: &BuildRequest) -> Result<BuiltImage, Failure> {
    build_telling(request).await.0
}

pub async fn build_telling(request: &BuildRequest) -> (Result<BuiltImage, Failure>, Vec<BuildProgress>) {
    let mut told = Vec::new();
    let built = engine().build(request, |progress| told.push(progress), CancellationToken::new()).await;
    (built, told)
}

/// The lines that a step of the build printed, for looking into the image that is built.
pub fn output(told: &[BuildProgress]) -> Vec<String> {
    let lines = told.iter().filter_map(|progress| match progress {
        BuildProgress::Log { line, .. } => Some(line.clone()),
        _ => None,
    });
    lines.collect()
}
