//! Replaces base images in Dockerfiles by images that were built here.

use lilt_model::dockerfile::replace_images;
use lilt_model::image::{DockerBuild, ImageTarget};
use lilt_model::reference::Reference;

/// A built image, with its reference in the local engine.
pub(crate) type Base<'a> = (&'a ImageTarget, String);

/// Returns the Dockerfile with every image that was built here replaced by its new reference.
pub(crate) fn replace(recipe: &DockerBuild, built: &[Base<'_>]) -> String {
    let stands_for = |image: &ImageTarget, named: &Reference| {
        let own = Reference::parse(image.name.as_str());
        own.is_ok_and(|own| if image.match_exact { own == *named } else { own.matches(named) })
    };
    replace_images(&recipe.dockerfile, &recipe.build_args, |named| {
        built.iter().find(|(image, _)| stands_for(image, named)).map(|(_, reference)| reference.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_images_are_replaced_by_built_images() {
        let base = ImageTarget { name: "base".into(), ..ImageTarget::default() };
        let exact = ImageTarget { name: "other:v1".into(), match_exact: true, ..ImageTarget::default() };
        let built = [(&base, "localhost:5000/base:tilt-1".to_owned()), (&exact, "other:tilt-2".to_owned())];
        let dockerfile = "ARG B\nFROM ${B} AS one\nFROM other\nCOPY --from=other:v1 /a /b\nRUN echo base\n";
        let build_args = vec![("B".to_owned(), "base:x".to_owned())];
        let recipe = DockerBuild { dockerfile: dockerfile.into(), build_args, ..DockerBuild::default() };
        assert_eq!(
            replace(&recipe, &built),
            "ARG B\nFROM localhost:5000/base:tilt-1 AS one\nFROM other\nCOPY --from=other:tilt-2 /a /b\nRUN echo base\n"
        );
    }
}
