//! Injects images into custom resources, at the paths that the user declares.

use lilt_model::Failure;
use lilt_model::locator::{ImageLocator, ObjectMatcher};
use serde_json::Value;

use super::Image;

pub(super) fn compile(locators: &[ImageLocator]) -> Result<Vec<(&ImageLocator, ObjectMatcher)>, Failure> {
    let mut compiled = Vec::new();
    for locator in locators {
        compiled.push((locator, locator.selector.matcher().map_err(Failure::user)?));
    }
    Ok(compiled)
}

pub(super) fn inject(
    object: &mut Value,
    locators: &[(&ImageLocator, ObjectMatcher)],
    images: &mut [Image<'_>],
) -> Result<(), Failure> {
    for (locator, matcher) in locators {
        for image in images.iter_mut() {
            let ours = |reference: &_| image.matches(reference);
            let done = locator.inject(matcher, object, ours, &image.deployed, "IfNotPresent");
            image.used |= done.map_err(Failure::user)?;
        }
    }
    Ok(())
}
