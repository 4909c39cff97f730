//! Removes old containers, images and build caches. Containers and images are selected by the label that images of
//! development sessions carry.

use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use lilt_model::reference::Reference;
use lilt_model::{Failure, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use crate::engine::{Engine, Query, encode_path, refusal};

/// The label of images that may be removed.
pub(crate) const PRUNABLE_LABEL: &str = "dev.tilt.gc";

/// The label of containers of a kubelet, which removes them itself: it would restart one that vanished, and nobody
/// could read its log.
const POD_LABEL: &str = "io.kubernetes.pod.uid";

/// What may be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruneRequest {
    pub now: Timestamp,
    /// Younger ones are kept.
    pub max_age: Duration,
    /// How many of the newest images of each name are kept.
    pub keep_recent: u32,
    /// Only images of these names are removed.
    pub names: Vec<Reference>,
    /// Names of images in use, which are kept at any age.
    pub used: Vec<String>,
}

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneOutcome {
    pub removed: Vec<String>,
    pub bytes: u64,
    /// Errors of images that could not be removed.
    pub refused: Vec<String>,
}

/// An image that may be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    id: String,
    tags: Vec<String>,
    /// When it was last built or tagged. The creation time in an image may be years old.
    tagged: Timestamp,
    bytes: u64,
}

impl Engine {
    /// Removes stopped containers, except those of pods.
    pub async fn prune_containers(&self, request: &PruneRequest) -> Result<PruneOutcome, Failure> {
        let mut filters = filters(request);
        filters["label!"] = serde_json::json!([POD_LABEL]);
        self.prune_kind("containers", "ContainersDeleted", &filters).await
    }

    /// Removes build caches. They have no labels: as in Tilt, only their age counts.
    pub async fn prune_caches(&self, request: &PruneRequest) -> Result<PruneOutcome, Failure> {
        self.prune_kind("build", "CachesDeleted", &filters(request)).await
    }

    async fn prune_kind(&self, kind: &str, list: &str, filters: &Value) -> Result<PruneOutcome, Failure> {
        let query = Query::new().add("filters", &filters.to_string()).finish();
        let path = format!("/{kind}/prune?{query}");
        let response = self.request(Method::POST, &path, HeaderMap::new()).await?;
        match response.status {
            status if status.is_success() => {}
            // Podman does not support it.
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => return Ok(PruneOutcome::default()),
            _ => return Err(refusal(response, &format!("the Docker engine refused /{kind}/prune")).await),
        }
        let report: Value = self.read(&path, response).await?;
        let names = report[list].as_array().into_iter().flatten();
        Ok(PruneOutcome {
            removed: names.filter_map(|name| name.as_str().map(str::to_owned)).collect(),
            bytes: report["SpaceReclaimed"].as_u64().unwrap_or(0),
            refused: Vec::new(),
        })
    }

    pub async fn prune_images(&self, request: &PruneRequest) -> Result<PruneOutcome, Failure> {
        let mut pruned = PruneOutcome::default();
        for image in choose(self.candidates().await?, request) {
            match self.remove(&image.id).await {
                Ok(steps) => {
                    pruned.removed.extend(steps);
                    pruned.bytes += image.bytes;
                }
                Err(failure) => pruned.refused.push(failure.message),
            }
        }
        Ok(pruned)
    }

