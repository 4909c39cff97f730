//! Translates Kubernetes events into notices, each once.
//!
//! Of events from before the session, only warnings are kept: they explain why something does not work.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::{Event, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use lilt_model::Timestamp;
use lilt_model::cluster::{Notice, PodRef, ProbeKind, Subject};
use lilt_model::kubernetes::ObjectRef;

use super::list_watch::ListWatchEvent;
use crate::pod::timestamp;

/// How many old warnings of one list are reported: each about another object than a pod costs a request.
const OLD_WARNINGS: usize = 100;

/// Recognizes repeated events. An event object is updated when the same thing happens again, so its version
/// distinguishes occurrences.
pub(super) struct Notices {
    /// Events since this time are new.
    since: Timestamp,
    seen: HashMap<String, String>,
    listed: bool,
    troubled: bool,
}

/// A notice and, unless it is about a pod, the object whose owners have to be resolved.
pub(super) type NoticeWithOwner = (Notice, Option<OwnerReference>);

impl Notices {
    pub(super) fn new(since: Timestamp) -> Self {
        Self { since, seen: HashMap::new(), listed: false, troubled: false }
    }

    /// Whether events from now on are reported, or never can be.
    pub(super) fn ready(&self) -> bool {
        self.listed || self.troubled
    }

    pub(super) fn take(&mut self, step: ListWatchEvent<Event>) -> Vec<NoticeWithOwner> {
        match step {
            ListWatchEvent::Listed(events) => self.listed(events),
            ListWatchEvent::Changed(event) => {
                let (uid, version) = identity(&event);
                let old = self.seen.insert(uid, version.clone());
                if old.as_ref() == Some(&version) {
                    Vec::new()
                } else {
                    translate(&event).into_iter().collect()
                }
            }
            ListWatchEvent::Gone(event) => {
                self.seen.remove(&identity(&event).0);
                Vec::new()
            }
            ListWatchEvent::Trouble(failure) | ListWatchEvent::Refused(failure) => {
                self.troubled = true;
                tracing::debug!(%failure, "events are not watched");
                Vec::new()
            }
            ListWatchEvent::Recovered => Vec::new(),
        }
    }

    fn listed(&mut self, events: Vec<Event>) -> Vec<NoticeWithOwner> {
        let first = !std::mem::replace(&mut self.listed, true);
        let before = std::mem::take(&mut self.seen);
        let (mut new, mut old) = (Vec::new(), Vec::new());
        for event in events {
            let (uid, version) = identity(&event);
            let is_known = before.get(&uid) == Some(&version);
            self.seen.insert(uid, version);
            let Some(notice) = translate(&event).filter(|_| !is_known) else { continue };
            if !first || notice.0.at >= self.since {
                new.push(notice);
            } else if notice.0.warning {
                old.push(notice);
            }
        }
        old.sort_by_key(|(notice, _)| notice.at);
        let mut all = old.split_off(old.len().saturating_sub(OLD_WARNINGS));
        new.sort_by_key(|(notice, _)| notice.at);
        all.extend(new);
        all
    }
}

fn identity(event: &Event) -> (String, String) {
    let meta = &event.metadata;
    (meta.uid.clone().unwrap_or_default(), meta.resource_version.clone().unwrap_or_default())
}

/// Returns none for irrelevant events: all events of pods matter, and warnings about other objects.
fn translate(event: &Event) -> Option<NoticeWithOwner> {
    let object = &event.involved_object;
    let warning = event.type_.as_deref() == Some("Warning");
    let is_pod = object.kind.as_deref() == Some("Pod");
    if !is_pod && !warning {
        return None;
    }
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
    let precise = series.or(event.event_time.as_ref()).map(|time| Timestamp(time.0.as_microsecond()));
    let coarse = event.last_timestamp.as_ref().or(event.metadata.creation_timestamp.as_ref()).map(timestamp);
    let (about, owner) = if is_pod { (Subject::Pod(pod(object)), None) } else { subject(object)? };
    let message = event.message.clone().unwrap_or_default();
    let notice = Notice {
        about,
        warning,
        reason: event.reason.clone().unwrap_or_default(),
        probe: failed_probe(&message),
        message,
        at: precise.or(coarse).unwrap_or_default(),
    };
    Some((notice, owner))
}

