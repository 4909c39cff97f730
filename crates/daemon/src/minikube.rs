//! minikube's own Docker engine, which runs its pods and so needs no push.

use std::sync::Arc;

use lilt_docker::Engine;
use lilt_host::environment;
use lilt_host::process::{Exit, Guardian, Launch};
use lilt_model::Failure;

use crate::program;

/// A Docker engine inside a cluster.
#[derive(Debug)]
pub(crate) struct ClusterEngine {
    pub(crate) engine: Arc<Engine>,
    /// The variables that commands need to use it.
    pub(crate) variables: Vec<(String, String)>,
}

/// Connects to the engine of a profile. None if it has none, or if `DOCKER_HOST` names another engine.
pub(crate) async fn engine(guardian: &Guardian, profile: &str) -> Result<Option<ClusterEngine>, Failure> {
    let Some(variables) = docker_env(guardian, profile).await? else { return Ok(None) };
    let exported =
        |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let named = environment::variable(environment::DOCKER_HOST);
    let own = exported(environment::DOCKER_HOST).unwrap_or_default();
    if named.is_some_and(|named| named.trim_end_matches('/') != own.trim_end_matches('/')) {
        return Ok(None);
    }
    let lookup = |name: &str| exported(name).or_else(|| environment::variable(name));
    let engine = Engine::connect(&lookup, environment::home().as_deref()).map_err(|failure| Failure {
        message: format!("cannot use minikube's engine: {}", failure.message),
        ..failure
    })?;
    Ok(Some(ClusterEngine { engine: Arc::new(engine), variables }))
}

/// Error messages of a minikube without such an engine, or with several.
const NO_ENGINE_ERRORS: [&str; 4] = [
    "ENV_DRIVER_CONFLICT",
    "ENV_MULTINODE_CONFLICT",
    "ENV_DOCKER_UNAVAILABLE",
    "The docker-env command is only compatible",
];

/// Returns the variables for minikube's engine; none if it has none.
async fn docker_env(guardian: &Guardian, profile: &str) -> Result<Option<Vec<(String, String)>>, Failure> {
    let argv = ["minikube", "-p", profile, "docker-env", "--shell", "sh"].map(str::to_owned).to_vec();
    let launch = Launch { argv, dir: "/".into(), env: Vec::new(), unset: Vec::new() };
    let program::ProgramOutput { exit, output, errors } = program::run(guardian, &launch, None).await?;
    match exit {
        Exit::Code(0) => Ok(Some(exports(&output))),
        _ if NO_ENGINE_ERRORS.iter().any(|message| errors.contains(message)) => Ok(None),
        _ => Err(Failure::environment(
            "cannot read the variables of minikube's engine (`minikube docker-env`)",
        )
        .detail(errors.trim().to_owned())
        .hint("is it running? `minikube start` starts it")),
    }
}

/// Parses lines such as `export DOCKER_HOST="tcp://192.168.49.2:2376"`.
fn exports(text: &str) -> Vec<(String, String)> {
    let export = |line: &str| {
        let (name, value) = line.trim().strip_prefix("export ")?.split_once('=')?;
        let value = value.strip_prefix('"')?.strip_suffix('"')?;
        Some((name.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(export).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_of_minikube_are_parsed() {
        let text = "export DOCKER_TLS_VERIFY=\"1\"\nexport DOCKER_HOST=\"tcp://192.168.49.2:2376\"\n\
                    # To point your shell to minikube's docker-daemon, run:\n# eval $(minikube -p x docker-env)\n";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            exports(text),
            [pair("DOCKER_TLS_VERIFY", "1"), pair("DOCKER_HOST", "tcp://192.168.49.2:2376")]
        );
    }
}
