//! Decides which images would be built. Images whose files, recipe and base images are unchanged would not; they keep
//! their references.

use std::path::Path;
use std::sync::Arc;

use lilt_docker::Engine;
use lilt_model::cluster::ClusterInfo;
use lilt_model::image::{ImageBuild, ImageTarget};
use lilt_model::kubernetes::KubernetesResource;
use lilt_model::registry::Registry;
use lilt_model::{Failure, ImageName};

use crate::runner::{Base, CachedBuild, ImageReferences, cached_references};

/// The images of a resource.
#[derive(Default)]
pub(super) struct PlannedImages {
    pub(super) built: Vec<ImageName>,
    /// Images that exist, with their references in the cluster.
    pub(super) known: Vec<(ImageName, String)>,
}

/// Checks images against the build cache of a cluster's Docker engine.
pub(super) struct ImagePlanner<'a> {
    /// None if no engine responds: then every image counts as to be built.
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
            // An image is rebuilt when one that it is built on is.
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
        // The result of a custom build is not known in advance.
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
            // The build would fail with it, and report it then.
            Err(Failure { message, .. }) => {
                tracing::debug!(image = %image.name, message, "what would be built is not known");
                None
            }
        }
    }
}
