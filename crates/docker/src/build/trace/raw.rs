//! Parses the progress that `docker buildx build --progress rawjson` prints as lines of JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bollard_buildkit_proto::google::protobuf::Timestamp;
use bollard_buildkit_proto::moby::buildkit::v1::{
    StatusResponse, Vertex, VertexLog, VertexStatus, VertexWarning,
};
use bollard_buildkit_proto::pb;
use serde::Deserialize;

#[derive(Deserialize)]
struct RawStatus {
    #[serde(default)]
    vertexes: Vec<RawVertex>,
    #[serde(default)]
    statuses: Vec<RawProgress>,
    #[serde(default)]
    logs: Vec<RawLog>,
    #[serde(default)]
    warnings: Vec<RawWarning>,
}

#[derive(Deserialize)]
struct RawVertex {
    digest: String,
    #[serde(default)]
    name: String,
    started: Option<jiff::Timestamp>,
    completed: Option<jiff::Timestamp>,
    #[serde(default)]
    cached: bool,
    #[serde(default)]
    error: String,
}

#[derive(Deserialize)]
struct RawProgress {
    id: String,
    vertex: String,
    #[serde(default)]
    total: i64,
    #[serde(default)]
    current: i64,
}

#[derive(Deserialize)]
struct RawLog {
    vertex: String,
    #[serde(default)]
    stream: i64,
    #[serde(default)]
    data: String,
}

#[derive(Deserialize)]
struct RawWarning {
    #[serde(default)]
    short: String,
    #[serde(default)]
    range: Vec<RawRange>,
}

#[derive(Deserialize)]
struct RawRange {
    start: Option<RawPosition>,
}

#[derive(Deserialize)]
struct RawPosition {
    #[serde(default)]
    line: i32,
}

/// Returns none for other lines: warnings and errors of buildx.
pub(in crate::build) fn raw(line: &str) -> Option<StatusResponse> {
    let raw: RawStatus = serde_json::from_str(line).ok()?;
    let text = |encoded: &str| STANDARD.decode(encoded).unwrap_or_default();
    Some(StatusResponse {
        vertexes: raw.vertexes.into_iter().map(vertex).collect(),
        statuses: raw
            .statuses
            .into_iter()
            .map(|it| VertexStatus {
                id: it.id,
                vertex: it.vertex,
                total: it.total,
                current: it.current,
                ..VertexStatus::default()
            })
            .collect(),
        logs: raw
            .logs
            .into_iter()
            .map(|it| VertexLog {
                vertex: it.vertex,
                stream: it.stream,
                msg: text(&it.data),
                ..VertexLog::default()
            })
            .collect(),
        warnings: raw
            .warnings
            .into_iter()
            .map(|it| VertexWarning {
                short: text(&it.short),
                ranges: it.range.into_iter().map(range).collect(),
                ..VertexWarning::default()
            })
            .collect(),
    })
}

fn vertex(raw: RawVertex) -> Vertex {
    let time =
        |time: jiff::Timestamp| Timestamp { seconds: time.as_second(), nanos: time.subsec_nanosecond() };
    Vertex {
        digest: raw.digest,
        name: raw.name,
        started: raw.started.map(time),
        completed: raw.completed.map(time),
        cached: raw.cached,
        error: raw.error,
        ..Vertex::default()
    }
}

fn range(raw: RawRange) -> pb::Range {
    let start = raw.start.map(|start| pb::Position { line: start.line, ..pb::Position::default() });
    pb::Range { start, ..pb::Range::default() }
}
