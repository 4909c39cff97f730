//! The order in which objects are applied and deleted, so that dependencies come first.

/// Built-in kinds in the order of their dependencies, as in Helm. Anything else is a custom resource.
const ORDER: &[&str] = &[
    "Namespace",
    "CustomResourceDefinition",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodDisruptionBudget",
    "PriorityClass",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
];

/// Admission webhooks go last: their servers do not run before.
const LAST: &[&str] = &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

pub(crate) fn rank(kind: &str) -> usize {
    if LAST.contains(&kind) {
        return ORDER.len() + 1;
    }
    ORDER.iter().position(|known| *known == kind).unwrap_or(ORDER.len())
}

/// Whether the kind is not built in.
pub(crate) fn is_custom(kind: &str) -> bool {
    rank(kind) == ORDER.len()
}

pub(crate) fn is_definition(kind: &str) -> bool {
    kind == "CustomResourceDefinition"
}

/// Returns the rank of a kind in deletions: the reverse of applying, except for CustomResourceDefinitions.
///
/// Deleting a definition deletes custom resources that nobody named, and the operators that finalize those must still
/// run.
pub(crate) fn deletion_rank(kind: &str) -> usize {
    match kind {
        _ if LAST.contains(&kind) => 0,
        _ if is_custom(kind) => 1,
        _ if is_definition(kind) => 2,
        _ => 2 + ORDER.len() - rank(kind),
    }
}

/// Splits indexes into batches of equal rank, lowest first; within a batch the given order is kept.
pub(crate) fn batches<'a>(kinds: impl Iterator<Item = &'a str>, rank: fn(&str) -> usize) -> Vec<Vec<usize>> {
    let mut ranked: Vec<(usize, usize)> = kinds.map(rank).enumerate().map(|(at, rank)| (rank, at)).collect();
    ranked.sort_unstable();
    ranked
        .chunk_by(|one, other| one.0 == other.0)
        .map(|batch| batch.iter().map(|(_, at)| *at).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_come_first_and_equal_ranks_form_a_batch() {
        let kinds =
            ["Deployment", "Widget", "Namespace", "Service", "Deployment", "CustomResourceDefinition"];
        assert_eq!(batches(kinds.into_iter(), rank), vec![vec![2], vec![5], vec![3], vec![0, 4], vec![1]]);
        assert!(rank("ValidatingWebhookConfiguration") > rank("Widget"));
    }

    #[test]
    fn custom_resources_are_deleted_before_operators() {
        let kinds = [
            "Deployment",
            "CustomResourceDefinition",
            "Namespace",
            "ValidatingWebhookConfiguration",
            "Widget",
        ];
        let order: Vec<usize> = batches(kinds.into_iter(), deletion_rank).concat();
        assert_eq!(order, [3, 4, 1, 0, 2]);
    }
}
