//! Images in the result of a load.

use lilt_api::{CmdImageSpec, DockerImageSpec, IgnoreDef, ImageMapSpec, LiveUpdateSpec, ignore_defs};
use lilt_model::ResourceName;
use lilt_model::image::{ComposeBuild, ImageBuild, ImageTarget};
use serde::Serialize;

use super::{Context, list_or_null, object_name};

/// An image of a resource, with the fields of Tilt's `ImageTarget`.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ImageTargetEntry {
    #[serde(flatten)]
    spec: ImageMapSpec,
    live_update_name: String,
    live_update_spec: LiveUpdateSpec,
    live_update_reconciler: bool,
    docker_image_name: String,
    cmd_image_name: String,
    build_details: BuildDetails,
    is_live_update_only: bool,
    file_watch_ignores: Option<Vec<IgnoreDef>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum BuildDetails {
    Docker(Box<DockerImageSpec>),
    Custom(Box<CustomBuildDetails>),
    Compose(ComposeBuildDetails),
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct CustomBuildDetails {
    #[serde(flatten)]
    spec: CmdImageSpec,
    deps: Option<Vec<String>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ComposeBuildDetails {
    service: String,
    context: String,
}

pub(super) fn targets(
    resource: &ResourceName,
    images: &[ImageTarget],
    context: Context<'_>,
) -> Vec<ImageTargetEntry> {
    images.iter().map(|image| target(resource, image, context)).collect()
}

fn target(resource: &ResourceName, image: &ImageTarget, context: Context<'_>) -> ImageTargetEntry {
    let update = image.live_update.as_ref();
    let updates = update.is_some_and(|update| !update.syncs.is_empty() || !update.runs.is_empty());
    let name = object_name(resource.as_str(), image.name.as_str());
    let name_if = |wanted: bool| if wanted { name.clone() } else { String::new() };
    let is_docker = matches!(image.build, ImageBuild::Docker(_));
    let is_command = matches!(image.build, ImageBuild::Custom(_) | ImageBuild::LiveUpdateOnly);
    ImageTargetEntry {
        spec: ImageMapSpec::from(image),
        live_update_name: name_if(updates),
        live_update_spec: update.map(LiveUpdateSpec::from).unwrap_or_default(),
        live_update_reconciler: updates,
        docker_image_name: name_if(is_docker),
        cmd_image_name: name_if(is_command),
        build_details: build_details(image),
        is_live_update_only: !image.is_built(),
        file_watch_ignores: list_or_null(ignore_defs(context.without_global_rules(&image.files.ignores))),
    }
}

fn build_details(image: &ImageTarget) -> BuildDetails {
    let paths = |paths: &[std::path::PathBuf]| -> Vec<String> {
        paths.iter().map(|path| path.display().to_string()).collect()
    };
    match &image.build {
        ImageBuild::Docker(build) => {
            BuildDetails::Docker(Box::new(DockerImageSpec::new(build, &image.depends_on)))
        }
        ImageBuild::Custom(build) => BuildDetails::Custom(Box::new(CustomBuildDetails {
            spec: CmdImageSpec::new(build, &image.depends_on),
            deps: list_or_null(paths(&build.deps)),
        })),
        ImageBuild::Compose(ComposeBuild { service, context }) => {
            let context = context.as_deref().map(|path| path.display().to_string());
            BuildDetails::Compose(ComposeBuildDetails {
                service: service.clone(),
                context: context.unwrap_or_default(),
            })
        }
        // In Tilt, a command that does nothing.
        ImageBuild::LiveUpdateOnly => BuildDetails::Custom(Box::new(CustomBuildDetails {
            spec: CmdImageSpec {
                args: ["sh", "-c", ":"].map(str::to_owned).into(),
                output_mode: "local-docker".to_owned(),
                ..CmdImageSpec::default()
            },
            deps: Some(paths(&image.files.roots)),
        })),
    }
}
