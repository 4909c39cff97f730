//! Watches the pods and events of a namespace.
//!
//! Reconnects and resyncs forever; the receiver only sees that the connection was lost and recovered.

use std::collections::HashMap;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, Stream, StreamExt};
use k8s_openapi::api::core::v1 as core;
use kube::Api;
use lilt_model::cluster::{Notice, Pod, PodRef, Subject};
use lilt_model::{Failure, Timestamp, Uid};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::connect::Cluster;
use crate::pod::{OwnerChain, translate};

mod list_watch;
mod notices;
mod objects;
mod owners;

use list_watch::{ListWatch, ListWatchEvent};
use notices::Notices;
pub use objects::ObjectEvent;
use owners::Owners;

/// Enough for the burst of a rollout. When it is full, the watch waits for its receiver, and the API server buffers.
const EVENTS_BUFFERED: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamespaceEvent {
    /// All existing pods; pods reported before and missing here are deleted. Sent before other events of pods, and
    /// again after a resync.
    PodsListed(Vec<Pod>),
    PodChanged(Pod),
    PodGone(PodRef),
    /// An event about a pod, or a warning about another object. Sent once; warnings also from before.
    Notice(Notice),
    /// The connection is lost and being retried; what was sent so far may be outdated.
    Trouble(Failure),
    /// The pods of the namespace may not be read; retried now and then.
    Refused(Failure),
    Recovered,
}

/// Ends the watch when dropped.
#[derive(Debug)]
pub struct NamespaceWatch {
    events_receiver: mpsc::Receiver<NamespaceEvent>,
    _task: AbortOnDropHandle<()>,
}

impl Stream for NamespaceWatch {
    type Item = NamespaceEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<NamespaceEvent>> {
        self.events_receiver.poll_recv(context)
    }
}

impl Cluster {
    /// Watches all pods of a namespace. The stream never ends. Of events before `since`, only warnings are sent.
    pub fn watch_namespace(&self, namespace: &str, since: Timestamp) -> NamespaceWatch {
        let (sender, events_receiver) = mpsc::channel(EVENTS_BUFFERED);
        let watch = Watch {
            owners: Owners::new(self.clone(), namespace),
            notices: Notices::new(since),
            waiting: HashMap::new(),
            resolving: FuturesUnordered::new(),
            noticing: FuturesUnordered::new(),
            list: None,
            sender,
        };
        let pods = ListWatch::new(self, Api::namespaced(self.client.clone(), namespace), "pods");
        let events = ListWatch::new(self, Api::namespaced(self.client.clone(), namespace), "events");
        let task = tokio::spawn(watch.run(pods, events));
        NamespaceWatch { events_receiver, _task: AbortOnDropHandle::new(task) }
    }
}

type Resolution = Pin<Box<dyn Future<Output = (Uid, OwnerChain)> + Send>>;
type Noticing = Pin<Box<dyn Future<Output = Notice> + Send>>;

struct Watch {
    owners: Owners,
    notices: Notices,
    /// The latest version of each pod whose owners are being resolved.
    waiting: HashMap<Uid, core::Pod>,
    resolving: FuturesUnordered<Resolution>,
    /// Notices about objects whose owners are being resolved.
    noticing: FuturesUnordered<Noticing>,
    /// The first list, held back until events are watched, so that the receiver misses no event after it.
    list: Option<Vec<Pod>>,
    sender: mpsc::Sender<NamespaceEvent>,
}

/// The receiver was dropped.
struct ReceiverDropped;

impl Watch {
    async fn run(mut self, pods: ListWatch<core::Pod>, events: ListWatch<core::Event>) {
        let mut pods = pods.into_stream();
        let mut events = events.into_stream();
        loop {
            let result = tokio::select! {
                Some(step) = pods.next() => self.pod_step(step).await,
                Some(step) = events.next() => self.event_step(step).await,
                Some((uid, owners)) = self.resolving.next() => self.resolved(uid, owners).await,
                Some(notice) = self.noticing.next() => self.send(NamespaceEvent::Notice(notice)).await,
                () = self.sender.closed() => Err(ReceiverDropped),
            };
            if result.is_err() {
                return;
            }
        }
    }

