//! Extensions and repositories that are API objects of a session, without a Tiltfile that loads them.

use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use lilt_model::Failure;

use super::registered::RepositorySpec;
use super::repository::Repository;
use super::{bundled, extension_file};
use crate::halt::Halt;
use crate::load_state::LoadState;
use crate::messages::LoadMessage;
use crate::progress::Position;
use crate::request::LoadRequest;
use crate::system::System;
use crate::{environment, failure};

/// The declaration of a repository of extensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtensionSource {
    pub name: String,
    pub url: String,
    /// Empty: the newest.
    pub reference: String,
    /// The folder in the repository that contains the extensions.
    pub subpath: String,
}

/// A repository on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvidedExtensions {
    pub path: PathBuf,
    /// The commit that is checked out; none for a local folder.
    pub commit: Option<String>,
    /// How long ago it was fetched or written; none if that is not known.
    pub age: Option<Duration>,
    /// Why it may be outdated.
    pub stale: Option<String>,
}

impl ExtensionSource {
    fn repository(&self) -> Repository {
        let Self { name, url, reference, subpath } = self.clone();
        Repository::new(RepositorySpec { name, url, reference, subpath })
    }
}

/// Fetches a repository. Blocks; `request` has the environment of commands, and its path the folder.
pub fn provide_repository(
    source: &ExtensionSource,
    request: &LoadRequest,
    system: &dyn System,
    cancelled: &(dyn Fn() -> bool + Sync),
    print: &mut dyn FnMut(LoadMessage<'_>),
) -> Result<ProvidedExtensions, Failure> {
    in_session(request, system, cancelled, print, |state| {
        let repository = source.repository();
        if repository.is_replaced_by_bundled() {
            // The bundled extensions come first; others are fetched when they are loaded.
            let path = bundled::folder(state)?;
            return Ok(ProvidedExtensions { path, commit: None, age: None, stale: None });
        }
        let (path, stale) = repository.provide(state)?;
        let (commit, age) = repository.describe(state, &path)?;
        Ok(ProvidedExtensions { path, commit, age, stale })
    })
}

/// Returns the Tiltfile of an extension at a path of a repository. Blocks.
pub fn find_extension(
    source: &ExtensionSource,
    path: &str,
    name: &str,
    request: &LoadRequest,
    system: &dyn System,
    cancelled: &(dyn Fn() -> bool + Sync),
    print: &mut dyn FnMut(LoadMessage<'_>),
) -> Result<PathBuf, Failure> {
    in_session(request, system, cancelled, print, |state| {
        extension_file(state, &source.repository(), path, name)
    })
}

/// Runs something that may print, as a load does; `print` gets the messages on this thread.
fn in_session<T: Send>(
    request: &LoadRequest,
    system: &dyn System,
    cancelled: &(dyn Fn() -> bool + Sync),
    print: &mut dyn FnMut(LoadMessage<'_>),
    work: impl FnOnce(&LoadState<'_>) -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    // Bounded, as that of a load.
    let (printed, messages) = sync_channel(64);
    let halt = Halt::default();
    let asked = halt.clone();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            environment::begin(system.environment(), &request.environment);
            work(&LoadState::new(request, system, cancelled, asked, Position::default(), printed))
        });
        halt.supervise(&messages, Position::default(), system, cancelled, print);
        worker.join().unwrap_or_else(|panic| Err(failure::of_panic(&*panic)))
    })
}
