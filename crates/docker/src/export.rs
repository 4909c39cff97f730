//! Exports an image as a tar with one file for each blob, named by its digest.

mod blob_filter;

use std::collections::BTreeSet;

use bytes::Bytes;
use http::{HeaderMap, Method};
use lilt_model::Failure;
use tokio::sync::mpsc;

use crate::engine::{Engine, Query, refusal};
use crate::transport;
use blob_filter::BlobFilter;

/// How much of an image was sent, and how much was skipped because the receiver has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    pub sent: Parts,
    pub skipped: Parts,
}

/// Number and size of layers, configurations and manifests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    pub count: u64,
    pub bytes: u64,
}

impl Engine {
    /// Writes an image to a channel, without the blobs that the receiver has, given by their digests (`sha256:…`).
    ///
    /// Ends without an error if the receiver is dropped, which has its reasons.
    pub async fn export(
        &self,
        reference: &str,
        known: &BTreeSet<String>,
        to: mpsc::Sender<Bytes>,
    ) -> Result<Exported, Failure> {
        let query = Query::new().add("names", reference).finish();
        let response = self.request(Method::GET, &format!("/images/get?{query}"), HeaderMap::new()).await?;
        if !response.status.is_success() {
            return Err(refusal(response, &format!("cannot read the image {reference}")).await);
        }
        let mut response = response;
        let mut filter = BlobFilter::new(known);
        loop {
            let chunk = response.chunk().await.map_err(|error| transport::lost(&self.address, &error))?;
            let Some(chunk) = chunk else { break };
            for piece in filter.push(chunk) {
                if to.send(piece).await.is_err() {
                    return Ok(filter.exported());
                }
            }
        }
        match filter.is_complete() {
            true => Ok(filter.exported()),
            false => Err(Failure::environment(format!(
                "the Docker engine at {} gave only a part of the image {reference}",
                self.address
            ))),
        }
    }
}
