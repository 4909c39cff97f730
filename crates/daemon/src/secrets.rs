//! Redacts the values of Secrets in events and in objects before they are committed. The log store redacts its lines itself.

use lilt_api::{ObjectMeta, UIResource, UISession, annotation};
use lilt_engine::{CommandExit, Event, ForwardState, SyncFault};
use lilt_model::Failure;
use lilt_model::cluster::{ContainerState, Pod};
use lilt_model::image::BuildRecord;
use lilt_model::secret::{Redactor, redact_values};
use lilt_model::timeline::UpdateRecord;

/// Redacts what a runner reports, before it becomes state.
pub(crate) fn redact_event(redactor: &Redactor, event: &mut Event) {
    if redactor.is_empty() {
        return;
    }
    match event {
        Event::UpdateEnded { outcome, .. } => {
            outcome.builds.iter_mut().for_each(|build| redact_build(redactor, build));
            outcome.warnings.iter_mut().for_each(|warning| redactor.redact_in_place(warning));
        }
        Event::ObjectImageBuilt { record: Some(record), .. } => redact_build(redactor, record),
        Event::StageBegan { detail, .. } => redactor.redact_in_place(detail),
        Event::CommandProbed { cause: Some(cause), .. } => redactor.redact_in_place(cause),
        Event::PodChanged { pod } => redact_pod(redactor, pod),
        Event::Noticed { notice } => redactor.redact_in_place(&mut notice.message),
        _ => {}
    }
    if let Some(failure) = failure_of(event) {
        redactor.redact_failure(failure);
    }
}

fn failure_of(event: &mut Event) -> Option<&mut Failure> {
    match event {
        Event::UpdateEnded { outcome, .. } => outcome.failure.as_mut(),
        Event::UpdateCommandEnded { exit: CommandExit::Failed(failure), .. }
        | Event::CommandEnded { exit: CommandExit::Failed(failure), .. }
        | Event::ForwardChanged { state: ForwardState::Failed(failure), .. }
        | Event::ObjectsApplied { outcome: Err(failure), .. }
        | Event::ObjectImageBuilt { outcome: Err(failure), .. }
        | Event::ClusterFailed { failure, .. }
        | Event::ClusterTroubled { failure, .. }
        | Event::TaskBroke { failure, .. } => Some(failure),
        Event::Synced { outcome: Err(fault), .. } => match fault {
            SyncFault::Step(failure) | SyncFault::Transport(failure) | SyncFault::Closed(failure) => {
                Some(failure)
            }
            SyncFault::Gone => None,
        },
        _ => None,
    }
}

fn redact_pod(redactor: &Redactor, pod: &mut Pod) {
    let containers = pod.containers.iter_mut().filter_map(|container| match &mut container.state {
        ContainerState::Waiting { message, .. } | ContainerState::Terminated { message, .. } => Some(message),
        ContainerState::Running { .. } => None,
    });
    let conditions = pod.conditions.iter_mut().map(|condition| &mut condition.message);
    containers.chain(conditions).chain(&mut pod.message).for_each(|text| redactor.redact_in_place(text));
}

fn redact_build(redactor: &Redactor, build: &mut BuildRecord) {
    let stages = build.stages.iter_mut().flat_map(|stage| [Some(&mut stage.name), stage.error.as_mut()]);
    stages.chain([build.error.as_mut()]).flatten().for_each(|text| redactor.redact_in_place(text));
}

/// Redacts the record of an update, which is kept for the whole session.
pub(crate) fn redact_record(redactor: &Redactor, record: &mut UpdateRecord) {
    if redactor.is_empty() {
        return;
    }
    let details = record.stages.iter_mut().map(|stage| &mut stage.detail);
    let texts = details.chain(&mut record.error).chain([&mut record.cause]);
    texts.for_each(|text| redactor.redact_in_place(text));
}

/// Redacts the texts of a resource, wherever they came from.
pub(crate) fn redact_resource(redactor: &Redactor, resource: &mut UIResource) {
    if redactor.is_empty() {
        return;
    }
    let status = &mut resource.status;
    let history =
        status.build_history.iter_mut().flat_map(|it| it.warnings.iter_mut().chain([&mut it.error]));
    let pod = status.k8s_resource_info.iter_mut().map(|info| &mut info.pod_status_message);
    for text in history.chain(pod) {
        redactor.redact_in_place(text);
    }
    redact_annotations(redactor, &mut resource.metadata);
}

/// Redacts annotations, except for names and arguments: readers use names as keys, and write arguments back.
fn redact_annotations(redactor: &Redactor, metadata: &mut ObjectMeta) {
    for (name, text) in &mut metadata.annotations {
        match name.as_str() {
            annotation::ARGS => {}
            name if annotation::is_reference(name) => {}
            annotation::HOLD_DATA | annotation::UNREACHABLE => redact_json(redactor, text),
            _ => redactor.redact_in_place(text),
        }
    }
}

fn redact_json(redactor: &Redactor, text: &mut String) {
    match serde_json::from_str(text) {
        Ok(value) => {
            let redacted = redact_values("", serde_json::Value::clone(&value), redactor);
            if redacted != value {
                *text = redacted.to_string();
            }
        }
        Err(_) => redactor.redact_in_place(text),
    }
}

/// Redacts the texts of the session, such as why a dependency is unreachable.
pub(crate) fn redact_session(redactor: &Redactor, session: &mut UISession) {
    if !redactor.is_empty() {
        redact_annotations(redactor, &mut session.metadata);
    }
}

#[cfg(test)]
mod tests {
    use lilt_api::{ObjectMeta, UIBuildTerminated, UIResourceStatus};
    use lilt_engine::Owner;
    use lilt_model::Timestamp;
    use lilt_model::secret::Secret;
    use lilt_model::timeline::{Outcome, Stage, StageKind};

