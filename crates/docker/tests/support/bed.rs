//! Shared code of tests with the test bed's engine.
#![allow(dead_code, reason = "each test target uses its own part of it")]

use std::path::{Path, PathBuf};

use lilt_docker::{BuildProgress, BuildRequest, BuiltImage, Engine};
use lilt_model::Failure;
use lilt_model::files::FileSet;
use lilt_model::image::DockerBuild;
use tokio_util::sync::CancellationToken;

/// Returns the test bed's engine; panics with instructions if the test bed is not up.
pub(crate) fn engine() -> Engine {
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    let up = host.strip_prefix("unix://").is_some_and(|path| Path::new(path).exists());
    assert!(up, "this test needs the test bed: `testbed/testbed up`, then `eval \"$(testbed/testbed env)\"`");
    Engine::connect(&|name| std::env::var(name).ok(), None).expect("the bed's address is one")
}

/// The test bed's registry.
pub(crate) fn registry() -> String {
    std::env::var("LILT_TESTBED_REGISTRY").unwrap_or_else(|_| "localhost:5000".to_owned())
}

/// An image that is removed from the engine at the end of the test.
#[derive(Debug)]
pub(crate) struct Image(pub(crate) BuiltImage);

impl std::ops::Deref for Image {
    type Target = BuiltImage;

    fn deref(&self) -> &BuiltImage {
        &self.0
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let removal =
            std::process::Command::new("docker").args(["image", "rm", "--force", &self.0.id]).output();
        drop(removal);
    }
}

/// A temporary build context.
pub(crate) struct Context {
    directory: tempfile::TempDir,
}

impl Context {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let context = Self { directory: tempfile::tempdir().expect("a temporary folder can be made") };
        for (name, text) in files {
            context.write(name, text);
        }
        context
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder can be made");
        std::fs::write(path, text).expect("the file can be written");
    }

    pub(crate) fn request(&self, dockerfile: &str) -> BuildRequest {
        BuildRequest::new(DockerBuild {
            context: FileSet::new(vec![self.path().to_owned()], Vec::new()),
            dockerfile_path: Some(PathBuf::from("project/Dockerfile")),
            dockerfile: dockerfile.to_owned(),
            ..DockerBuild::default()
        })
    }
}

/// A name that no other test run uses.
pub(crate) fn unique(prefix: &str) -> String {
    let context =
        tempfile::Builder::new().prefix("").rand_bytes(12).tempdir().expect("a temporary folder can be made");
    let random = context.path().file_name().expect("it has a name").to_string_lossy().to_lowercase();
    format!("{prefix}-{random}")
}

pub(crate) async fn build(request: &BuildRequest) -> Result<Image, Failure> {
    build_telling(request).await.0
}

pub(crate) async fn build_telling(request: &BuildRequest) -> (Result<Image, Failure>, Vec<BuildProgress>) {
    let mut told = Vec::new();
    let built = engine().build(request, |progress| told.push(progress), CancellationToken::new()).await;
    (built.map(Image), told)
}

/// Returns the lines that a step printed, to inspect the image that is built.
pub(crate) fn output(told: &[BuildProgress]) -> Vec<String> {
    let lines = told.iter().filter_map(|progress| match progress {
        BuildProgress::Log { line, .. } => Some(line.clone()),
        _ => None,
    });
    lines.collect()
}
