//! The statuses of kinds that lilt cannot serve yet.

use lilt_api::{DockerComposeLogStreamStatus, DockerComposeServiceStatus};

const COMPOSE: &str = "not supported yet: Docker Compose";

pub(super) fn service_status() -> DockerComposeServiceStatus {
    DockerComposeServiceStatus { apply_error: COMPOSE.to_owned(), ..DockerComposeServiceStatus::default() }
}

pub(super) fn log_stream_status() -> DockerComposeLogStreamStatus {
    DockerComposeLogStreamStatus { error: COMPOSE.to_owned(), ..DockerComposeLogStreamStatus::default() }
}
