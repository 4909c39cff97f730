//! Images in the result of a load.

use lilt_api::fields::{Node, ignores, list_or_null, path, paths};
use lilt_api::specs;
use lilt_model::ResourceName;
use lilt_model::image::{ComposeBuild, ImageBuild, ImageTarget};
use serde_json::json;

use super::{Context, object_name};

pub(super) fn targets(resource: &ResourceName, images: &[ImageTarget], context: Context<'_>) -> Node {
    images.iter().map(|image| target(resource, image, context)).collect()
}

fn target(resource: &ResourceName, image: &ImageTarget, context: Context<'_>) -> Node {
    let update = image.live_update.as_ref();
    let updates = update.is_some_and(|update| !update.syncs.is_empty() || !update.runs.is_empty());
    let name = object_name(resource.as_str(), image.name.as_str());
    let name_if = |wanted: bool| if wanted { name.clone() } else { String::new() };
    let is_docker = matches!(image.build, ImageBuild::Docker(_));
    let is_command = matches!(image.build, ImageBuild::Custom(_) | ImageBuild::LiveUpdateOnly);
    specs::image_map(image)
        .put("LiveUpdateName", name_if(updates))
        .put(
            "LiveUpdateSpec",
            update.map_or_else(|| json!({"basePath": "", "selector": {}}).into(), specs::live_update),
        )
        .put("LiveUpdateReconciler", updates)
        .put("DockerImageName", name_if(is_docker))
        .put("CmdImageName", name_if(is_command))
        .put("BuildDetails", build(image))
        .put("IsLiveUpdateOnly", !image.is_built())
        .put("FileWatchIgnores", list_or_null(ignores(context.without_global_rules(&image.files.ignores))))
        .finish()
}

fn build(image: &ImageTarget) -> Node {
    let needed = &image.depends_on;
    match &image.build {
        ImageBuild::Docker(build) => specs::docker_image(build, needed).finish(),
        ImageBuild::Custom(build) => {
            specs::cmd_image(build, needed).put("Deps", list_or_null(paths(&build.deps))).finish()
        }
        ImageBuild::Compose(ComposeBuild { service, context }) => {
            json!({"Service": service, "Context": context.as_deref().map(path).unwrap_or_default()}).into()
        }
        // In Tilt, a command that does nothing.
        ImageBuild::LiveUpdateOnly => json!({
            "ref": "",
            "args": ["sh", "-c", ":"],
            "outputMode": "local-docker",
            "Deps": paths(&image.files.roots),
        })
        .into(),
    }
}