    use super::*;

    fn redactor() -> Redactor {
        let secret = Secret {
            name: "db".into(),
            key: "pw".into(),
            value: "hunter2".into(),
            encoded: "aHVudGVyMg==".into(),
        };
        Redactor::new(&[secret])
    }

    #[test]
    fn stage_details_and_update_records_are_redacted() {
        let hidden = "[redacted secret db:pw]";
        let detail = "login -p hunter2".to_owned();
        let mut event = Event::StageBegan {
            owner: Owner::Resource("web".into()),
            update: 1,
            stage: StageKind::Run,
            detail,
        };
        redact_event(&redactor(), &mut event);
        let Event::StageBegan { detail, .. } = event else { panic!("another event") };
        assert_eq!(detail, format!("login -p {hidden}"));
        let mut record = UpdateRecord {
            update: 1,
            cause: "Changed: hunter2".into(),
            begin: Timestamp::ZERO,
            end: None,
            outcome: Outcome::Failed,
            error: Some("no hunter2".into()),
            stages: vec![Stage::new(StageKind::Run, "login -p hunter2", Timestamp::ZERO)],
        };
        redact_record(&redactor(), &mut record);
        assert_eq!(record.cause, format!("Changed: {hidden}"));
        assert_eq!(record.error, Some(format!("no {hidden}")));
        assert_eq!(record.stages[0].detail, format!("login -p {hidden}"));
    }

    #[test]
    fn failure_and_warnings_of_an_update_are_redacted() {
        let outcome = lilt_engine::UpdateOutcome {
            warnings: vec!["hunter2 is weak".into()],
            ..lilt_engine::UpdateOutcome::failed(Failure::user("no hunter2"))
        };
        let mut event = Event::UpdateEnded { resource: "web".into(), update: 1, outcome: Box::new(outcome) };
        redact_event(&redactor(), &mut event);
        let Event::UpdateEnded { outcome, .. } = event else { panic!("another event") };
        let hidden = "[redacted secret db:pw]";
        assert_eq!(outcome.warnings, [format!("{hidden} is weak")]);
        assert_eq!(outcome.failure, Some(Failure::user(format!("no {hidden}"))));
    }

    #[test]
    fn names_in_annotations_are_not_redacted() {
        let mut metadata = ObjectMeta::default();
        let hold = r#"{"hold":"dependencies","on":[{"name":"hunter2","state":"updating"}],"why":"hunter2"}"#;
        let before = [
            (annotation::ARGS, r#"["hunter2"]"#),
            (annotation::RESOURCE_DEPS, r#"["hunter2"]"#),
            (annotation::UNREACHABLE_CLUSTER, "hunter2"),
            (annotation::HOLD_DATA, hold),
            (annotation::DRIFT, "data.x: hunter2"),
        ];
        metadata.annotations.extend(before.map(|(name, text)| (name.to_owned(), text.to_owned())));
        redact_annotations(&redactor(), &mut metadata);
        for (name, text) in &before[..3] {
            assert_eq!(metadata.annotations[*name], *text);
        }
        let hidden = "[redacted secret db:pw]";
        let hold: serde_json::Value =
            serde_json::from_str(&metadata.annotations[annotation::HOLD_DATA]).unwrap();
        assert_eq!((&hold["on"][0]["name"], &hold["why"]), (&"hunter2".into(), &hidden.into()));
        assert_eq!(metadata.annotations[annotation::DRIFT], format!("data.x: {hidden}"));
    }

    #[test]
    fn messages_of_pods_and_notices_are_redacted() {
        let pod = serde_json::json!({
            "namespace": "n", "name": "hunter2", "uid": "u", "owners": [], "nearest_owner": null, "template_hash": null,
            "created": Timestamp::ZERO, "deleting": false, "phase": "Running", "ready": false, "status": "Error",
            "message": "no hunter2", "containers": [], "conditions": [
                {"kind": "Ready", "met": false, "reason": "X", "message": "not hunter2", "since": Timestamp::ZERO},
            ],
        });
        let pod: Box<Pod> = serde_json::from_value(pod).unwrap();
        let mut event = Event::PodChanged { pod };
        redact_event(&redactor(), &mut event);
        let Event::PodChanged { pod } = event else { panic!("another event") };
        let hidden = "[redacted secret db:pw]";
        assert_eq!(pod.message, Some(format!("no {hidden}")));
        assert_eq!(pod.conditions[0].message, format!("not {hidden}"));
        assert_eq!(pod.name, "hunter2");
    }

    #[test]
    fn texts_of_a_resource_are_redacted() {
        let redactor = redactor();
        let ended = UIBuildTerminated {
            error: "login with hunter2 failed".into(),
            warnings: vec!["hunter2 is weak".into()],
            ..UIBuildTerminated::default()
        };
        let mut metadata = ObjectMeta::default();
        metadata.annotations.insert("lilt.dev/hold".into(), "waits for hunter2".into());
        // The name of a resource is not redacted.
        metadata.annotations.insert(annotation::RESOURCE_DEPS.into(), "[\"hunter2\"]".into());
        let status = UIResourceStatus { build_history: vec![ended], ..UIResourceStatus::default() };
        let mut resource = UIResource::new(metadata, status);
        redact_resource(&redactor, &mut resource);
        let hidden = "[redacted secret db:pw]";
        assert_eq!(resource.status.build_history[0].error, format!("login with {hidden} failed"));
        assert_eq!(resource.status.build_history[0].warnings, [format!("{hidden} is weak")]);
        assert_eq!(resource.metadata.annotations["lilt.dev/hold"], format!("waits for {hidden}"));
        assert_eq!(resource.metadata.annotations[annotation::RESOURCE_DEPS], "[\"hunter2\"]");
    }
}
