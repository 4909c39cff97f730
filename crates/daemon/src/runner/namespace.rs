//! Follows the pods of a namespace.

use futures_util::StreamExt as _;
use lilt_cluster::NamespaceFact;
use lilt_engine::Event;

use crate::context::Context;

pub(crate) async fn run(context: Context, namespace: String) {
    let cluster = match context.cluster() {
        Ok(cluster) => cluster,
        Err(failure) => return context.tell(Event::ClusterFailed { failure }).await,
    };
    let mut facts = cluster.watch_namespace(&namespace, context.started.second());
    loop {
        let fact = tokio::select! {
            fact = facts.next() => fact,
            () = context.cancel.cancelled() => return,
        };
        let event = match fact {
            None => return,
            Some(NamespaceFact::PodsListed(pods)) => Event::PodsListed { namespace: namespace.clone(), pods },
            Some(NamespaceFact::PodChanged(pod)) => Event::PodChanged { pod: Box::new(pod) },
            Some(NamespaceFact::PodGone(pod)) => Event::PodGone { pod },
            Some(NamespaceFact::Notice(notice)) => Event::Noticed { notice },
            Some(NamespaceFact::Trouble(failure)) => Event::ClusterTroubled { failure },
            Some(NamespaceFact::Refused(failure)) => {
                Event::PodsRefused { namespace: namespace.clone(), failure }
            }
            Some(NamespaceFact::Recovered) => Event::ClusterRecovered,
        };
        context.tell(event).await;
    }
}
