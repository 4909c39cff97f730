//! Parses ssh agents and keys as in `docker build --ssh`: `default`, `id=agent.sock`, `id=key,other-key`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lilt_docker::SshSource;
use lilt_host::files::{self, FileEntry};
use lilt_model::Failure;

use super::build_inputs::Variables;

/// The variable with the socket of the user's agent.
pub(crate) const AGENT: &str = "SSH_AUTH_SOCK";

/// Returns the source of the keys, by id. Paths are relative to `base`.
pub(crate) fn read(
    specifications: &[String],
    base: &Path,
    variables: &Variables<'_>,
) -> Result<BTreeMap<String, SshSource>, Failure> {
    let mut sources = BTreeMap::new();
    for specification in specifications {
        let (id, paths) = parse(specification);
        let source = source(&paths, base, variables).map_err(|why| {
            Failure::user(format!("docker_build(ssh='{specification}'): {why}"))
                .hint("as docker build --ssh takes it: 'default' is the agent of SSH_AUTH_SOCK, 'id=path' an agent's socket or a key")
        })?;
        if sources.insert(id.to_owned(), source).is_some() {
            return Err(Failure::user(format!("docker_build(ssh=…): the id {id:?} is given twice")));
        }
    }
    Ok(sources)
}

fn parse(specification: &str) -> (&str, Vec<&str>) {
    let (id, paths) = match specification.split_once('=') {
        Some((id, paths)) => (id, paths.split(',').collect()),
        None => (specification, Vec::new()),
    };
    (if id.is_empty() { "default" } else { id }, paths)
}

fn source(paths: &[&str], base: &Path, variables: &Variables<'_>) -> Result<SshSource, String> {
    if paths.is_empty() {
        let agent = variables.get(AGENT).ok_or_else(|| format!("there is no agent: {AGENT} is not set"))?;
        return Ok(SshSource::Agent(base.join(agent)));
    }
    let found: Vec<(PathBuf, bool)> =
        paths.iter().map(|path| look_at(path, base)).collect::<Result<_, String>>()?;
    match found.as_slice() {
        [(socket, true)] => Ok(SshSource::Agent(socket.clone())),
        several if several.iter().any(|(_, is_socket)| *is_socket) => {
            Err("an agent's socket cannot be given together with other paths".to_owned())
        }
        keys => Ok(SshSource::Keys(keys.iter().map(|(key, _)| key.clone()).collect())),
    }
}

/// Returns the path, and whether it is the socket of an agent.
fn look_at(path: &str, base: &Path) -> Result<(PathBuf, bool), String> {
    if path.is_empty() {
        return Err("a path is empty".to_owned());
    }
    let path = base.join(path);
    let unreadable = |error: std::io::Error| {
        lilt_model::os_error::plain(&format!("{} cannot be read: {error}", path.display()))
    };
    let real = path.canonicalize().map_err(unreadable)?;
    match files::read_entry(&real).map_err(unreadable)? {
        FileEntry::File { .. } => Ok((real, false)),
        FileEntry::Other => Ok((real, true)),
        _ => Err(format!("{} is neither a key nor an agent's socket", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(folder: &Path, specifications: &[&str]) -> Result<BTreeMap<String, SshSource>, String> {
        let specifications: Vec<String> = specifications.iter().map(|it| (*it).to_owned()).collect();
        let set = [(AGENT.to_owned(), Some("/run/agent".to_owned()))];
        read(&specifications, folder, &Variables(&set)).map_err(|failure| failure.message)
    }

    #[test]
    fn ssh_specifications_are_parsed_like_docker() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        files::save(&real.join("key"), b"").unwrap();
        files::save(&real.join("other"), b"").unwrap();
        let _agent = std::os::unix::net::UnixListener::bind(real.join("socket")).unwrap();
        files::link(&real.join("socket"), &real.join("link")).unwrap();
        let one = |specification: &str| {
            sources(&real, &[specification]).map(|found| found.into_iter().next().unwrap())
        };
        let named = |id: &str, source| Ok((id.to_owned(), source));
        let agent = || SshSource::Agent("/run/agent".into());
        assert_eq!(one("default"), named("default", agent()));
        assert_eq!(one(""), named("default", agent()));
        assert_eq!(one("github"), named("github", agent()));
        assert_eq!(one("a=socket"), named("a", SshSource::Agent(real.join("socket"))));
        assert_eq!(one("a=link"), named("a", SshSource::Agent(real.join("socket"))));
        assert_eq!(
            one("a=key,other"),
            named("a", SshSource::Keys(vec![real.join("key"), real.join("other")]))
        );
        for (wrong, why) in [
            ("a=", "a path is empty"),
            ("a=nothing", "cannot be read"),
            ("a=.", "neither a key nor"),
            ("a=socket,key", "together with other paths"),
        ] {
            let message = one(wrong).unwrap_err();
            assert!(
                message.starts_with(&format!("docker_build(ssh='{wrong}'): ")) && message.contains(why),
                "{message}"
            );
        }
        assert!(sources(&real, &["a=key", "a=other"]).unwrap_err().contains("given twice"));
    }
}
