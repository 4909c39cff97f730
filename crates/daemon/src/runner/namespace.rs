//! Watches the pods of a namespace.

use futures_util::StreamExt as _;
use lilt_cluster::NamespaceEvent;
use lilt_engine::Event;
use lilt_model::ClusterName;
use lilt_model::cluster::{Notice, Pod, PodRef, Subject};

use crate::context::Context;

/// `reconnects`: it replaces a watch that had lost its connection, and reports that the cluster responds again.
pub(crate) async fn run(context: Context, cluster: ClusterName, namespace: String, mut reconnects: bool) {
    let connection = match context.connections.cluster(&cluster) {
        Ok(connection) => connection,
        Err(failure) => return context.send(Event::ClusterTroubled { cluster, failure }).await,
    };
    let mut events = connection.watch_namespace(&namespace, context.started.truncated());
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = context.cancel.cancelled() => return,
        };
        let Some(event) = event else { return };
        if matches!(event, NamespaceEvent::PodsListed(_)) && std::mem::take(&mut reconnects) {
            context.send(Event::ClusterRecovered { cluster: cluster.clone() }).await;
        }
        context.send(to_event(&cluster, &namespace, event)).await;
    }
}

/// Converts an event of the cluster to one of the engine, and adds the cluster.
fn to_event(cluster: &ClusterName, namespace: &str, event: NamespaceEvent) -> Event {
    let (cluster, namespace) = (cluster.clone(), namespace.to_owned());
    let of = |pod: Pod| Pod { cluster: cluster.clone(), ..pod };
    let named = |pod: PodRef| PodRef { cluster: cluster.clone(), ..pod };
    match event {
        NamespaceEvent::PodsListed(pods) => {
            let pods = pods.into_iter().map(of).collect();
            Event::PodsListed { cluster, namespace, pods }
        }
        NamespaceEvent::PodChanged(pod) => Event::PodChanged { pod: Box::new(of(pod)) },
        NamespaceEvent::PodGone(pod) => Event::PodGone { pod: named(pod) },
        NamespaceEvent::Notice(Notice { about: Subject::Pod(pod), warning, reason, message, probe, at }) => {
            let about = Subject::Pod(named(pod));
            Event::Noticed { notice: Notice { about, warning, reason, message, probe, at } }
        }
        NamespaceEvent::Notice(notice) => Event::Noticed { notice },
        NamespaceEvent::Trouble(failure) => Event::ClusterTroubled { cluster, failure },
        NamespaceEvent::Refused(failure) => Event::PodsRefused { cluster, namespace, failure },
        NamespaceEvent::Recovered => Event::ClusterRecovered { cluster },
    }
}
