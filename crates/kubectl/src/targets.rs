//! Parses the arguments `TYPE`, `TYPE NAME …`, `TYPE/NAME …`, `TYPE,TYPE` and `all`.

use lilt_api::kinds::{Kind, kinds};

use super::problem::Problem;

/// What a command applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// All objects of a kind that match the selectors.
    Kind(&'static Kind),
    One(&'static Kind, String),
}

impl Target {
    pub(crate) fn kind(&self) -> &'static Kind {
        match self {
            Target::Kind(kind) | Target::One(kind, _) => kind,
        }
    }
}

/// `cmd.tilt.dev`
pub(crate) fn full_name(kind: &Kind) -> String {
    format!("{}.tilt.dev", kind.singular())
}

pub(crate) fn kind(word: &str) -> Result<&'static Kind, Problem> {
    let unknown = || Problem::message(format!("the server doesn't have a resource type {word:?}"));
    kinds().called(word).ok_or_else(unknown)
}

/// Parses kinds such as `cmd,fw` or `all`.
fn several(word: &str) -> Result<Vec<&'static Kind>, Problem> {
    let mut found: Vec<&'static Kind> = Vec::new();
    for word in word.split(',').filter(|word| !word.is_empty()) {
        let named = if word == "all" { kinds().all().iter().collect() } else { vec![kind(word)?] };
        for kind in named {
            if !found.contains(&kind) {
                found.push(kind);
            }
        }
    }
    Ok(found)
}

/// Parses the arguments. Without any it returns nothing: the caller reports what is missing.
pub(crate) fn targets(words: &[String]) -> Result<Vec<Target>, Problem> {
    let Some((first, names)) = words.split_first() else { return Ok(Vec::new()) };
    if words.iter().any(|word| word.contains('/')) {
        return words.iter().map(|word| pair(word)).collect();
    }
    let kinds = several(first)?;
    if names.is_empty() {
        return Ok(kinds.into_iter().map(Target::Kind).collect());
    }
    let named = |kind: &'static Kind| names.iter().map(move |name| Target::One(kind, name.clone()));
    Ok(kinds.into_iter().flat_map(named).collect())
}

fn pair(word: &str) -> Result<Target, Problem> {
    match word.split('/').collect::<Vec<_>>().as_slice() {
        [word, name] if !word.is_empty() && !name.is_empty() => {
            Ok(Target::One(kind(word)?, (*name).to_owned()))
        }
        [_, _] => Err(Problem::message(
            "arguments in resource/name form must have a single resource and name".to_owned(),
        )),
        [_] => Err(Problem::message(
            "there is no need to specify a resource type as a separate argument when passing arguments in \
             resource/name form (e.g. 'lilt get resource/<resource_name>' instead of 'lilt get resource \
             resource/<resource_name>'",
        )),
        _ => Err(Problem::message("arguments in resource/name form may not have more than one slash")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Vec<String>, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let told = |target: Target| match target {
            Target::Kind(kind) => kind.name.to_owned(),
            Target::One(kind, name) => format!("{}/{name}", kind.name),
        };
        targets(&words)
            .map(|targets| targets.into_iter().map(told).collect())
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn arguments_resolve_to_objects() {
        let ok = |words: &[&str]| Ok(words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(parsed(&["cmds"]), ok(&["Cmd"]));
        assert_eq!(parsed(&["Cmd", "a", "b"]), ok(&["Cmd/a", "Cmd/b"]));
        assert_eq!(parsed(&["cmd/a", "fw/b"]), ok(&["Cmd/a", "FileWatch/b"]));
        assert_eq!(parsed(&["cm,cmd.tilt.dev,cm"]), ok(&["ConfigMap", "Cmd"]));
        assert_eq!(parsed(&["cm,cmd", "x"]), ok(&["ConfigMap/x", "Cmd/x"]));
        assert_eq!(parsed(&["all"]).map(|all| all.len()), Ok(22));
        assert_eq!(parsed(&[]), ok(&[]));
    }

    #[test]
    fn mistakes_are_reported() {
        assert_eq!(
            parsed(&["pods"]),
            Err("error: the server doesn't have a resource type \"pods\"".to_owned())
        );
        assert!(parsed(&["cmd", "cmd/x"]).is_err_and(|words| words.contains("there is no need")));
        assert!(parsed(&["cmd/x/y"]).is_err_and(|words| words.contains("more than one slash")));
        assert!(parsed(&["cmd/"]).is_err_and(|words| words.contains("single resource and name")));
    }
}
