//! Names and symbols of statuses. Symbol and word carry the meaning, colour repeats it.
//! The words are those of the page.

use lilt_api::{RuntimeStatus, UIResource, UpdateStatus, annotation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Ok,
    Busy,
    Starting,
    Waiting,
    Error,
    Idle,
    Absent,
}

impl Shape {
    /// The symbol, one column wide, distinct without colour.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Shape::Ok => "✓",
            Shape::Busy => "»",
            Shape::Starting => "›",
            Shape::Waiting => "…",
            Shape::Error => "✗",
            Shape::Idle => "·",
            Shape::Absent => "-",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) shape: Shape,
    pub(crate) word: &'static str,
}

fn status(shape: Shape, word: &'static str) -> Status {
    Status { shape, word }
}

pub(crate) fn update(resource: &UIResource) -> Status {
    let it = &resource.status;
    if is_disabled(resource) {
        return status(Shape::Absent, "Disabled");
    }
    match it.update_status {
        UpdateStatus::Ok if it.has_pending_changes => status(Shape::Waiting, "Changes waiting"),
        UpdateStatus::Ok => status(Shape::Ok, "Up to date"),
        UpdateStatus::InProgress => status(Shape::Busy, "Updating"),
        UpdateStatus::Pending if it.queued => status(Shape::Waiting, "Queued"),
        UpdateStatus::Pending => status(Shape::Waiting, "Waiting"),
        UpdateStatus::Error => status(Shape::Error, "Update failed"),
        UpdateStatus::None => status(Shape::Idle, "Not started"),
        UpdateStatus::NotApplicable => status(Shape::Absent, "No update"),
    }
}

pub(crate) fn runtime(resource: &UIResource) -> Status {
    if is_disabled(resource) {
        return status(Shape::Absent, "Disabled");
    }
    match resource.status.runtime_status {
        RuntimeStatus::Ok => status(Shape::Ok, "Running"),
        RuntimeStatus::Pending if !is_starting(resource) => status(Shape::Idle, "Not running"),
        RuntimeStatus::Pending => status(Shape::Starting, "Starting"),
        RuntimeStatus::Error if is_unreachable(resource) => status(Shape::Error, "Unreachable"),
        RuntimeStatus::Error => status(Shape::Error, "Failing"),
        RuntimeStatus::Unknown => status(Shape::Idle, "Unknown"),
        RuntimeStatus::None => status(Shape::Idle, "Not running"),
        RuntimeStatus::NotApplicable => status(Shape::Absent, "Nothing to run"),
    }
}

/// Both statuses combined: the one that needs attention first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overall {
    Error,
    Busy,
    Starting,
    Waiting,
    Ok,
    Idle,
    Disabled,
}

impl Overall {
    pub(crate) const ALL: [Overall; 7] = [
        Overall::Error,
        Overall::Busy,
        Overall::Starting,
        Overall::Waiting,
        Overall::Ok,
        Overall::Idle,
        Overall::Disabled,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Overall::Error => "failing",
            Overall::Busy => "updating",
            Overall::Starting => "starting",
            Overall::Waiting => "waiting",
            Overall::Ok => "fine",
            Overall::Idle => "not started",
            Overall::Disabled => "disabled",
        }
    }

    pub(crate) fn shape(self) -> Shape {
        match self {
            Overall::Error => Shape::Error,
            Overall::Busy => Shape::Busy,
            Overall::Starting => Shape::Starting,
            Overall::Waiting => Shape::Waiting,
            Overall::Ok => Shape::Ok,
            Overall::Idle => Shape::Idle,
            Overall::Disabled => Shape::Absent,
        }
    }
}

/// Returns the overall status, by the same rule as the page (`overallStatus` in `web/src/model/status.ts`).
pub(crate) fn overall(resource: &UIResource) -> Overall {
    if is_disabled(resource) {
        return Overall::Disabled;
    }
    match (update(resource).shape, runtime(resource).shape) {
        (Shape::Error, _) | (_, Shape::Error) => Overall::Error,
        (Shape::Busy, _) => Overall::Busy,
        (Shape::Waiting, _) => Overall::Waiting,
        (_, Shape::Starting) => Overall::Starting,
        (Shape::Ok, _) | (_, Shape::Ok) => Overall::Ok,
        _ => Overall::Idle,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Error,
    Warning,
    Hold,
    Note,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Error => "Error",
            Kind::Warning => "Warning",
            Kind::Hold => "Waiting",
            Kind::Note => "Note",
        }
    }
}

/// Returns the messages about a resource, the most urgent first.
pub(crate) fn messages<'a>(resource: &'a UIResource) -> Vec<(Kind, &'a str)> {
    let it = &resource.status;
    let note = |key: &str| resource.metadata.annotations.get(key).map(String::as_str);
    let last = it.build_history.first();
    let fails = it.runtime_status == RuntimeStatus::Error;
    let pod = it.k8s_resource_info.as_ref().map(|pod| pod.pod_status_message.as_str());
    let running = note(annotation::RUNTIME_MESSAGE);
    let mut found = Vec::new();
    let mut add = |kind: Kind, text: Option<&'a str>| {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            found.push((kind, text));
        }
    };
    if it.current_build.is_none() {
        add(Kind::Error, last.map(|last| last.error.as_str()));
    }
    if fails {
        add(Kind::Error, running.or(pod));
    }
    add(Kind::Warning, note(annotation::FORWARDS));
    add(Kind::Warning, note(annotation::DRIFT));
    add(Kind::Hold, note(annotation::HOLD));
    if !fails {
        add(Kind::Note, running);
    }
    for warning in last.into_iter().flat_map(|last| &last.warnings) {
        add(Kind::Warning, Some(warning));
    }
    if it.current_build.is_some() {
        add(Kind::Note, note(annotation::CAUSE));
    }
    found
}

pub(crate) fn kind(resource: &UIResource) -> &'static str {
    let it = &resource.status;
    match &it.local_resource_info {
        _ if resource.metadata.name == "(Tiltfile)" => "Tiltfile",
        _ if it.k8s_resource_info.is_some() => "Kubernetes",
        Some(local) if local.is_test => "Test",
        Some(_) => "Local",
        None => "",
    }
}

/// Returns whether file changes wait for a manual trigger.
pub(crate) fn is_manual(resource: &UIResource) -> bool {
    matches!(resource.status.trigger_mode, 1 | 2)
}

pub(crate) fn is_disabled(resource: &UIResource) -> bool {
    resource.status.disable_status.as_ref().is_some_and(|it| it.state == "Disabled")
}

/// Returns whether it is starting. After a failed update only a pod of an earlier one can be.
fn is_starting(resource: &UIResource) -> bool {
    let it = &resource.status;
    let has_pod = it.k8s_resource_info.as_ref().is_some_and(|pod| !pod.pod_name.is_empty());
    it.update_status != UpdateStatus::Error || has_pod
}

/// Returns whether its cluster is unreachable: the status may be outdated.
fn is_unreachable(resource: &UIResource) -> bool {
    resource.metadata.annotations.contains_key(annotation::UNREACHABLE_CLUSTER)
}
