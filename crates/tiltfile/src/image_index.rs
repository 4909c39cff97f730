//! Finds the project's image that a reference refers to.

use std::collections::HashMap;

use lilt_model::reference::Reference;

/// The images that the project builds, by their names.
#[derive(Debug)]
pub(crate) struct ImageIndex {
    /// By domain and path, with the positions.
    by_name: HashMap<(String, String), Vec<(usize, Reference)>>,
    /// By position: whether it matches its exact reference only.
    exact: Vec<bool>,
}

impl ImageIndex {
    pub(crate) fn new(images: impl Iterator<Item = Reference>) -> Self {
        let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
        for (position, image) in images.enumerate() {
            by_name
                .entry((image.domain().to_owned(), image.path().to_owned()))
                .or_default()
                .push((position, image));
        }
        let mut exact = vec![false; by_name.values().map(Vec::len).sum()];
        for same_name in by_name.values() {
            for (position, image) in same_name {
                exact[*position] = same_name.len() > 1 || image.tag().is_some();
            }
        }
        Self { by_name, exact }
    }

    pub(crate) fn is_exact(&self, position: usize) -> bool {
        self.exact[position]
    }

    /// Finds an image. If several have one name, such as `x` and `x:tag`, each matches its own tag only.
    pub(crate) fn find(&self, used: &Reference) -> Option<usize> {
        let same_name = self.by_name.get(&(used.domain().to_owned(), used.path().to_owned()))?;
        let matches = |(position, image): &&(usize, Reference)| !self.exact[*position] || image == used;
        same_name.iter().find(matches).map(|(position, _)| *position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(text: &str) -> Reference {
        Reference::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn tags_matter_only_for_images_of_the_same_name() {
        let index = ImageIndex::new(["web", "api:dev", "db", "db:two"].map(reference).into_iter());
        let find = |text| index.find(&reference(text));
        assert_eq!(find("web:anything"), Some(0));
        assert_eq!(find("docker.io/library/web"), Some(0));
        assert_eq!(find("api:dev"), Some(1));
        assert_eq!(find("api"), None);
        assert_eq!(find("db"), Some(2));
        assert_eq!(find("db:two"), Some(3));
        assert_eq!(find("db:three"), None);
    }
}
