//! Puts images that were built here in the place of those that a Dockerfile names.

use lilt_model::ImageName;
use lilt_model::reference::Reference;

/// The Dockerfile with every `FROM` and `--from=` of a built image replaced by what was built.
pub(crate) fn replace(dockerfile: &str, built: &[(ImageName, String)]) -> String {
    if built.is_empty() {
        return dockerfile.to_owned();
    }
    dockerfile.split_inclusive('\n').map(|line| replace_in_line(line, built)).collect()
}

fn replace_in_line(line: &str, built: &[(ImageName, String)]) -> String {
    let Some(named) = image_of(line) else { return line.to_owned() };
    match find(named, built) {
        // The name occurs where it was found; what stands before it is an instruction or a flag.
        Some(reference) => line.replacen(named, reference, 1),
        None => line.to_owned(),
    }
}

/// The image that an instruction names.
fn image_of(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let instruction = words.next()?;
    if instruction.eq_ignore_ascii_case("FROM") {
        return words.find(|word| !word.starts_with("--"));
    }
    if instruction.eq_ignore_ascii_case("COPY") || instruction.eq_ignore_ascii_case("RUN") {
        return words.find_map(|word| word.strip_prefix("--from="));
    }
    None
}

fn find<'a>(named: &str, built: &'a [(ImageName, String)]) -> Option<&'a str> {
    let named = Reference::parse(named).ok()?;
    let same = |name: &ImageName| Reference::parse(name.as_str()).is_ok_and(|image| image.matches(&named));
    built.iter().find(|(name, _)| same(name)).map(|(_, reference)| reference.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_images_replace_those_that_are_named() {
        let built = [(ImageName::new("base"), "localhost:5000/base:tilt-1".to_owned())];
        let dockerfile =
            "FROM --platform=linux/amd64 base AS one\nFROM busybox\nCOPY --from=base /a /b\nRUN echo base\n";
        assert_eq!(
            replace(dockerfile, &built),
            "FROM --platform=linux/amd64 localhost:5000/base:tilt-1 AS one\nFROM busybox\n\
             COPY --from=localhost:5000/base:tilt-1 /a /b\nRUN echo base\n"
        );
    }
}
