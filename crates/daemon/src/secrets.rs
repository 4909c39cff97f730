//! Keeps the values of Secrets out of what readers see besides logs: what failed, why, and what the cluster says.

use lilt_engine::{Event, ServeExit};
use lilt_model::api::{UIResource, UISession};
use lilt_model::secret::Redactor;

/// Out of what a runner tells, before it becomes state.
pub(crate) fn keep_out_of_event(redactor: &Redactor, event: &mut Event) {
    if redactor.is_empty() {
        return;
    }
    let failure = match event {
        Event::UpdateEnded { outcome, .. } => outcome.failure.as_mut(),
        Event::ServeEnded { exit: ServeExit::Failed(failure), .. } => Some(failure),
        _ => None,
    };
    if let Some(failure) = failure {
        redactor.redact_failure(failure);
    }
}

/// Out of what is shown of a resource, wherever the words came from.
pub(crate) fn keep_out_of_object(redactor: &Redactor, resource: &mut UIResource) {
    if redactor.is_empty() {
        return;
    }
    let status = &mut resource.status;
    let history =
        status.build_history.iter_mut().flat_map(|it| it.warnings.iter_mut().chain([&mut it.error]));
    let pod = status.k8s_resource_info.iter_mut().map(|info| &mut info.pod_status_message);
    let notes = resource.metadata.annotations.values_mut();
    for words in history.chain(pod).chain(notes) {
        redactor.redact_in_place(words);
    }
}

/// The same of the session: why something is unreachable.
pub(crate) fn keep_out_of_session(redactor: &Redactor, session: &mut UISession) {
    if !redactor.is_empty() {
        session.metadata.annotations.values_mut().for_each(|words| redactor.redact_in_place(words));
    }
}

#[cfg(test)]
mod tests {
    use lilt_model::api::{BuildTerminated, ObjectMeta, UIResourceStatus};
    use lilt_model::secret::Secret;

    use super::*;

    #[test]
    fn words_of_an_object_have_no_secrets() {
        let value = "hunter2".to_owned();
        let secret = Secret {
            name: "db".into(),
            key: "pw".into(),
            value: value.into(),
            encoded: "aHVudGVyMg==".into(),
        };
        let redactor = Redactor::new(&[secret]);
        let ended = BuildTerminated {
            error: "login with hunter2 failed".into(),
            warnings: vec!["hunter2 is weak".into()],
            ..BuildTerminated::default()
        };
        let mut metadata = ObjectMeta::default();
        metadata.annotations.insert("lilt.dev/hold".into(), "waits for hunter2".into());
        let status = UIResourceStatus { build_history: vec![ended], ..UIResourceStatus::default() };
        let mut resource = UIResource { api_version: String::new(), kind: String::new(), metadata, status };
        keep_out_of_object(&redactor, &mut resource);
        let hidden = "[redacted secret db:pw]";
        assert_eq!(resource.status.build_history[0].error, format!("login with {hidden} failed"));
        assert_eq!(resource.status.build_history[0].warnings, [format!("{hidden} is weak")]);
        assert_eq!(resource.metadata.annotations["lilt.dev/hold"], format!("waits for {hidden}"));
    }
}
