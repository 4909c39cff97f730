//! Evaluates the Tiltfile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lilt_engine::{Cause, Event};
use lilt_model::log::Level;
use lilt_model::project::Project;
use lilt_model::{Failure, ResourceName};
use lilt_store::Span;
use lilt_tiltfile::{LoadRequest, Loaded, RealOutside};

use super::report;
use crate::context::Context;
use crate::settings::Settings;

pub(crate) async fn run(context: Context, load: u64, cause: Cause) {
    let mut span = context.update_span(&ResourceName::tiltfile(), load);
    report::begin(&mut span, &cause);
    span.info(&format!("Loading Tiltfile at: {}", context.settings.tiltfile.display()));
    let begun = lilt_host::clock::now();
    let cancelled = Arc::new(AtomicBool::new(false));
    // The evaluation polls this flag; dropping the future raises it too.
    let guard = RaiseOnDrop(Arc::clone(&cancelled));
    let settings = Arc::clone(&context.settings);
    let mut evaluation = tokio::task::spawn_blocking(move || {
        let loaded = evaluate(&settings, &cancelled, &mut |line| span.info(line));
        (loaded, span)
    });
    let (loaded, mut span) = tokio::select! {
        ended = &mut evaluation => match ended {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        },
        () = context.cancel.cancelled() => {
            drop(guard);
            // What the Tiltfile runs ends with it. One that is stuck is given up by the session.
            let _ = evaluation.await;
            return;
        }
    };
    drop(guard);
    tell_result(&mut span, &loaded.project, lilt_host::clock::now().since(begun));
    drop(span);
    let outcome = loaded.project.map(Box::new);
    context.tell(Event::Loaded { load, files: loaded.files, contents: loaded.contents, outcome }).await;
}

/// Loads the project of these settings.
pub(crate) fn evaluate(settings: &Settings, cancelled: &AtomicBool, print: &mut dyn FnMut(&str)) -> Loaded {
    let request = LoadRequest {
        path: settings.tiltfile.clone(),
        args: settings.args.clone(),
        subcommand: settings.subcommand.to_owned(),
    };
    let outside = RealOutside { context: settings.context.clone() };
    lilt_tiltfile::load(&request, &outside, &|| cancelled.load(Ordering::Relaxed), print)
}

struct RaiseOnDrop(Arc<AtomicBool>);

impl Drop for RaiseOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn tell_result(span: &mut Span, project: &Result<Project, Failure>, took: Duration) {
    match project {
        Ok(project) => {
            for warning in &project.warnings {
                span.print(Level::Warn, &format!("WARNING: {warning}"));
            }
            span.info(&format!("Successfully loaded Tiltfile ({took:?})"));
        }
        Err(failure) => span.print(Level::Error, &format!("ERROR: {failure}")),
    }
}
