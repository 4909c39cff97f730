//! The object API under the web port, for the page: `/proxy/apis/…`.

use std::sync::Arc;

use axum::Router;
use lilt_model::Timestamp;
use lilt_store::{Reader, WriteRequest};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::api::{Api, router};

/// What the web port needs to serve the object API.
#[derive(Clone, Debug)]
pub struct ProxiedApi {
    pub writes: mpsc::Sender<WriteRequest>,
    /// The host's clock.
    pub clock: fn() -> Timestamp,
}

pub(crate) fn routes(
    api: ProxiedApi,
    reader: Reader,
    version: Arc<str>,
    closing: CancellationToken,
) -> Router {
    let ProxiedApi { writes, clock } = api;
    router(Api { reader, writes, clock, version, closing })
}
