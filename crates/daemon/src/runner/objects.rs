//! Watches the metadata of applied objects, and compares changed ones with their manifests.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use lilt_cluster::{Cluster, ObjectEvent};
use lilt_engine::{Drift, Event, Inspection};
use lilt_model::kubernetes::{ObjectRef, ObjectScope};
use lilt_model::log::Level;
use lilt_model::{Failure, ResourceName};
use serde_json::Value;

use crate::context::Context;
use crate::deployers::Deployers;

const AT_ONCE: usize = 10;

/// Before a rejected watch, or one of a missing kind, is retried: permissions and kinds may be added, and a starting API
/// server rejects everybody for a moment.
const RETRY_PAUSE: Duration = Duration::from_secs(20);

/// Reports when objects of a scope change or are deleted. Without the permission to watch them, it reports nothing.
pub(crate) async fn follow(context: Context, scope: ObjectScope) {
    let watch = async {
        loop {
            if let Err(failure) = send_changes(&context, &scope).await {
                tracing::debug!(%failure, "applied objects are not watched");
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    };
    tokio::select! {
        () = watch => {}
        () = context.cancel.cancelled() => {}
    }
}

/// Sends changes until the watch fails.
async fn send_changes(context: &Context, scope: &ObjectScope) -> Result<(), Failure> {
    let mut facts = context.connections.cluster(&scope.cluster)?.watch_objects(scope).await?;
    while let Some(fact) = facts.next().await {
        let scope = scope.clone();
        let event = match fact {
            ObjectEvent::Listed(objects) => Event::ObjectsListed { scope, objects },
            ObjectEvent::Changed(name, mark) => Event::ObjectChanged { scope, name, mark },
            ObjectEvent::Gone(name, mark) => Event::ObjectGone { scope, name, mark },
        };
        context.send(event).await;
    }
    Ok(())
}

/// Compares objects with their manifests.
pub(crate) async fn inspect(
    context: Context,
    deployers: Deployers,
    resource: ResourceName,
    inspection: Inspection,
) {
    let found = tokio::select! {
        found = compare(&context, &deployers, &resource, &inspection) => found,
        () = context.cancel.cancelled() => return,
    };
    // Without a response no drift is reported; the next change leads to another comparison.
    let found = found.unwrap_or_else(|failure| {
        tracing::warn!(%failure, %resource, "objects could not be compared with their manifests");
        Vec::new()
    });
    context.send(Event::Inspected { resource, inspection: inspection.id, found }).await;
}

async fn compare(
    context: &Context,
    deployers: &Deployers,
    resource: &ResourceName,
    inspection: &Inspection,
) -> Result<Vec<(ObjectRef, Option<Drift>)>, Failure> {
    let kubernetes = &inspection.kubernetes;
    let cluster = context.connections.cluster(&kubernetes.cluster)?;
    let manifests = match kubernetes.custom_deploy {
        Some(_) => inspection.manifests.clone(),
        None => {
            let references = super::in_pods(kubernetes, inspection.images.clone());
            let images = super::injections(kubernetes, &references);
            lilt_cluster::inject::prepare(&kubernetes.objects, &images, &kubernetes.image_locators)?
        }
    };
    let work = inspection.suspects.iter().filter_map(|suspect| {
        let manifest =
            manifests.iter().find(|manifest| describes(manifest, suspect, &inspection.namespace))?;
        Some(drift(context, deployers, resource, &cluster, suspect, manifest, inspection))
    });
    let found: Vec<_> = stream::iter(work.collect::<Vec<_>>()).buffered(AT_ONCE).collect().await;
    found.into_iter().collect()
}

fn describes(manifest: &Value, suspect: &ObjectRef, default_namespace: &str) -> bool {
    ObjectRef::of(manifest).is_some_and(|mut object| {
        if object.namespace.is_empty() && !suspect.namespace.is_empty() {
            object.namespace = default_namespace.to_owned();
        }
        object == *suspect
    })
}

async fn drift(
    context: &Context,
    deployers: &Deployers,
    resource: &ResourceName,
    cluster: &Cluster,
    suspect: &ObjectRef,
    manifest: &Value,
    inspection: &Inspection,
) -> Result<(ObjectRef, Option<Drift>), Failure> {
    // Objects that are only created once may be changed by anybody.
    if lilt_cluster::is_create_once(manifest) {
        return Ok((suspect.clone(), None));
    }
    let merge = inspection.kubernetes.custom_deploy.is_none().then_some(inspection.merge);
    let drift = match cluster.drift_and_deployer(manifest, merge, deployers.own()).await? {
        None if suspect.kind == "Job" => None,
        None => Some(Drift::Deleted),
        Some((changes, _)) if changes.is_empty() => None,
        Some((changes, other)) => {
            if let Some(other) = &other
                && let Some(warning) = deployers.warning(suspect, other).await
            {
                let mut span = context.runtime_span(resource, format!("drift:{resource}"));
                span.print(Level::Warn, &format!("WARNING: {warning}"));
            }
            let redactor = context.logs.redactor();
            let fields = changes.iter().map(|change| change.redacted(&redactor).to_string()).collect();
            Some(match other.filter(|other| deployers.deploys_concurrently(other)) {
                Some(other) => Drift::Replaced { by: other.name, fields },
                None => Drift::Changed(fields),
            })
        }
    };
    Ok((suspect.clone(), drift))
}
