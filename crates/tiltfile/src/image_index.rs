//! Which of the project's images a reference means.

use std::collections::HashMap;

use lilt_model::reference::Reference;

/// The images that the project builds, and which of them a reference means.
#[derive(Debug)]
pub(crate) struct ImageIndex {
    /// By domain and path, with the positions.
    by_name: HashMap<(String, String), Vec<(usize, Reference)>>,
    /// By position: stands for exactly its reference.
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

    /// `x` and `x:tag` are two images: once there are several of one name, each stands for its own tag only.
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
    fn tags_matter_only_where_they_tell_images_apart() {
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
