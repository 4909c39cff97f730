//! Follows a set of files; it may change while running without a change being missed.

use lilt_engine::{Event, TaskSpec, WatchId};
use lilt_host::watch::Subscription;
use lilt_model::Failure;
use lilt_model::files::FileSet;
use lilt_model::log::{Level, Source};
use lilt_model::{ResourceName, SpanId};
use tokio::sync::watch::Receiver;

use crate::context::Context;

pub(crate) async fn run(context: Context, id: WatchId, mut spec: Receiver<TaskSpec>) {
    let mut subscription = subscribe(&context, &id, &mut spec);
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
                // The new one is placed before the old one goes.
                subscription = subscribe(&context, &id, &mut spec);
            }
            batch = batch => match batch {
                Some(batch) => context.tell(Event::FilesChanged { watch: id.clone(), paths: batch.paths }).await,
                None => subscription = None,
            },
        }
    }
}

fn subscribe(context: &Context, id: &WatchId, spec: &mut Receiver<TaskSpec>) -> Option<Subscription> {
    let files = match &*spec.borrow_and_update() {
        TaskSpec::Watch { files } => files.clone(),
        _ => FileSet::default(),
    };
    match context.edges.watcher.subscribe(files) {
        Ok(subscription) => Some(subscription),
        Err(failure) => {
            complain(context, id, &failure);
            None
        }
    }
}

fn complain(context: &Context, id: &WatchId, failure: &Failure) {
    let resource = match id {
        WatchId::Tiltfile => ResourceName::tiltfile(),
        WatchId::Local(name) | WatchId::Image(name, _) => name.clone(),
    };
    let mut span =
        context.logs.span(SpanId::from(format!("watch:{resource}")), Some(resource), Source::Build);
    span.print(Level::Error, &format!("ERROR: files are not watched: {failure}"));
}