    async fn pod_step(&mut self, step: ListWatchEvent<core::Pod>) -> Result<(), ReceiverDropped> {
        match step {
            ListWatchEvent::Listed(pods) => self.listed(pods).await,
            ListWatchEvent::Changed(pod) => self.changed(pod).await,
            ListWatchEvent::Gone(pod) => {
                self.waiting.remove(&uid(&pod));
                self.owners.remove_pod(&pod);
                let meta = pod.metadata;
                let namespace = meta.namespace.unwrap_or_default();
                self.send(NamespaceEvent::PodGone(PodRef {
                    namespace,
                    name: meta.name.unwrap_or_default(),
                    ..PodRef::default()
                }))
                .await
            }
            ListWatchEvent::Trouble(failure) => self.send(NamespaceEvent::Trouble(failure)).await,
            ListWatchEvent::Refused(failure) => self.send(NamespaceEvent::Refused(failure)).await,
            ListWatchEvent::Recovered => self.send(NamespaceEvent::Recovered).await,
        }
    }

    async fn listed(&mut self, pods: Vec<core::Pod>) -> Result<(), ReceiverDropped> {
        self.waiting.clear();
        self.resolving.clear();
        self.owners.clear_pods();
        let owners: Vec<_> = pods.iter().map(|pod| self.owners.resolve_pod(pod)).collect();
        let owners = join_all(owners).await;
        let list = pods.iter().zip(owners).map(|(pod, owners)| translate(pod, owners)).collect();
        if self.notices.ready() {
            return self.send(NamespaceEvent::PodsListed(list)).await;
        }
        self.list = Some(list);
        Ok(())
    }

    async fn changed(&mut self, pod: core::Pod) -> Result<(), ReceiverDropped> {
        let id = uid(&pod);
        if let Some(owners) = self.owners.resolved(&pod) {
            self.waiting.remove(&id);
            return self.send(NamespaceEvent::PodChanged(translate(&pod, owners))).await;
        }
        if self.waiting.insert(id.clone(), pod.clone()).is_none() {
            let owners = self.owners.resolve_pod(&pod);
            self.resolving.push(Box::pin(async move { (id, owners.await) }));
        }
        Ok(())
    }

    async fn resolved(&mut self, id: Uid, owners: OwnerChain) -> Result<(), ReceiverDropped> {
        match self.waiting.remove(&id) {
            Some(pod) => self.send(NamespaceEvent::PodChanged(translate(&pod, owners))).await,
            None => Ok(()),
        }
    }

    async fn event_step(&mut self, step: ListWatchEvent<core::Event>) -> Result<(), ReceiverDropped> {
        for (notice, owner) in self.notices.take(step) {
            let Some(owner) = owner else {
                self.send(NamespaceEvent::Notice(notice)).await?;
                continue;
            };
            let owners = self.owners.resolve_object(&owner);
            self.noticing.push(Box::pin(async move { about(notice, owners.await.uids) }));
        }
        match self.list.take() {
            Some(list) => self.send(NamespaceEvent::PodsListed(list)).await,
            None => Ok(()),
        }
    }

    async fn send(&mut self, event: NamespaceEvent) -> Result<(), ReceiverDropped> {
        // Changes must not overtake the first list.
        if let Some(list) = self.list.take() {
            self.sender.send(NamespaceEvent::PodsListed(list)).await.map_err(|_| ReceiverDropped)?;
        }
        self.sender.send(event).await.map_err(|_| ReceiverDropped)
    }
}

fn about(mut notice: Notice, owners: Vec<Uid>) -> Notice {
    if let Subject::Object { uids, .. } = &mut notice.about {
        *uids = owners;
    }
    notice
}

fn uid(pod: &core::Pod) -> Uid {
    Uid::new(pod.metadata.uid.as_deref().unwrap_or_default())
}
