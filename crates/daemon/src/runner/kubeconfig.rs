//! Watches kubeconfig while connected. A session keeps its cluster: it warns if kubeconfig selects another context, or
//! if the context has another server. New credentials for the same server are used.

use lilt_cluster::{Cluster, ConnectOptions, ContextSelection};
use lilt_model::files::FileSet;
use lilt_model::log::{Level, Source};
use lilt_model::{ClusterName, Failure, ResourceName, SpanId};

use crate::context::Context;
use crate::runner::FileWatcher;

pub(crate) async fn run(context: Context, watcher: FileWatcher, name: ClusterName) {
    let Ok(cluster) = context.connections.cluster(&name) else { return };
    let pinned = cluster.context().to_owned();
    let files = FileSet::new(lilt_cluster::kubeconfig_files(), Vec::new());
    let mut subscription = match watcher.subscribe(None, files) {
        Ok(subscription) => subscription,
        Err(failure) => return warn_unwatched(&context, &failure),
    };
    let mut known = lilt_cluster::context_selection(&pinned).unwrap_or_default();
    loop {
        let batch = tokio::select! {
            batch = subscription.next() => batch,
            () = context.cancel.cancelled() => return,
        };
        if batch.is_none() {
            return;
        }
        // New tokens of the same login are read when needed.
        cluster.retry_login();
        // A half-written file is read again when it is complete.
        let Ok(now) = lilt_cluster::context_selection(&pinned) else { continue };
        // Only the session's own cluster depends on the current context.
        let current = if name.is_session() { now.current.clone() } else { known.current.clone() };
        let now = ContextSelection { current, ..now };
        for warning in differences(&pinned, &known, &now) {
            span(&context).print(Level::Warn, &format!("WARNING: {warning}"));
        }
        if has_other_login(&known, &now) {
            adopt_login(&context, &name, &cluster).await;
        }
        known = now;
    }
}

fn has_other_login(before: &ContextSelection, now: &ContextSelection) -> bool {
    now.server.is_some() && before.server == now.server && before.login != now.login
}

/// Uses new credentials for the connection and for commands.
async fn adopt_login(context: &Context, name: &ClusterName, cluster: &Cluster) {
    let pinned = cluster.context();
    let taken =
        cluster.reload_login(ConnectOptions::default()).await.and_then(|()| match name.is_session() {
            true => context.settings.kubeconfig.rewrite(),
            false => context.settings.kubeconfig.write_for(name.as_str()).map(|_| ()),
        });
    match taken {
        Ok(()) => span(context)
            .info(&format!("kubeconfig has another login for the context {pinned}: it is used from now on")),
        Err(failure) => span(context).print(
            Level::Warn,
            &format!(
                "WARNING: the new login of the context {pinned} in kubeconfig cannot be used: {failure}"
            ),
        ),
    }
}

fn differences(pinned: &str, before: &ContextSelection, now: &ContextSelection) -> Vec<String> {
    let mut warnings = Vec::new();
    if before.current != now.current {
        warnings.push(match &now.current {
            Some(other) if other != pinned => format!(
                "kubeconfig now selects the context {other}; this session stays with {pinned}. Start lilt anew to go there."
            ),
            Some(_) => format!("kubeconfig selects the context {pinned} again, which this session uses."),
            None => format!("kubeconfig selects no context any more; this session stays with {pinned}."),
        });
    }
    if before.server != now.server {
        let now = now.server.as_deref().unwrap_or("nowhere");
        warnings.push(format!(
            "the context {pinned} of kubeconfig now leads to {now}; this session keeps the connection it began with. \
             Start lilt anew to go there."
        ));
    }
    warnings
}

fn warn_unwatched(context: &Context, failure: &Failure) {
    span(context).print(Level::Warn, &format!("WARNING: kubeconfig is not followed: {failure}"));
}

fn span(context: &Context) -> lilt_store::Span {
    context.logs.span(SpanId::new("kubeconfig"), Some(ResourceName::tiltfile()), Source::Build)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubeconfig_change_warns_only_if_it_leads_elsewhere() {
        let selection = |current: &str, server: &str| ContextSelection {
            current: Some(current.to_owned()),
            server: Some(server.to_owned()),
            login: "a".to_owned(),
        };
        let before = selection("mine", "https://a");
        assert!(differences("mine", &before, &before).is_empty());
        let warnings = differences("mine", &before, &selection("other", "https://b"));
        assert!(
            warnings[0].contains("selects the context other; this session stays with mine"),
            "{warnings:?}"
        );
        assert!(warnings[1].contains("now leads to https://b"), "{warnings:?}");
        let gone = ContextSelection { server: None, ..before.clone() };
        assert!(differences("mine", &before, &gone)[0].contains("nowhere"));
        assert!(!has_other_login(&before, &before) && !has_other_login(&before, &gone));
        let renewed = ContextSelection { login: "b".to_owned(), ..before.clone() };
        assert!(has_other_login(&before, &renewed) && differences("mine", &before, &renewed).is_empty());
        let elsewhere = ContextSelection { server: Some("https://b".to_owned()), ..renewed };
        assert!(!has_other_login(&before, &elsewhere));
    }
}
