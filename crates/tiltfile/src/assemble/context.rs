//! Protects against deploying to the wrong cluster.

use lilt_model::cluster::KubeContext;
use lilt_model::nearest::nearest;
use lilt_model::{ClusterName, Failure};

use super::Problems;
use super::workloads::Workload;
use crate::declarations::Declarations;
use crate::failure::SourceSpan;

/// Returns the first call that deploys something.
pub(super) fn first_deploy_span(declared: &Declarations) -> Option<SourceSpan> {
    let objects = declared.objects.iter().map(|object| &object.span);
    let deploys = declared.custom_deploys.iter().map(|deploy| &deploy.span);
    objects.chain(deploys).next().cloned()
}

/// The contexts that objects may be deployed to.
pub(super) struct Contexts<'c> {
    session: &'c Option<KubeContext>,
    known: &'c [KubeContext],
    allowed: &'c [String],
}

impl<'c> Contexts<'c> {
    pub(super) fn new(
        session: &'c Option<KubeContext>,
        known: &'c [KubeContext],
        allowed: &'c [String],
    ) -> Self {
        Self { session, known, allowed }
    }

    /// Returns the cluster of a workload. The session's cluster has the default name, also where a resource names its context.
    pub(super) fn cluster_of(&self, workload: &Workload) -> ClusterName {
        let session = self.session.as_ref().map(|context| context.name.as_str());
        match &workload.context {
            Some((context, _)) if Some(context.as_str()) != session => ClusterName::new(context),
            _ => ClusterName::default(),
        }
    }

    /// Refuses the session's context unless it is a local cluster or the Tiltfile allows it.
    pub(super) fn check_session(&self, span: Option<&SourceSpan>, problems: &mut Problems) {
        if let (Some(span), Some(context)) = (span, self.session)
            && let Some(failure) = self.production_failure(context)
        {
            problems.add(span, failure);
        }
    }

    /// Like [`Self::check_session`], for the context that a workload names.
    pub(super) fn check(&self, workload: &Workload, problems: &mut Problems) -> ClusterName {
        let cluster = self.cluster_of(workload);
        if let Some((name, span)) = workload.context.as_ref().filter(|_| !cluster.is_session()) {
            let known = self.known.iter().find(|context| context.name == *name);
            // An allowed context may be created later: its resources are held until then.
            let failure = match known {
                Some(context) => self.production_failure(context),
                None if self.allowed.contains(name) => None,
                None => Some(self.unknown(name)),
            };
            if let Some(failure) = failure {
                problems.add(span, failure);
            }
        }
        cluster
    }

    fn production_failure(&self, context: &KubeContext) -> Option<Failure> {
        let name = &context.name;
        if context.product().is_local() || self.allowed.contains(name) {
            return None;
        }
        let failure = Failure::user(format!("Stop! {name} might be production"));
        let allow =
            format!("if you are sure that you want to deploy there, add: allow_k8s_contexts('{name}')");
        Some(failure.hint(format!("{allow}\notherwise switch to another context")))
    }

    fn unknown(&self, name: &str) -> Failure {
        let known: Vec<&str> = self.known.iter().map(|context| context.name.as_str()).collect();
        let failure = Failure::user(format!("kubeconfig has no context named {name}"));
        failure.hint(match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None if known.is_empty() => "it has none at all; which file is it? KUBECONFIG says it".to_owned(),
            None => format!("there are: {}", known.join(", ")),
        })
    }
}