/// Returns the probe that an event is about.
///
/// Its reason, `Unhealthy` or `Killing`, does not name the probe. Only the kubelet's text does: `Liveness probe
/// failed: …`, `Container main failed liveness probe, will be restarted`.
fn failed_probe(message: &str) -> Option<ProbeKind> {
    let names = [
        (ProbeKind::Liveness, "Liveness", " liveness probe"),
        (ProbeKind::Readiness, "Readiness", " readiness probe"),
        (ProbeKind::Startup, "Startup", " startup probe"),
    ];
    let by_beginning = names.iter().find(|(_, name, _)| message.starts_with(name));
    let found = by_beginning.or_else(|| names.iter().find(|(_, _, within)| message.contains(within)))?;
    Some(found.0)
}

fn pod(object: &ObjectReference) -> PodRef {
    PodRef {
        namespace: object.namespace.clone().unwrap_or_default(),
        name: object.name.clone().unwrap_or_default(),
        ..PodRef::default()
    }
}

/// Returns none for cluster-wide objects such as nodes: they belong to no resource.
fn subject(object: &ObjectReference) -> Option<(Subject, Option<OwnerReference>)> {
    let namespace = object.namespace.clone().filter(|namespace| !namespace.is_empty())?;
    let owner = OwnerReference {
        api_version: object.api_version.clone().unwrap_or_default(),
        kind: object.kind.clone()?,
        name: object.name.clone()?,
        uid: object.uid.clone()?,
        ..OwnerReference::default()
    };
    let (api_version, kind, name) = (owner.api_version.clone(), owner.kind.clone(), owner.name.clone());
    let object = ObjectRef { api_version, kind, namespace, name };
    Some((Subject::Object { object, uids: Vec::new() }, Some(owner)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn event(uid: &str, version: &str) -> Event {
        of("Pod", "Warning", uid, version, 100)
    }

    fn of(kind: &str, level: &str, uid: &str, version: &str, second: i64) -> Event {
        let time = jiff::Timestamp::from_second(second).unwrap().to_string();
        let object: Value =
            json!({"kind": kind, "apiVersion": "apps/v1", "name": "web", "namespace": "n", "uid": "u"});
        serde_json::from_value(json!({
            "metadata": {"uid": uid, "resourceVersion": version}, "lastTimestamp": time,
            "involvedObject": object, "reason": uid, "type": level}))
        .unwrap()
    }

    fn reasons(notices: Vec<NoticeWithOwner>) -> Vec<String> {
        notices.into_iter().map(|(notice, _)| notice.reason).collect()
    }

    #[test]
    fn failed_probe_is_found_in_the_text() {
        for (message, expected) in [
            ("Liveness probe failed: HTTP probe failed with statuscode: 500", Some(ProbeKind::Liveness)),
            ("Readiness probe errored: the liveness probe is off", Some(ProbeKind::Readiness)),
            ("Container main failed startup probe, will be restarted", Some(ProbeKind::Startup)),
            ("Container main failed liveness probe, will be restarted", Some(ProbeKind::Liveness)),
            ("Stopping container main", None),
        ] {
            assert_eq!(failed_probe(message), expected, "{message}");
        }
    }

    #[test]
    fn only_new_events_are_reported_also_after_a_resync() {
        let mut notices = Notices::new(Timestamp(200_000_000));
        assert!(!notices.ready());
        let first = vec![
            of("Pod", "Normal", "old", "1", 100),
            of("Pod", "Normal", "recent", "1", 200),
            of("Pod", "Warning", "cause", "1", 100),
        ];
        assert_eq!(reasons(notices.take(ListWatchEvent::Listed(first))), ["cause", "recent"]);
        assert!(notices.ready());
        assert_eq!(notices.take(ListWatchEvent::Changed(event("new", "2"))).len(), 1);
        assert_eq!(notices.take(ListWatchEvent::Changed(event("new", "2"))).len(), 0);
        let resync = vec![event("cause", "1"), event("new", "3"), event("newer", "4")];
        assert_eq!(reasons(notices.take(ListWatchEvent::Listed(resync))), ["new", "newer"]);
    }

    #[test]
    fn other_objects_report_warnings_only() {
        let mut notices = Notices::new(Timestamp(0));
        assert!(notices.take(ListWatchEvent::Changed(of("ReplicaSet", "Normal", "made", "1", 1))).is_empty());
        let warnings = notices.take(ListWatchEvent::Changed(of("ReplicaSet", "Warning", "refused", "2", 1)));
        let [(notice, Some(owner))] = &warnings[..] else { panic!("{warnings:?}") };
        assert_eq!((owner.uid.as_str(), notice.to_string().as_str()), ("u", "[event: replicaset n/web] "));
        let mut node = of("Node", "Warning", "node", "3", 1);
        node.involved_object.namespace = None;
        assert!(notices.take(ListWatchEvent::Changed(node)).is_empty());
    }
}
