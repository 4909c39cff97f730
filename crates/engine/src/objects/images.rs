//! Looks up images by the names of their maps, whoever builds them.

use lilt_api::{Content, ImageMap, ObjectKey, ObjectKind, sanitize_name};
use lilt_model::image::ImageTarget;
use lilt_model::resource::Body;
use lilt_model::{ImageName, Timestamp};

use super::references::changed;
use crate::state::State;

/// Returns how the image of a map is found in objects, and its reference in the cluster once it was built.
pub(crate) fn image_map(state: &State, name: &str) -> Option<(ImageTarget, Option<String>)> {
    of_resource(state, name).or_else(|| {
        let map = map_object(state, name)?;
        let known = [&map.status.image_from_cluster, &map.status.image];
        let reference = known.into_iter().find(|reference| !reference.is_empty()).cloned();
        Some((map.spec.image_target(), reference))
    })
}

fn map_object<'s>(state: &'s State, name: &str) -> Option<&'s ImageMap> {
    match &state.objects.get(ObjectKind::ImageMap, name)?.content {
        Content::ImageMap(map) => Some(map),
        _ => None,
    }
}

fn of_resource(state: &State, name: &str) -> Option<(ImageTarget, Option<String>)> {
    state.resources.values().find_map(|resource| {
        let (Body::Kubernetes(spec), Some(known)) = (&resource.spec.body, resource.kubernetes()) else {
            return None;
        };
        let is_it = |image: &&ImageTarget| image.is_built() && sanitize_name(image.name.as_str()) == name;
        let image = spec.images.iter().find(is_it)?;
        let known = known.images.get(&image.name).filter(|known| !known.stale);
        Some((image.clone(), known.and_then(|known| known.reference.clone())))
    })
}

/// Returns when the build of a map's image began: it contains earlier saves.
pub(crate) fn built_at(state: &State, name: &str) -> Option<Timestamp> {
    let of_resource = state.resources.values().find_map(|resource| {
        let images = &resource.kubernetes()?.images;
        let (_, image) = images.iter().find(|(image, _)| sanitize_name(image.as_str()) == name)?;
        image.built_during.map(|(began, _)| began)
    });
    of_resource.or_else(|| map_object(state, name)?.status.build_start_time)
}

/// Returns the images of these maps, or a description of the first that does not exist yet.
pub(super) fn built(state: &State, maps: &[String]) -> Result<Vec<(ImageTarget, String)>, String> {
    let one = |name: &String| match image_map(state, name) {
        Some((image, Some(reference))) => Ok((image, reference)),
        Some((_, None)) => Err(format!("waiting for the image of the ImageMap {name:?}")),
        None => Err(format!("waiting for the ImageMap {name:?}: there is none")),
    };
    maps.iter().map(one).collect()
}

/// Handles the change or the removal of a resource's image.
pub(crate) fn image_changed(state: &mut State, image: &ImageName) {
    changed(state, &ObjectKey::new(ObjectKind::ImageMap, sanitize_name(image.as_str())));
}
