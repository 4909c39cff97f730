//! Which images would be built, and what those are called that would not: whose files, recipe and base images are as they
//! were when they were built.

use std::path::Path;
use std::sync::Arc;

use lilt_docker::Engine;
use lilt_model::cluster::{ClusterInfo, Registry};
use lilt_model::image::{ImageBuild, ImageTarget};
use lilt_model::kubernetes::KubernetesResource;
use lilt_model::{Failure, ImageName};

use crate::runner::{Base, CachedBuild, ImageReferences, cached_references};

/// What comes of the images of a resource.
#[derive(Default)]
pub(super) struct PlannedImages {
    pub(super) built: Vec<ImageName>,
    /// As the cluster knows those that are there.
    pub(super) known: Vec<(ImageName, String)>,
}

/// Where the images of a cluster are built, and for whom.
pub(super) struct ImagePlanner<'a> {
    /// None if none answers: then nothing is known.
    pub(super) engine: Option<Arc<Engine>>,
    pub(super) info: &'a ClusterInfo,
    pub(super) default_registry: Option<&'a Registry>,
    pub(super) folder: &'a Path,
}

impl ImagePlanner<'_> {
    pub(super) async fn images(&self, kubernetes: &KubernetesResource) -> PlannedImages {
        let mut images = PlannedImages::default();
        let mut bases: Vec<Base<'_>> = Vec::new();
        for image in kubernetes.images.iter().filter(|image| image.is_built()) {
            // What it is built on becomes another.
            let renewed = image.depends_on.iter().any(|base| images.built.contains(base));
            match if renewed { None } else { self.known(image, &bases).await } {
                Some(named) => {
                    bases.push((image, named.local));
                    images.known.push((image.name.clone(), named.in_cluster));
                }
                None => images.built.push(image.name.clone()),
            }
        }
        images
    }

    async fn known(&self, image: &ImageTarget, bases: &[Base<'_>]) -> Option<ImageReferences> {
        // Only a command itself knows what comes of it.
        let ImageBuild::Docker(recipe) = &image.build else { return None };
        let build = CachedBuild {
            engine: self.engine.as_deref()?,
            registry: self.info.registry.as_ref().or(self.default_registry),
            platform: self.info.platform.as_deref(),
            folder: self.folder,
            bases,
        };
        match cached_references(&build, &image.name, recipe).await {
            Ok(named) => named,
            // The build would fail, which is told then.
            Err(Failure { message, .. }) => {
                tracing::debug!(image = %image.name, message, "what would be built is not known");
                None
            }
        }
    }
}
