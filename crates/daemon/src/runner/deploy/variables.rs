//! The variables that describe built images to commands.

use lilt_model::ImageName;

/// Returns the reference and the `ImageMap` name of each image, numbered by position.
pub(crate) fn of_images<'a>(
    images: impl IntoIterator<Item = (&'a ImageName, &'a str)>,
) -> Vec<(String, String)> {
    let variables = |(at, (name, reference)): (usize, (&ImageName, &str))| {
        let map = name.as_str().replace(['/', '%'], "_");
        [(format!("TILT_IMAGE_MAP_{at}"), map), (format!("TILT_IMAGE_{at}"), reference.to_owned())]
    };
    images.into_iter().enumerate().flat_map(variables).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_variables_are_numbered() {
        let (web, api) = (ImageName::from("team/web"), ImageName::from("api"));
        let variables = of_images([(&web, "localhost:5000/team_web:tilt-1"), (&api, "api:tilt-2")]);
        let variables: Vec<String> =
            variables.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            variables,
            [
                "TILT_IMAGE_MAP_0=team_web",
                "TILT_IMAGE_0=localhost:5000/team_web:tilt-1",
                "TILT_IMAGE_MAP_1=api",
                "TILT_IMAGE_1=api:tilt-2",
            ]
        );
    }
}
