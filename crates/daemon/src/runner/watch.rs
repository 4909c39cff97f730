//! Watches a set of files. The set may change without an event being missed.

use std::path::PathBuf;

use lilt_engine::{Event, Task, WatchId};
use lilt_host::files::{self, read};
use lilt_host::watch::{Batch, Subscription};
use lilt_model::Failure;
use lilt_model::files::{Existence, IgnoreRule};
use lilt_model::log::{Level, Source};
use lilt_model::{ResourceName, SpanId};
use lilt_store::Span;
use tokio::sync::watch::Receiver;

use crate::context::Context;

/// How many files of a batch are checked for their modification time.
const SAMPLE: usize = 20;

pub(crate) async fn run(context: Context, id: WatchId, mut spec: Receiver<Task>) {
    let mut subscription = subscribe(&context, &id, &mut spec).await;
    loop {
        let batch = async {
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
                // The new watch is in place before the old one ends. Events that only the old one has seen are sent.
                let old = std::mem::replace(&mut subscription, subscribe(&context, &id, &mut spec).await);
                if let (Some(old), Some(new)) = (old, &mut subscription) {
                    let seen = new.take_over(old).await;
                    send_batch(&context, &id, seen).await;
                }
            }
            batch = batch => {
                if batch.is_none() {
                    subscription = None;
                }
                send_batch(&context, &id, batch).await;
            }
        }
    }
}

async fn send_batch(context: &Context, id: &WatchId, batch: Option<Batch>) {
    let Some(batch) = batch else { return };
    if let Some(failure) = &batch.problem {
        report_trouble(context, id, failure).await;
    }
    if let Some(notice) = &batch.notice {
        let mut span = span(context, id);
        span.print(Level::Warn, &format!("WARNING: {notice}"));
    }
    let mut paths = batch.paths;
    if batch.lost {
        if let WatchId::Object(_) = id {
            // For API objects, a reported directory means that it was deleted or replaced.
            paths.retain(|path| files::is_directory(path) != Some(true));
        }
        context.send(Event::ChangesLost { watch: id.clone() }).await;
    }
    if !paths.is_empty() {
        send_changed(context, id, paths, batch.existence, batch.companions).await;
    }
}

async fn send_changed(
    context: &Context,
    id: &WatchId,
    paths: Vec<PathBuf>,
    existence: Existence,
    companions: usize,
) {
    // A sample of the batch is enough.
    let written = paths.iter().take(SAMPLE).filter_map(|path| files::modified_time(path)).max();
    context.send_with(Event::FilesChanged { watch: id.clone(), paths, existence, written }, companions).await;
}

/// Returns when every watch is in place: no later change is missed.
async fn subscribe(context: &Context, id: &WatchId, spec: &mut Receiver<Task>) -> Option<Subscription> {
    let (version, mut files, contents, manner) = match &*spec.borrow_and_update() {
        Task::Watch { version, files, contents, manner, .. } => {
            (*version, files.clone(), contents.clone(), manner.clone())
        }
        _ => return None,
    };
    files.ignores.extend(context.settings.output.iter().map(IgnoreRule::path));
    let subscription = match context.edges.watcher.subscribe_with(files, manner) {
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
    // Compared after the watch is in place: a save between the two would be lost otherwise.
    let paths = contents.outdated(|path| read(path));
    if !paths.is_empty() {
        send_changed(context, id, paths, Existence::default(), 0).await;
    }
    // Also if some files cannot be watched: that was reported above, and waiting would not help.
    context.send(Event::Watching { watch: id.clone(), version }).await;
    subscription
}

async fn report_trouble(context: &Context, id: &WatchId, failure: &Failure) {
    let words = format!("ERROR: changes to files may be missed: {failure}");
    span(context, id).print(Level::Error, &words);
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
