//! Inspects an image for what decides whether its containers can receive live updates without the agent.

use std::path::Path;

use lilt_docker::Engine;
use lilt_docker::image_reader::{Directories, ImageConfiguration, ImageReader, PathInfo};
use lilt_host::files;
use lilt_model::image::{LiveUpdate, Sync};
use lilt_model::image_facts::{Access, Identity, ImageFacts, SyncTarget};
use lilt_model::{Failure, Unreachable};

/// The default of container runtimes.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How often the container for reading an image may be removed by somebody else.
const ATTEMPTS: usize = 5;

pub(super) async fn find(
    engine: &Engine,
    owner: &str,
    configuration: &ImageConfiguration,
    live_update: &LiveUpdate,
) -> Result<ImageFacts, Failure> {
    for _ in 0..ATTEMPTS {
        let reader = engine.open_image(&configuration.id, owner).await?;
        let facts = examine(&reader, configuration, live_update).await;
        // In a container that was removed meanwhile, every file seems to be missing.
        if reader.close().await? {
            return facts;
        }
    }
    let message = "the container through which lilt reads the image was removed meanwhile";
    Err(Failure::environment(message).of_kind(Unreachable::DockerEngine))
}

async fn examine(
    reader: &ImageReader<'_>,
    configuration: &ImageConfiguration,
    live_update: &LiveUpdate,
) -> Result<ImageFacts, Failure> {
    let mut targets = Vec::new();
    for sync in &live_update.syncs {
        targets.push(target(reader, sync).await?);
    }
    Ok(ImageFacts {
        entrypoint: configuration.entrypoint.clone(),
        command: configuration.command.clone(),
        working_directory: configuration.working_directory.clone(),
        // An unknown user counts as root: the image would not start anyway.
        identity: reader.identity(&configuration.user).await?.unwrap_or_default(),
        has_shell: has(reader, configuration, "sh").await?,
        has_tar: has(reader, configuration, "tar").await?,
        targets,
    })
}

async fn has(
    reader: &ImageReader<'_>,
    configuration: &ImageConfiguration,
    program: &str,
) -> Result<bool, Failure> {
    let path = configuration.environment.iter().find_map(|variable| variable.strip_prefix("PATH="));
    for folder in path.unwrap_or(USUAL_PATH).split(':').filter(|folder| folder.starts_with('/')) {
        let found = reader.find(&format!("{folder}/{program}")).await?;
        if found.is_some_and(|found| !found.directory && found.mode & 0o111 != 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the target of a sync. Whether it is a directory is decided by the local path, or else by the image.
async fn target(reader: &ImageReader<'_>, sync: &Sync) -> Result<SyncTarget, Failure> {
    let path = sync.container.trim_end_matches('/');
    let name = sync.local.file_name().map(|name| name.to_string_lossy().into_owned());
    let in_image = reader.find(if path.is_empty() { "/" } else { path }).await?;
    let is_directory = match files::is_directory(&sync.local) {
        Some(is_directory) => is_directory,
        None => in_image.as_ref().is_none_or(|found| found.directory),
    };
    let file = match (is_directory, sync.container.ends_with('/'), name) {
        (true, ..) => None,
        (false, true, Some(name)) => Some(format!("{path}/{name}")),
        (false, ..) => Some(path.to_owned()),
    };
    let directory = match &file {
        Some(file) => file.rsplit_once('/').map_or("", |(folder, _)| folder),
        None => path,
    };
    let directory = if directory.is_empty() { "/" } else { directory }.to_owned();
    let access = access(reader, &directory).await?;
    let inner = match (&file, in_image) {
        (None, Some(_)) => inner(reader, &directory, access).await?,
        _ => Vec::new(),
    };
    Ok(SyncTarget { directory, file, access, inner })
}

/// Returns the access rights of inner directories that differ from the outer one's.
async fn inner(reader: &ImageReader<'_>, directory: &str, outer: Access) -> Result<Vec<Access>, Failure> {
    let directories = reader.directories(directory).await?;
    Ok(differing(&directories, outer))
}

fn differing(directories: &Directories, outer: Access) -> Vec<Access> {
    let mut inner: Vec<Access> = Vec::new();
    let found = directories.found.iter();
    let found = found.map(|it| Access { owner: Identity { user: it.user, group: it.group }, mode: it.mode });
    // Directories that were not listed may belong to root, as most in images do.
    let unseen = Access { owner: Identity { user: 0, group: 0 }, mode: 0o755 };
    for access in found.chain((!directories.complete).then_some(unseen)) {
        if access != outer && !inner.contains(&access) {
            inner.push(access);
        }
    }
    inner
}

/// Returns the access rights of a directory, or of its closest existing parent.
async fn access(reader: &ImageReader<'_>, directory: &str) -> Result<Access, Failure> {
    for path in Path::new(directory).ancestors() {
        if let Some(PathInfo { mode, user, group, .. }) = reader.find(&path.to_string_lossy()).await? {
            return Ok(Access { owner: Identity { user, group }, mode });
        }
    }
    Ok(Access::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlisted_directories_may_belong_to_root() {
        let own = Access { owner: Identity { user: 7, group: 7 }, mode: 0o755 };
        let found = vec![PathInfo { directory: true, mode: 0o755, user: 7, group: 7 }];
        let seen = Directories { found, complete: true };
        assert_eq!(differing(&seen, own), []);
        let inner = differing(&Directories { complete: false, ..seen }, own);
        assert!(inner.iter().any(|access| !access.lets_write(own.owner)));
    }
}
