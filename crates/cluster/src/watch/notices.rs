//! Kubernetes events as notices: each happening once, and none from before the watch.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::Event;
use lilt_model::Timestamp;
use lilt_model::cluster::{PodNotice, PodRef};

use super::tail::Step;
use crate::pod::timestamp;

/// An event object is rewritten when the same thing happens again, so its version tells happenings apart.
#[derive(Default)]
pub(super) struct Notices {
    seen: HashMap<String, String>,
    listed: bool,
    troubled: bool,
}

impl Notices {
    /// Whether what happens from now on will be told (or never can be).
    pub(super) fn ready(&self) -> bool {
        self.listed || self.troubled
    }

    pub(super) fn take(&mut self, step: Step<Event>) -> Vec<PodNotice> {
        match step {
            Step::Listed(events) => {
                let first = !std::mem::replace(&mut self.listed, true);
                let seen = std::mem::take(&mut self.seen);
                let mut notices = Vec::new();
                for event in events {
                    let (uid, version) = identity(&event);
                    if !first && seen.get(&uid) != Some(&version) {
                        notices.push(translate(&event));
                    }
                    self.seen.insert(uid, version);
                }
                notices.sort_by_key(|notice| notice.at);
                notices
            }
            Step::Changed(event) => {
                let (uid, version) = identity(&event);
                let old = self.seen.insert(uid, version.clone());
                if old.as_ref() == Some(&version) { Vec::new() } else { vec![translate(&event)] }
            }
            Step::Gone(event) => {
                self.seen.remove(&identity(&event).0);
                Vec::new()
            }
            Step::Trouble(failure) => {
                self.troubled = true;
                tracing::debug!(%failure, "events are not watched");
                Vec::new()
            }
            Step::Recovered => Vec::new(),
        }
    }
}

fn identity(event: &Event) -> (String, String) {
    let meta = &event.metadata;
    (meta.uid.clone().unwrap_or_default(), meta.resource_version.clone().unwrap_or_default())
}

fn translate(event: &Event) -> PodNotice {
    let object = &event.involved_object;
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
    let precise = series.or(event.event_time.as_ref()).map(|time| Timestamp(time.0.as_microsecond()));
    let coarse = event.last_timestamp.as_ref().or(event.metadata.creation_timestamp.as_ref()).map(timestamp);
    PodNotice {
        pod: PodRef {
            namespace: object.namespace.clone().unwrap_or_default(),
            name: object.name.clone().unwrap_or_default(),
        },
        warning: event.type_.as_deref() == Some("Warning"),
        reason: event.reason.clone().unwrap_or_default(),
        message: event.message.clone().unwrap_or_default(),
        at: precise.or(coarse).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(uid: &str, version: &str) -> Event {
        serde_json::from_value(json!({
            "metadata": {"uid": uid, "resourceVersion": version},
            "involvedObject": {"name": "web", "namespace": "n"}, "reason": uid, "type": "Warning"}))
        .unwrap()
    }

    #[test]
    fn only_what_is_new_is_told_also_after_a_resync() {
        let mut notices = Notices::default();
        assert!(!notices.ready());
        assert_eq!(notices.take(Step::Listed(vec![event("old", "1")])).len(), 0);
        assert!(notices.ready());
        assert_eq!(notices.take(Step::Changed(event("new", "2"))).len(), 1);
        assert_eq!(notices.take(Step::Changed(event("new", "2"))).len(), 0);
        let resync = vec![event("old", "1"), event("new", "3"), event("newer", "4")];
        let told: Vec<String> =
            notices.take(Step::Listed(resync)).into_iter().map(|notice| notice.reason).collect();
        assert_eq!(told, ["new", "newer"]);
    }
}
