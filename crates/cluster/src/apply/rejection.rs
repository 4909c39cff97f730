//! Failures of objects that the API server did not accept.

use std::time::Duration;

use kube::core::Status;
use lilt_model::Failure;
use lilt_model::kubernetes::ObjectRef;

pub(super) fn unknown_kind(object: &ObjectRef) -> Failure {
    Failure::user(format!("the cluster knows no kind {} of {} ({object})", object.kind, object.api_version))
        .hint(
            "check apiVersion and kind; a custom kind needs its CustomResourceDefinition applied first, \
         by this resource or by one it depends on (resource_deps)",
        )
}

pub(super) fn timed_out(object: &ObjectRef, timeout: Duration) -> Failure {
    Failure::environment(format!("applying {object} took longer than {} seconds", timeout.as_secs_f32()))
        .hint("is the API server busy, or an admission webhook not answering? update_settings(k8s_upsert_timeout_secs=…) gives it longer")
}

pub(super) fn missing(object: &ObjectRef, message: String) -> Failure {
    let failure = Failure::user(format!("{object} was refused by the cluster: {message}"));
    if message.starts_with("namespaces ") {
        failure.hint(format!("create the namespace {} first, for example in the same YAML", object.namespace))
    } else {
        failure
    }
}

/// The API server reports an exceeded quota with the status code of missing permissions.
pub(super) fn is_quota(status: &Status) -> bool {
    status.message.contains("exceeded quota")
}

pub(super) fn quota(object: &ObjectRef, status: &Status) -> Failure {
    let namespace = if object.namespace.is_empty() { "the cluster" } else { &object.namespace };
    Failure::environment(format!("{object} does not fit into the quota: {}", status.message)).hint(format!(
        "`kubectl describe quota -n {namespace}` shows what is used; delete something, or ask for more"
    ))
}

/// An immutable field changed, and deleting the object would lose more than the object itself.
pub(super) fn not_replaceable(object: &ObjectRef, status: &Status) -> Failure {
    let loss = match object.kind.as_str() {
        "CustomResourceDefinition" => "all objects of its kind",
        "Namespace" => "all that is in it",
        _ => "its data",
    };
    let kind = object.kind.to_lowercase();
    let place = match object.namespace.as_str() {
        "" => String::new(),
        namespace => format!(" -n {namespace}"),
    };
    rejected(object, status).hint(format!(
        "this cannot be changed in place, and {loss} would go with the object, so that it is not deleted and made anew: \
         say in the YAML what the cluster has, or delete it yourself \
         (`kubectl delete {kind} {}{place}`) and trigger the resource",
        object.name
    ))
}

pub(super) fn rejected(object: &ObjectRef, status: &Status) -> Failure {
    let mut failure =
        Failure::user(format!("{object} was refused by the cluster: {}", summary(object, status)));
    let causes: Vec<String> = status
        .details
        .iter()
        .flat_map(|details| &details.causes)
        .filter(|cause| !cause.field.is_empty())
        .map(|cause| format!("{}: {}", cause.field, cause.message))
        .collect();
    if !causes.is_empty() {
        failure = failure.detail(causes.join("\n"));
    }
    if status.message.contains("not declared in schema") {
        failure = failure.hint("check the spelling of the field; `kubectl explain` lists what is allowed");
    } else if status.message.contains("webhook") {
        failure = failure.hint("an admission webhook of the cluster said no, or did not answer");
    } else {
        let kind = object.kind.to_lowercase();
        failure = failure
            .hint(format!("mend the object and save; `kubectl explain {kind}` tells what its fields mean"));
    }
    failure
}

/// The API server repeats kind, name and every cause in one long sentence: leaves out what the failure says
/// elsewhere.
fn summary(object: &ObjectRef, status: &Status) -> String {
    let causes = status.details.as_ref().map_or(0, |details| details.causes.len());
    if status.code == 422 && causes > 1 {
        return format!("{causes} fields are not valid");
    }
    let prefix = format!(" \"{}\" is invalid: ", object.name);
    match status.message.split_once(&prefix) {
        Some((kind, rest)) if !kind.contains(' ') => rest.to_owned(),
        _ => status.message.clone(),
    }
}
