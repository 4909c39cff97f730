//! Says when kubeconfig selects another context, or its context leads elsewhere: a session stays where it began.

use lilt_cluster::Selection;
use lilt_model::files::FileSet;
use lilt_model::log::{Level, Source};
use lilt_model::{ClusterName, Failure, ResourceName, SpanId};

use crate::context::Context;

pub(crate) async fn run(context: Context, name: ClusterName) {
    let Ok(cluster) = context.cluster(&name) else { return };
    let pinned = cluster.context().to_owned();
    let files = FileSet { roots: lilt_cluster::kubeconfig_files(), ignores: Vec::new() };
    let mut subscription = match context.edges.watcher.subscribe(files) {
        Ok(subscription) => subscription,
        Err(failure) => return complain(&context, &failure),
    };
    let mut known = lilt_cluster::selection(&pinned).unwrap_or_default();
    loop {
        let batch = tokio::select! {
            batch = subscription.next() => batch,
            () = context.cancel.cancelled() => return,
        };
        if batch.is_none() {
            return;
        }
        // Half-written ones are read again when they are whole.
        let Ok(now) = lilt_cluster::selection(&pinned) else { continue };
        // What is selected concerns the session's own alone.
        let current = if name.is_session() { now.current.clone() } else { known.current.clone() };
        let now = Selection { current, ..now };
        for words in differences(&pinned, &known, &now) {
            span(&context).print(Level::Warn, &format!("WARNING: {words}"));
        }
        known = now;
    }
}

fn differences(pinned: &str, before: &Selection, now: &Selection) -> Vec<String> {
    let mut words = Vec::new();
    if before.current != now.current {
        words.push(match &now.current {
            Some(other) if other != pinned => format!(
                "kubeconfig now selects the context {other}; this session stays with {pinned}. Start lilt anew to go there."
            ),
            Some(_) => format!("kubeconfig selects the context {pinned} again, which this session uses."),
            None => format!("kubeconfig selects no context any more; this session stays with {pinned}."),
        });
    }
    if before.server != now.server {
        let now = now.server.as_deref().unwrap_or("nowhere");
        words.push(format!(
            "the context {pinned} of kubeconfig now leads to {now}; this session keeps the connection it began with. \
             Start lilt anew to go there."
        ));
    }
    words
}

fn complain(context: &Context, failure: &Failure) {
    span(context).print(Level::Warn, &format!("WARNING: kubeconfig is not followed: {failure}"));
}

fn span(context: &Context) -> lilt_store::Span {
    context.logs.span(SpanId::new("kubeconfig"), Some(ResourceName::tiltfile()), Source::Build)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leads_elsewhere_is_told() {
        let selection = |current: &str, server: &str| Selection {
            current: Some(current.to_owned()),
            server: Some(server.to_owned()),
        };
        let before = selection("mine", "https://a");
        assert!(differences("mine", &before, &before).is_empty());
        let told = differences("mine", &before, &selection("other", "https://b"));
        assert!(told[0].contains("selects the context other; this session stays with mine"), "{told:?}");
        assert!(told[1].contains("now leads to https://b"), "{told:?}");
        let gone = Selection { current: Some("mine".into()), server: None };
        assert!(differences("mine", &before, &gone)[0].contains("nowhere"));
    }
}
