//! Pods of a namespace and what the cluster reports about them, for as long as somebody listens.
//!
//! It reconnects and resyncs for ever by itself: a listener only sees that it was troubled and recovered.

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
use crate::pod::{Lineage, translate};

mod notices;
mod objects;
mod owners;
mod tail;

use notices::Notices;
pub use objects::ObjectFact;
use owners::Owners;
use tail::{Step, Tail};

/// A burst of a rollout fits; beyond it the watch waits for its listener, and the API server keeps the rest.
const FACTS_AHEAD: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamespaceFact {
    /// All pods there are; those told of before and not in here are gone. Comes before anything else of pods, and again after a
    /// resync.
    PodsListed(Vec<Pod>),
    PodChanged(Pod),
    PodGone(PodRef),
    /// Something happened to a pod, or went wrong with another object. Told once; warnings also from before.
    Notice(Notice),
    /// The connection is lost and being retried; facts so far may be outdated.
    Trouble(Failure),
    /// The pods of the namespace may not be read; asked for again now and then.
    Refused(Failure),
    Recovered,
}

/// Ends the watch when dropped.
#[derive(Debug)]
pub struct NamespaceWatch {
    facts: mpsc::Receiver<NamespaceFact>,
    _task: AbortOnDropHandle<()>,
}

impl Stream for NamespaceWatch {
    type Item = NamespaceFact;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<NamespaceFact>> {
        self.facts.poll_recv(context)
    }
}

impl Cluster {
    /// Watches all pods of a namespace. The stream never ends by itself. Of what happened before `since`, only warnings
    /// are told.
    pub fn watch_namespace(&self, namespace: &str, since: Timestamp) -> NamespaceWatch {
        let (sender, facts) = mpsc::channel(FACTS_AHEAD);
        let watch = Watch {
            owners: Owners::new(self.clone(), namespace),
            notices: Notices::new(since),
            waiting: HashMap::new(),
            resolving: FuturesUnordered::new(),
            noticing: FuturesUnordered::new(),
            list: None,
            sender,
        };
        let pods = Tail::new(self, Api::namespaced(self.client.clone(), namespace), "pods");
        let events = Tail::new(self, Api::namespaced(self.client.clone(), namespace), "events");
        let task = tokio::spawn(watch.run(pods, events));
        NamespaceWatch { facts, _task: AbortOnDropHandle::new(task) }
    }
}

type Resolution = Pin<Box<dyn Future<Output = (Uid, Lineage)> + Send>>;
type Noticing = Pin<Box<dyn Future<Output = Notice> + Send>>;

struct Watch {
    owners: Owners,
    notices: Notices,
    /// The latest of each pod whose owners are still being asked for.
    waiting: HashMap<Uid, core::Pod>,
    resolving: FuturesUnordered<Resolution>,
    /// Notices about objects whose owners are still being asked for.
    noticing: FuturesUnordered<Noticing>,
    /// The first list, held back until notices are being watched: who waits for it misses none afterwards.
    list: Option<Vec<Pod>>,
    sender: mpsc::Sender<NamespaceFact>,
}

/// The listener is gone.
struct Deaf;

impl Watch {
    async fn run(mut self, pods: Tail<core::Pod>, events: Tail<core::Event>) {
        let mut pods = pods.into_stream();
        let mut events = events.into_stream();
        loop {
            let result = tokio::select! {
                Some(step) = pods.next() => self.pod_step(step).await,
                Some(step) = events.next() => self.event_step(step).await,
                Some((uid, owners)) = self.resolving.next() => self.resolved(uid, owners).await,
                Some(notice) = self.noticing.next() => self.tell(NamespaceFact::Notice(notice)).await,
                () = self.sender.closed() => Err(Deaf),
            };
            if result.is_err() {
                return;
            }
        }
    }

    async fn pod_step(&mut self, step: Step<core::Pod>) -> Result<(), Deaf> {
        match step {
            Step::Listed(pods) => self.listed(pods).await,
            Step::Changed(pod) => self.changed(pod).await,
            Step::Gone(pod) => {
                self.waiting.remove(&uid(&pod));
                self.owners.gone(&pod);
                let meta = pod.metadata;
                let namespace = meta.namespace.unwrap_or_default();
                self.tell(NamespaceFact::PodGone(PodRef {
                    namespace,
                    name: meta.name.unwrap_or_default(),
                    ..PodRef::default()
                }))
                .await
            }
            Step::Trouble(failure) => self.tell(NamespaceFact::Trouble(failure)).await,
            Step::Refused(failure) => self.tell(NamespaceFact::Refused(failure)).await,
            Step::Recovered => self.tell(NamespaceFact::Recovered).await,
        }
    }

    async fn listed(&mut self, pods: Vec<core::Pod>) -> Result<(), Deaf> {
        self.waiting.clear();
        self.resolving.clear();
        self.owners.begin_again();
        let owners: Vec<_> = pods.iter().map(|pod| self.owners.of(pod)).collect();
        let owners = join_all(owners).await;
        let list = pods.iter().zip(owners).map(|(pod, owners)| translate(pod, owners)).collect();
        if self.notices.ready() {
            return self.tell(NamespaceFact::PodsListed(list)).await;
        }
        self.list = Some(list);
        Ok(())
    }

    async fn changed(&mut self, pod: core::Pod) -> Result<(), Deaf> {
        let id = uid(&pod);
        if let Some(owners) = self.owners.known(&pod) {
            self.waiting.remove(&id);
            return self.tell(NamespaceFact::PodChanged(translate(&pod, owners))).await;
        }
        if self.waiting.insert(id.clone(), pod.clone()).is_none() {
            let owners = self.owners.of(&pod);
            self.resolving.push(Box::pin(async move { (id, owners.await) }));
        }
        Ok(())
    }

    async fn resolved(&mut self, id: Uid, owners: Lineage) -> Result<(), Deaf> {
        match self.waiting.remove(&id) {
            Some(pod) => self.tell(NamespaceFact::PodChanged(translate(&pod, owners))).await,
            None => Ok(()),
        }
    }

    async fn event_step(&mut self, step: Step<core::Event>) -> Result<(), Deaf> {
        for (notice, owner) in self.notices.take(step) {
            let Some(owner) = owner else {
                self.tell(NamespaceFact::Notice(notice)).await?;
                continue;
            };
            let owners = self.owners.line_of(&owner);
            self.noticing.push(Box::pin(async move { about(notice, owners.await.uids) }));
        }
        match self.list.take() {
            Some(list) => self.tell(NamespaceFact::PodsListed(list)).await,
            None => Ok(()),
        }
    }

    async fn tell(&mut self, fact: NamespaceFact) -> Result<(), Deaf> {
        // Changes that come while the first list is held back belong behind it.
        if let Some(list) = self.list.take() {
            self.sender.send(NamespaceFact::PodsListed(list)).await.map_err(|_| Deaf)?;
        }
        self.sender.send(fact).await.map_err(|_| Deaf)
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
