//! Parses secrets as in `docker build --secret`: `id=key,src=key.pem`, `id=key,env=KEY`, `id=KEY`.

use std::collections::BTreeMap;
use std::path::Path;

use lilt_host::files;
use lilt_model::Failure;

use super::build_inputs::Variables;

/// Reads the value of each secret, by its id. Paths are relative to `base`.
pub(crate) fn read(
    specifications: &[String],
    base: &Path,
    variables: &Variables<'_>,
) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let mut secrets = BTreeMap::new();
    for specification in specifications {
        let parsed = parse(specification).map_err(|why| {
            Failure::user(format!("docker_build(secret='{specification}'): {why}"))
                .hint("as docker build --secret takes it: 'id=key,src=key.pem' or 'id=key,env=KEY'")
        })?;
        let value = value(&parsed, base, variables).map_err(|why| {
            Failure::user(format!("the secret {} of docker_build has no value: {why}", parsed.id))
        })?;
        secrets.insert(parsed.id, value);
    }
    Ok(secrets)
}

/// Returns the variable that may contain the value.
pub(crate) fn variable(specification: &str) -> Option<String> {
    match parse(specification).ok()?.source {
        Source::Variable(name) | Source::Either(name) => Some(name),
        Source::File(_) => None,
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Specification {
    id: String,
    source: Source,
}

#[derive(Debug, PartialEq, Eq)]
enum Source {
    File(String),
    Variable(String),
    /// The variable of that name if it is set, otherwise the file.
    Either(String),
}

fn parse(text: &str) -> Result<Specification, String> {
    let (mut id, mut kind, mut file, mut variable) = (None, None, None, None);
    for part in text.split(',') {
        let (key, value) =
            part.split_once('=').ok_or_else(|| format!("{part:?} must be a key=value pair"))?;
        let field = match key {
            "id" => &mut id,
            "type" => &mut kind,
            "src" | "source" => &mut file,
            "env" => &mut variable,
            _ => return Err(format!("there is no key {key:?}")),
        };
        *field = Some(value.to_owned());
    }
    let id = match (id, &file) {
        (Some(id), _) if !id.is_empty() => id,
        (None, Some(file)) if !file.is_empty() => file.clone(),
        _ => return Err("an id is needed".to_owned()),
    };
    let source = match (kind.as_deref(), file, variable) {
        (None | Some("env"), None, Some(variable)) => Source::Variable(variable),
        (Some("env"), file, None) => Source::Variable(file.unwrap_or_else(|| id.clone())),
        (None | Some("file"), Some(file), None) => Source::File(file),
        (Some("file"), None, None) => Source::File(id.clone()),
        (None, None, None) => Source::Either(id.clone()),
        (Some(kind), ..) if !matches!(kind, "env" | "file") => {
            return Err(format!("there is no type {kind:?}"));
        }
        _ => return Err("it is either a file or a variable".to_owned()),
    };
    Ok(Specification { id, source })
}

fn value(specification: &Specification, base: &Path, variables: &Variables<'_>) -> Result<Vec<u8>, String> {
    let variable = |name: &str| variables.get(name).map(String::into_bytes);
    let file = |path: &str| {
        let path = base.join(path);
        files::read(&path).ok_or_else(|| format!("{} cannot be read", path.display()))
    };
    match &specification.source {
        Source::File(path) => file(path),
        Source::Variable(name) => variable(name).ok_or_else(|| format!("the variable {name} is not set")),
        Source::Either(name) => variable(name).map_or_else(|| file(name), Ok),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_specifications_are_parsed_like_docker() {
        let parsed = |text: &str| parse(text).map(|it| (it.id, it.source));
        let id = || "key".to_owned();
        assert_eq!(parsed("id=key,src=a.pem"), Ok((id(), Source::File("a.pem".into()))));
        assert_eq!(parsed("type=file,source=key"), Ok((id(), Source::File("key".into()))));
        assert_eq!(parsed("id=key,env=KEY"), Ok((id(), Source::Variable("KEY".into()))));
        assert_eq!(parsed("type=env,id=key"), Ok((id(), Source::Variable("key".into()))));
        assert_eq!(parsed("id=key"), Ok((id(), Source::Either("key".into()))));
        for wrong in ["", "key", "id=", "id=key,frob=1", "id=key,type=frob", "id=key,src=a,env=b"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
