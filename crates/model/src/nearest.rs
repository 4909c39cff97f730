//! "Did you mean": the known name that is nearest to a mistyped one.

/// None if no name is near enough to be meant.
pub fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let limit = (name.chars().count() / 3).max(1);
    known
        .filter(|candidate| *candidate != name)
        .map(|candidate| (distance(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= limit || contains(name, candidate))
        .min()
        .map(|(_, candidate)| candidate)
}

/// A name that was cut short or given a prefix is near, too: `api` for `team/api`.
fn contains(name: &str, candidate: &str) -> bool {
    name.len() >= 3 && candidate.len() >= 3 && (candidate.contains(name) || name.contains(candidate))
}

/// Edits (insert, delete, replace, swap of neighbours) that make one of the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, a) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, b) in to.iter().enumerate() {
            let replace = above[column] + usize::from(a != b);
            let mut best = replace.min(above[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && from[row - 1] == *b && to[column - 1] == *a {
                best = best.min(before[column - 1] + 1);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let known = ["docker_build", "k8s_yaml", "team/api", "web"];
        let near = |name| nearest(name, known.into_iter());
        assert_eq!(near("docker_buidl"), Some("docker_build"));
        assert_eq!(near("k8syaml"), Some("k8s_yaml"));
        assert_eq!(near("api"), Some("team/api"));
        assert_eq!(near("wbe"), Some("web"));
        assert_eq!(near("database"), None);
    }
}
