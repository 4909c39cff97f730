//! Watches a set of files. The set may change without an event being missed.

use std::path::PathBuf;

use lilt_engine::{Event, FileChanges, Task, WatchId};
use lilt_host::files::{self, read};
use lilt_host::watch::{Labelled, Subscription};
use lilt_model::Failure;
use lilt_model::files::{Existence, IgnoreRule};
use lilt_model::log::{Level, Source};
use lilt_model::{ResourceName, SpanId};
use lilt_store::Span;
use tokio::sync::watch::Receiver;

use crate::context::Context;
use crate::runner::FileWatcher;

/// How many files of a burst are asked when they were written.
const SAMPLE: usize = 20;

pub(crate) async fn run(context: Context, watcher: FileWatcher, id: WatchId, mut spec: Receiver<Task>) {
    let mut subscription = subscribe(&context, &watcher, &id, &mut spec).await;
    loop {
        let next = async {
            match &mut subscription {
                Some(subscription) => subscription.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = context.cancel.cancelled() => return,
            changed = spec.changed() => {
                if changed.is_err() {
                    return;
                }
                // The new one is placed before the old one goes, and what only the old one has seen is reported.
                let old = std::mem::replace(&mut subscription, subscribe(&context, &watcher, &id, &mut spec).await);
                if let (Some(old), Some(new)) = (old, &mut subscription) {
                    let seen = new.take_over(old).await;
                    report(&context, seen.unwrap_or_default()).await;
                }
            }
            batches = next => match batches {
                Some(batches) => report(&context, batches).await,
                None => subscription = None,
            }
        }
    }
}

/// Reports what watches of one group have seen of a burst, in one event.
async fn report(context: &Context, batches: Vec<Labelled<Option<WatchId>>>) {
    let mut changes = Vec::new();
    for Labelled { label, batch, .. } in batches {
        let Some(id) = label else { continue };
        if let Some(failure) = &batch.problem {
            report_trouble(context, &id, failure).await;
        }
        if let Some(notice) = &batch.notice {
            span(context, &id).print(Level::Warn, &format!("WARNING: {notice}"));
        }
        let mut paths = batch.paths;
        if batch.lost {
            if let WatchId::Object(_) = id {
                // To an object, a directory is one that is gone or took the place of another.
                paths.retain(|path| files::is_directory(path) != Some(true));
            }
            context.send(Event::ChangesLost { watch: id.clone() }).await;
        }
        if !paths.is_empty() {
            changes.push(file_changes(id, paths, batch.existence));
        }
    }
    if !changes.is_empty() {
        context.send(Event::FilesChanged { changes }).await;
    }
}

fn file_changes(watch: WatchId, paths: Vec<PathBuf>, existence: Existence) -> FileChanges {
    let written = paths.iter().take(SAMPLE).filter_map(|path| files::modified_time(path)).max();
    FileChanges { watch, paths, existence, written }
}

/// Returns when every watch is placed: no later change is missed.
async fn subscribe(
    context: &Context,
    watcher: &FileWatcher,
    id: &WatchId,
    spec: &mut Receiver<Task>,
) -> Option<Subscription<Option<WatchId>>> {
    let (version, mut files, contents, options) = match &*spec.borrow_and_update() {
        Task::Watch { version, files, contents, options, .. } => {
            (*version, files.clone(), contents.clone(), options.clone())
        }
        _ => return None,
    };
    files.ignores.extend(context.settings.output.iter().map(IgnoreRule::path));
    let subscription = match watcher.subscribe_with(Some(id.clone()), files, options) {
        Ok(mut subscription) => {
            if let Err(failure) = subscription.ready().await {
                report_trouble(context, id, &failure).await;
            }
            Some(subscription)
        }
        Err(failure) => {
            report_trouble(context, id, &failure).await;
            None
        }
    };
    // Only now: a save between reading a file and placing its watch would be lost.
    let paths = contents.outdated(|path| read(path));
    if !paths.is_empty() {
        context.send(file_changes(id.clone(), paths, Existence::default()).into()).await;
    }
    // Also if some files cannot be watched: that was reported above, and waiting would not help.
    context.send(Event::Watching { watch: id.clone(), version }).await;
    subscription
}

async fn report_trouble(context: &Context, id: &WatchId, failure: &Failure) {
    let message = format!("ERROR: changes to files may be missed: {failure}");
    span(context, id).print(Level::Error, &message);
    context.send(Event::WatchTroubled { watch: id.clone(), failure: failure.clone() }).await;
}

fn span(context: &Context, id: &WatchId) -> Span {
    let resource = match id {
        WatchId::Tiltfile(name) | WatchId::Local(name) | WatchId::Image(name, _) | WatchId::Deploy(name) => {
            name.clone()
        }
        WatchId::Object(name) => ResourceName::new(name),
    };
    context.logs.span(SpanId::from(format!("watch:{resource}")), Some(resource), Source::Build)
}
