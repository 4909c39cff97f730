//! Suggestions ("did you mean") for mistyped names.

use strsim::osa_distance;

/// Returns the known name that is most similar; none if no name is similar enough.
pub fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let limit = (name.chars().count() / 3).max(1);
    known
        .filter(|candidate| *candidate != name)
        .map(|candidate| (osa_distance(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= limit || contains(name, candidate))
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns whether one name is a part of the other, such as `api` of `team/api`.
fn contains(name: &str, candidate: &str) -> bool {
    name.len() >= 3 && candidate.len() >= 3 && (candidate.contains(name) || name.contains(candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name_is_found_for_typos_and_parts() {
        let known = ["docker_build", "k8s_yaml", "team/api", "web"];
        let near = |name| nearest(name, known.into_iter());
        assert_eq!(near("docker_buidl"), Some("docker_build"));
        assert_eq!(near("k8syaml"), Some("k8s_yaml"));
        assert_eq!(near("api"), Some("team/api"));
        assert_eq!(near("wbe"), Some("web"));
        assert_eq!(near("database"), None);
    }
}
