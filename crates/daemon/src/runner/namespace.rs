//! Watches the pods of a namespace.

use futures_util::StreamExt as _;
use lilt_cluster::NamespaceFact;
use lilt_engine::Event;
use lilt_model::ClusterName;
use lilt_model::cluster::{Notice, Pod, PodRef, Subject};

use crate::context::Context;

/// `reconnects`: it replaces a watch that had lost its connection, and reports that the cluster responds again.
pub(crate) async fn run(context: Context, cluster: ClusterName, namespace: String, mut reconnects: bool) {
    let connection = match context.cluster(&cluster) {
        Ok(connection) => connection,
        Err(failure) => return context.send(Event::ClusterTroubled { cluster, failure }).await,
    };
    let mut facts = connection.watch_namespace(&namespace, context.started.truncated());
    loop {
        let fact = tokio::select! {
            fact = facts.next() => fact,
            () = context.cancel.cancelled() => return,
        };
        let Some(fact) = fact else { return };
        if matches!(fact, NamespaceFact::PodsListed(_)) && std::mem::take(&mut reconnects) {
            context.send(Event::ClusterRecovered { cluster: cluster.clone() }).await;
        }
        context.send(event(&cluster, &namespace, fact)).await;
    }
}

/// Converts a fact to an event, and adds the cluster.
fn event(cluster: &ClusterName, namespace: &str, fact: NamespaceFact) -> Event {
    let (cluster, namespace) = (cluster.clone(), namespace.to_owned());
    let of = |pod: Pod| Pod { cluster: cluster.clone(), ..pod };
    let named = |pod: PodRef| PodRef { cluster: cluster.clone(), ..pod };
    match fact {
        NamespaceFact::PodsListed(pods) => {
            let pods = pods.into_iter().map(of).collect();
            Event::PodsListed { cluster, namespace, pods }
        }
        NamespaceFact::PodChanged(pod) => Event::PodChanged { pod: Box::new(of(pod)) },
        NamespaceFact::PodGone(pod) => Event::PodGone { pod: named(pod) },
        NamespaceFact::Notice(Notice { about: Subject::Pod(pod), warning, reason, message, probe, at }) => {
            let about = Subject::Pod(named(pod));
            Event::Noticed { notice: Notice { about, warning, reason, message, probe, at } }
        }
        NamespaceFact::Notice(notice) => Event::Noticed { notice },
        NamespaceFact::Trouble(failure) => Event::ClusterTroubled { cluster, failure },
        NamespaceFact::Refused(failure) => Event::PodsRefused { cluster, namespace, failure },
        NamespaceFact::Recovered => Event::ClusterRecovered { cluster },
    }
}