    async fn candidates(&self) -> Result<Vec<Candidate>, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Listed {
            id: String,
        }
        let filters = serde_json::json!({ "label": [format!("{PRUNABLE_LABEL}=true")] }).to_string();
        let query = Query::new().add("filters", &filters).finish();
        let listed: Vec<Listed> = self.get(&format!("/images/json?{query}")).await?;
        let mut found = Vec::new();
        for image in listed {
            // Somebody else may have removed it since it was listed.
            found.extend(self.candidate(&image.id).await?);
        }
        Ok(found)
    }

    async fn candidate(&self, id: &str) -> Result<Option<Candidate>, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Inspected {
            id: String,
            #[serde(default)]
            repo_tags: Option<Vec<String>>,
            #[serde(default)]
            metadata: Metadata,
            #[serde(default)]
            size: u64,
        }
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Metadata {
            #[serde(default)]
            last_tag_time: Option<String>,
        }
        let path = format!("/images/{}/json", encode_path(id));
        let response = self.request(Method::GET, &path, HeaderMap::new()).await?;
        match response.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            _ => return Err(refusal(response, &format!("cannot look up the image {id}")).await),
        }
        let image: Inspected = self.read(&path, response).await?;
        let tagged = image.metadata.last_tag_time.as_deref().and_then(Timestamp::from_rfc3339);
        Ok(Some(Candidate {
            id: image.id,
            tags: image.repo_tags.unwrap_or_default(),
            tagged: tagged.unwrap_or(Timestamp::ZERO),
            bytes: image.size,
        }))
    }

    async fn remove(&self, id: &str) -> Result<Vec<String>, Failure> {
        #[derive(Deserialize)]
        struct Step {
            #[serde(rename = "Deleted", default)]
            deleted: Option<String>,
            #[serde(rename = "Untagged", default)]
            untagged: Option<String>,
        }
        let path = format!("/images/{}", encode_path(id));
        let response = self.request(Method::DELETE, &path, HeaderMap::new()).await?;
        if !response.status.is_success() {
            return Err(refusal(response, &format!("cannot remove the image {id}")).await);
        }
        let steps: Vec<Step> = self.read(&path, response).await?;
        let describe = |step: Step| match (step.deleted, step.untagged) {
            (Some(id), _) => Some(format!("deleted: {id}")),
            (None, Some(name)) => Some(format!("untagged: {name}")),
            (None, None) => None,
        };
        Ok(steps.into_iter().filter_map(describe).collect())
    }
}

fn filters(request: &PruneRequest) -> Value {
    let until = format!("{}s", request.max_age.as_secs());
    serde_json::json!({ "label": [format!("{PRUNABLE_LABEL}=true")], "until": [until] })
}

/// Returns old images of the requested names, without the newest of each.
///
/// An image with several names is kept: somebody gave it the other name, and the engine would refuse to remove it.
fn choose(mut found: Vec<Candidate>, request: &PruneRequest) -> Vec<Candidate> {
    found.sort_by_key(|image| std::cmp::Reverse(image.tagged));
    let mut recent = vec![0; request.names.len()];
    found.retain(|image| {
        let references = image.tags.iter().filter_map(|tag| Reference::parse(tag).ok());
        let names: Vec<String> = references.map(|reference| reference.name()).collect();
        let Some(at) = request.names.iter().position(|name| names.contains(&name.name())) else {
            return false;
        };
        let is_old = request.now.since(image.tagged) >= request.max_age;
        let is_used = image.tags.iter().any(|tag| request.used.contains(tag));
        if !is_old || is_used || image.tags.len() > 1 {
            return false;
        }
        recent[at] += 1;
        recent[at] > request.keep_recent
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn image(id: &str, tags: &[&str], hours_ago: u32) -> Candidate {
        Candidate {
            id: id.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            tagged: Timestamp::ZERO.plus(HOUR * (100 - hours_ago)),
            bytes: 1,
        }
    }

    fn request(keep_recent: u32, used: &[&str]) -> PruneRequest {
        PruneRequest {
            now: Timestamp::ZERO.plus(HOUR * 100),
            max_age: HOUR * 6,
            keep_recent,
            names: ["web", "localhost:5000/api"].map(|name| Reference::parse(name).unwrap()).into(),
            used: used.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn chosen(found: &[Candidate], request: &PruneRequest) -> Vec<String> {
        choose(found.to_vec(), request).into_iter().map(|image| image.id).collect()
    }

    #[test]
    fn old_images_of_requested_names_are_chosen() {
        let found = [
            image("young", &["web:tilt-1"], 5),
            image("old", &["web:tilt-2"], 6),
            image("older", &["web:tilt-3"], 9),
            image("oldest", &["web:tilt-4"], 50),
            image("api", &["localhost:5000/api:tilt-1"], 8),
            image("other", &["other:tilt-1"], 50),
            image("nameless", &[], 50),
            image("two", &["web:tilt-5", "web:mine"], 50),
        ];
        assert_eq!(chosen(&found, &request(0, &[])), ["old", "api", "older", "oldest"]);
        assert_eq!(chosen(&found, &request(2, &[])), ["oldest"]);
        assert_eq!(chosen(&found, &request(0, &["web:tilt-3"])), ["old", "api", "oldest"]);
        let nothing = PruneRequest { names: Vec::new(), ..request(0, &[]) };
        assert!(chosen(&found, &nothing).is_empty());
    }
}
