//! An API server that goes away in the middle of an apply usually comes back.

use std::time::Duration;

use lilt_cluster::{Applied, ApplyOptions, Cluster, is_unreachable};
use lilt_model::Failure;
use serde_json::Value;
use tokio::time::Instant;

use super::steps::Steps;

const PAUSE: Duration = Duration::from_millis(500);

/// Applies until the API server has answered, as long as an apply may take. What was applied before stays as it is.
pub(super) async fn apply(
    cluster: &Cluster,
    objects: &[Value],
    how: &ApplyOptions<'_>,
    steps: &mut Steps,
) -> Result<Vec<Applied>, Failure> {
    let deadline = Instant::now() + how.timeout;
    let mut told = false;
    loop {
        let failure = match cluster.apply_with(objects, how).await {
            Err(failure) if is_unreachable(&failure) && Instant::now() < deadline => failure,
            result => return result,
        };
        if !std::mem::replace(&mut told, true) {
            steps.detail(&format!("{}; trying again", failure.message));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
