//! Fetches repositories of extensions, and finds extensions in them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lilt_engine::{Event, ProvidedRepository, RepositorySource};
use lilt_model::log::{Level, Source};
use lilt_model::{Failure, ResourceName, SpanId};
use lilt_store::Span;
use lilt_tiltfile::{ExtensionSource, LoadMessage, LoadRequest};

use super::load::CancelOnDrop;
use crate::context::Context;
use crate::host_system::HostSystem;

const FIRST_DELAY: Duration = Duration::from_secs(5);
const LONGEST_DELAY: Duration = Duration::from_secs(300);

/// Fetches a repository, with retries until it succeeds or is cancelled.
pub(crate) async fn fetch(context: Context, name: String, run: u64, source: RepositorySource) {
    let mut delay = FIRST_DELAY;
    loop {
        let source = extension_source(&source);
        let fetched =
            run_blocking(&context, span(&context, &name), move |request, system, cancelled, print| {
                lilt_tiltfile::provide_repository(&source, request, system, cancelled, print)
            });
        let Some(fetched) = fetched.await else { return };
        let outcome = fetched.map(|provided| ProvidedRepository {
            path: provided.path,
            commit: provided.commit,
            fetched: provided.age.map_or_else(lilt_host::clock::now, before),
            stale: provided.stale,
        });
        let succeeded = outcome.is_ok();
        if let Err(failure) = &outcome {
            let message =
                format!("ERROR: extensionrepo {name}: {failure}\nTrying again in {} s.", delay.as_secs());
            span(&context, &name).print(Level::Error, &message);
        }
        context.send(Event::RepositoryFetched { name: name.clone(), run, outcome }).await;
        if succeeded {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(delay) => delay = (delay * 2).min(LONGEST_DELAY),
            () = context.cancel.cancelled() => return,
        }
    }
}

fn before(age: Duration) -> lilt_model::Timestamp {
    let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    lilt_model::Timestamp(lilt_host::clock::now().0.saturating_sub(age))
}

pub(crate) async fn find(context: Context, name: String, run: u64, source: RepositorySource, path: String) {
    let source = extension_source(&source);
    let extension = name.clone();
    let found = run_blocking(&context, span(&context, &name), move |request, system, cancelled, print| {
        lilt_tiltfile::find_extension(&source, &path, &extension, request, system, cancelled, print)
    });
    let Some(outcome) = found.await else { return };
    if let Err(failure) = &outcome {
        span(&context, &name).print(Level::Error, &format!("ERROR: extension {name}: {failure}"));
    }
    context.send(Event::ExtensionFound { name, run, outcome }).await;
}

fn extension_source(source: &RepositorySource) -> ExtensionSource {
    let RepositorySource { name, url, reference, subpath } = source.clone();
    ExtensionSource { name, url, reference, subpath }
}

fn span(context: &Context, name: &str) -> Span {
    let id = SpanId::from(format!("extension:{name}"));
    context.logs.span(id, Some(ResourceName::tiltfile()), Source::Build)
}

/// Runs a blocking job on its own thread. Returns none if it was cancelled, and has ended.
async fn run_blocking<T: Send + 'static>(
    context: &Context,
    mut span: Span,
    job: impl FnOnce(
        &LoadRequest,
        &HostSystem,
        &(dyn Fn() -> bool + Sync),
        &mut dyn FnMut(LoadMessage<'_>),
    ) -> Result<T, Failure>
    + Send
    + 'static,
) -> Option<Result<T, Failure>> {
    let cancelled = Arc::new(AtomicBool::new(false));
    // Cancels git when this future is dropped, too.
    let guard = CancelOnDrop(Arc::clone(&cancelled));
    let settings = Arc::clone(&context.settings);
    let guardian = context.guardian.clone();
    let mut working = tokio::task::spawn_blocking(move || {
        let request = LoadRequest {
            path: settings.tiltfile.clone(),
            variables: settings.environment.clone(),
            programs: settings.programs.clone(),
            ..LoadRequest::default()
        };
        let system = HostSystem::new(guardian, settings.kubeconfig.clone());
        job(&request, &system, &|| cancelled.load(Ordering::Relaxed), &mut |message| match message {
            LoadMessage::Line(line) => span.info(line),
            LoadMessage::Progress(progress) => span.info(&progress.to_string()),
            LoadMessage::Warning(_) => span.print(Level::Warn, &message.to_string()),
        })
    });
    tokio::select! {
        ended = &mut working => match ended {
            Ok(outcome) => Some(outcome),
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        },
        () = context.cancel.cancelled() => {
            drop(guard);
            let _ = working.await;
            None
        }
    }
}
