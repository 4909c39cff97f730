//! Removes what builds have left in the engine and nobody needs: containers, images and caches, all by the label that
//! images of a development session carry, and by their age.

use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use lilt_model::reference::Reference;
use lilt_model::{Failure, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use crate::engine::{Engine, Query, encode_path, refusal};

/// The label of images that may be removed.
pub(crate) const PRUNABLE_LABEL: &str = "dev.tilt.gc";

/// The label of containers that a kubelet has made. It removes them itself, in time: what misses a container that has
/// ended may run it again, and nobody could read its log any more.
const POD_LABEL: &str = "io.kubernetes.pod.uid";

/// What may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruneRequest {
    pub now: Timestamp,
    /// Younger ones stay.
    pub max_age: Duration,
    /// Of each name, so many stay, the newest.
    pub keep_recent: u32,
    /// Only images of these names go.
    pub names: Vec<Reference>,
    /// Images that are used, by name: they stay, whatever their age.
    pub used: Vec<String>,
}

/// What went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneOutcome {
    pub removed: Vec<String>,
    pub bytes: u64,
    /// What could not be removed, with the engine's reasons.
    pub refused: Vec<String>,
}

/// An image that may be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    id: String,
    tags: Vec<String>,
    /// When it was built or tagged last: what an image says of its making may be years ago.
    tagged: Timestamp,
    bytes: u64,
}

impl Engine {
    /// Containers that have ended, but for those of pods.
    pub async fn prune_containers(&self, request: &PruneRequest) -> Result<PruneOutcome, Failure> {
        let mut filters = filters(request);
        filters["label!"] = serde_json::json!([POD_LABEL]);
        self.prune_kind("containers", "ContainersDeleted", &filters).await
    }

    /// What builds keep for the next one. Engines do not know of labels here: as with Tilt, age alone counts.
    pub async fn prune_caches(&self, request: &PruneRequest) -> Result<PruneOutcome, Failure> {
        self.prune_kind("build", "CachesDeleted", &filters(request)).await
    }

    async fn prune_kind(&self, kind: &str, list: &str, filters: &Value) -> Result<PruneOutcome, Failure> {
        let query = Query::new().add("filters", &filters.to_string()).finish();
        let path = format!("/{kind}/prune?{query}");
        let response = self.request(Method::POST, &path, HeaderMap::new()).await?;
        match response.status {
            status if status.is_success() => {}
            // Podman has no such thing.
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
            // Gone since it was listed: somebody else was quicker.
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

/// Old ones of the given names, less the newest of each. One with several names stays: the engine would refuse, and
/// somebody gave it the other name.
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
    fn old_ones_of_our_names_go() {
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
