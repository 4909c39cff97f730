//! `ExtensionRepo` and `Extension`: third-party code that is fetched, and loaded as a Tiltfile of its own.

use std::path::PathBuf;

use lilt_api::{
    Content, ExtensionRepoSpec, ExtensionRepoStatus, ExtensionStatus, Object, ObjectKey, ObjectKind,
    RestartOnSpec, TiltfileSpec, Time,
};
use lilt_model::{Failure, ResourceName};
use serde::Serialize;

use super::{ANNOTATION_RESOURCE, ObjectRecord, Origin, Run, delete, put};
use crate::event::{ProvidedRepository, WatchId};
use crate::plan::Plan;
use crate::state::State;
use crate::task::{RepositorySource, Task};

/// The repository that is available without a declaration.
const DEFAULT: (&str, &str) = ("default", "https://github.com/tilt-dev/tilt-extensions");
/// An extension that was loaded for its functions is not loaded once more on its own.
const MANAGED_BY: &str = "tilt.dev/managed-by";

/// A fetch of a repository, or the search for an extension in one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Search<T> {
    /// The number of the current run.
    run: u64,
    sought: Option<T>,
}

impl<T> Default for Search<T> {
    fn default() -> Self {
        Self { run: 0, sought: None }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct RepositoryRun {
    search: Search<RepositorySource>,
    found: Option<Result<ProvidedRepository, String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ExtensionRun {
    search: Search<(RepositorySource, String)>,
    found: Option<Result<PathBuf, String>>,
}

impl RepositoryRun {
    pub(super) fn is_coming(&self) -> bool {
        self.found.is_none()
    }

    pub(super) fn status(&self) -> ExtensionRepoStatus {
        match &self.found {
            None => ExtensionRepoStatus::default(),
            Some(Err(error)) => {
                ExtensionRepoStatus { error: error.clone(), ..ExtensionRepoStatus::default() }
            }
            Some(Ok(found)) => ExtensionRepoStatus {
                checkout_ref: found.commit.clone().unwrap_or_default(),
                error: String::new(),
                last_fetched_at: Some(Time(found.fetched)),
                path: found.path.display().to_string(),
                stale_reason: found.stale.clone().unwrap_or_default(),
            },
        }
    }
}

impl ExtensionRun {
    pub(super) fn is_coming(&self) -> bool {
        self.found.is_none()
    }

    pub(super) fn status(&self) -> ExtensionStatus {
        match &self.found {
            None => ExtensionStatus::default(),
            Some(Err(error)) => ExtensionStatus { error: error.clone(), path: String::new() },
            Some(Ok(path)) => ExtensionStatus { error: String::new(), path: path.display().to_string() },
        }
    }
}

fn source(name: &str, spec: &ExtensionRepoSpec) -> RepositorySource {
    RepositorySource {
        name: name.to_owned(),
        url: spec.url.clone(),
        reference: spec.reference.clone(),
        subpath: spec.git_subpath.clone(),
    }
}

pub(super) fn reconcile_repository(state: &mut State, key: &ObjectKey) {
    let number = state.next_sequence();
    let Some(ObjectRecord { content: Content::ExtensionRepo(repository), run: Run::Repository(run), .. }) =
        state.objects.records.get_mut(key)
    else {
        return;
    };
    let source = source(&key.name, &repository.spec);
    if run.search.sought.as_ref() != Some(&source) {
        *run = RepositoryRun { search: Search { run: number, sought: Some(source) }, found: None };
        state.objects.touch(key);
    }
}

pub(crate) fn fetched(state: &mut State, name: &str, run: u64, outcome: Result<ProvidedRepository, Failure>) {
    let key = ObjectKey::new(ObjectKind::ExtensionRepo, name);
    if let Some(ObjectRecord { run: Run::Repository(known), .. }) = state.objects.records.get_mut(&key)
        && known.search.run == run
    {
        known.found = Some(outcome.map_err(|failure| failure.to_string()));
        state.objects.touch(&key);
        super::changed(state, &key);
    }
}

/// Returns the repository of an extension, or the reason why there is none; none while it is being fetched.
fn repository(state: &State, name: &str) -> Option<Result<RepositorySource, String>> {
    let Some(record) = state.objects.get(ObjectKind::ExtensionRepo, name) else {
        let known =
            RepositorySource { name: name.to_owned(), url: DEFAULT.1.to_owned(), ..Default::default() };
        return Some(if name == DEFAULT.0 {
            Ok(known)
        } else {
            Err(format!("extension repo not found: {name}"))
        });
    };
    let Run::Repository(run) = &record.run else { return None };
    match &run.found {
        None => None,
        Some(Err(_)) => Some(Err(format!("extension repo not loaded: {name}"))),
        Some(Ok(_)) => run.search.sought.clone().map(Ok),
    }
}

pub(super) fn reconcile(state: &mut State, key: &ObjectKey) {
    let number = state.next_sequence();
    let Some(ObjectRecord { content: Content::Extension(extension), .. }) = state.objects.records.get(key)
    else {
        return;
    };
    let path = extension.spec.repo_path.clone();
    let repository = repository(state, &extension.spec.repo_name);
    let Some(ObjectRecord { run: Run::Extension(run), .. }) = state.objects.records.get_mut(key) else {
        return;
    };
    let next = match repository {
        None => ExtensionRun::default(),
        Some(Err(error)) => ExtensionRun { found: Some(Err(error)), ..ExtensionRun::default() },
        Some(Ok(source)) => {
            let sought = Some((source, path));
            if run.search.sought == sought {
                run.clone()
            } else {
                ExtensionRun { search: Search { run: number, sought }, found: None }
            }
        }
    };
    if *run != next {
        *run = next;
        state.objects.touch(key);
    }
    keep_tiltfile(state, key);
}

pub(crate) fn found(state: &mut State, name: &str, run: u64, outcome: Result<PathBuf, Failure>) {
    let key = ObjectKey::new(ObjectKind::Extension, name);
    if let Some(ObjectRecord { run: Run::Extension(known), .. }) = state.objects.records.get_mut(&key)
        && known.search.run == run
    {
        known.found = Some(outcome.map_err(|failure| failure.to_string()));
        state.objects.touch(&key);
        keep_tiltfile(state, &key);
    }
}

/// Creates or updates the `Tiltfile` of an extension that was found.
fn keep_tiltfile(state: &mut State, key: &ObjectKey) {
    let Some(ObjectRecord {
        object,
        content: Content::Extension(extension),
        uid,
        run: Run::Extension(run),
        ..
    }) = state.objects.records.get(key).cloned()
    else {
        return;
    };
    let tiltfile = ObjectKey::new(ObjectKind::Tiltfile, &key.name);
    let managed = object.annotation(MANAGED_BY).is_some_and(|by| !by.is_empty());
    let path = match &run.found {
        // During a search, the extension that was found before stays.
        None => return,
        Some(Ok(path)) if !managed => path,
        Some(_) => return delete_owned(state, &tiltfile, &uid),
    };
    let label = format!("extension.{}", key.name);
    let watch = WatchId::Tiltfile(ResourceName::new(&key.name)).name();
    let mut wanted = match state.objects.records.get(&tiltfile) {
        Some(record) => record.object.clone(),
        None => Object::named(&key.name),
    };
    wanted.annotate_if_absent(ANNOTATION_RESOURCE, &key.name);
    wanted.set_owner(key, &uid);
    wanted.set_spec(&TiltfileSpec {
        args: extension.spec.args,
        labels: [(label.clone(), label)].into(),
        path: path.display().to_string(),
        restart_on: Some(RestartOnSpec { file_watches: vec![watch], ui_buttons: Vec::new() }),
        stop_on: None,
    });
    if state.objects.records.get(&tiltfile).is_none_or(|record| record.object != wanted) {
        let sequence = state.next_sequence();
        put(state, tiltfile, wanted, format!("extension-{sequence}"), Origin::Object);
    }
}

fn delete_owned(state: &mut State, tiltfile: &ObjectKey, owner: &str) {
    let belongs = |record: &ObjectRecord| record.object.owner_uids().any(|uid| uid == owner);
    if state.objects.records.get(tiltfile).is_some_and(belongs) {
        delete(state, tiltfile, false);
    }
}

/// Fetches a repository until that succeeds. A fetched repository is not updated during the session.
pub(super) fn plan_repository(key: &ObjectKey, run: &RepositoryRun) -> Plan {
    let is_there = matches!(run.found, Some(Ok(_)));
    let Some(source) = run.search.sought.clone().filter(|_| !is_there) else { return Plan::new() };
    Plan::from([Task::Repository { name: key.name.clone(), run: run.search.run, source }])
}

pub(super) fn plan(key: &ObjectKey, run: &ExtensionRun) -> Plan {
    let Some((source, path)) = run.search.sought.clone().filter(|_| run.found.is_none()) else {
        return Plan::new();
    };
    Plan::from([Task::Extension { name: key.name.clone(), run: run.search.run, source, path }])
}

/// Handles a fetch that failed because of a bug.
pub(crate) fn repository_broke(state: &mut State, name: &str, failure: Failure) {
    if let Some(Run::Repository(run)) =
        state.objects.get(ObjectKind::ExtensionRepo, name).map(|record| &record.run)
    {
        let number = run.search.run;
        fetched(state, name, number, Err(failure));
    }
}

pub(crate) fn extension_broke(state: &mut State, name: &str, failure: Failure) {
    if let Some(Run::Extension(run)) =
        state.objects.get(ObjectKind::Extension, name).map(|record| &record.run)
    {
        let number = run.search.run;
        found(state, name, number, Err(failure));
    }
}
