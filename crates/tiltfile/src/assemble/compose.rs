//! Turns services of Docker Compose into resources.

use lilt_model::compose::ComposeResource;
use lilt_model::image::{ComposeBuild, ImageBuild};
use lilt_model::reference::Reference;
use lilt_model::resource::{Body, Resource};
use lilt_model::{Failure, ResourceName};

use super::dependencies::Dependencies;
use super::images::Images;
use super::names;
use super::{Defaults, Problems};
use crate::declarations::{ComposeDeclaration, Declarations, ImageDeclaration, ServiceDeclaration};
use crate::image_index::ImageIndex;

/// Declares the images that Compose itself builds, unless the Tiltfile builds them.
pub(super) fn declare_images(declared: &mut Declarations) {
    for compose in &declared.compose {
        for service in &compose.services {
            let index = ImageIndex::new(declared.images.iter().map(|image| image.reference.clone()));
            let Some(build) = &service.build else { continue };
            if index.find(image_of(service)).is_some() {
                continue;
            }
            let recipe = ComposeBuild { service: service.service.clone(), context: build.context.clone() };
            let reference = image_of(service).clone();
            declared.images.push(ImageDeclaration {
                roots: build.context.iter().cloned().collect(),
                watch_ignores: build.watch_ignores.clone(),
                ..ImageDeclaration::new(compose.span.clone(), reference, ImageBuild::Compose(recipe))
            });
        }
    }
}

fn image_of(service: &ServiceDeclaration) -> &Reference {
    service.options.image.as_ref().unwrap_or(&service.image)
}

pub(super) fn resources(
    compose: &ComposeDeclaration,
    defaults: Defaults<'_>,
    images: &mut Images<'_>,
    dependencies: &mut Dependencies,
    problems: &mut Problems,
) -> Vec<Resource> {
    let mut resources = Vec::new();
    for service in &compose.services {
        let options = &service.options;
        let named: Vec<_> =
            options.resource_deps.iter().map(|name| (name.clone(), compose.span.clone())).collect();
        dependencies.add(&service.name, &named);
        let needed = images.needed(std::slice::from_ref(image_of(service)), problems);
        if let Some(image) = needed.targets.iter().find(|image| image.entrypoint.is_some()) {
            let message = format!(
                "the entrypoint of the image {} has no effect: {} runs it by Docker Compose",
                image.name, service.name
            );
            problems.add(&compose.span, Failure::user(message).hint("set entrypoint in the Compose file"));
        }
        resources.push(Resource {
            name: ResourceName::new(&service.name),
            labels: options.labels.clone(),
            links: options.links.clone(),
            resource_deps: names(options.resource_deps.iter().cloned()),
            trigger_mode: options.trigger_mode.unwrap_or(defaults.trigger_mode),
            auto_init: options.auto_init.unwrap_or(true),
            cascade: options.cascade.unwrap_or(defaults.cascade),
            body: Body::Compose(ComposeResource {
                project: compose.project.clone(),
                service: service.service.clone(),
                config: service.config.clone(),
                images: needed.targets,
                image_deps: needed.deployed,
                published_ports: service.published_ports.clone(),
                infer_links: options.infer_links,
            }),
        });
    }
    resources
}
