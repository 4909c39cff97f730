//! Inputs of a build besides files: secrets, ssh keys, arguments from the environment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lilt_docker::SshSource;
use lilt_host::environment;
use lilt_model::Failure;
use lilt_model::image::DockerBuild;
use lilt_model::secret::Secret;

use super::{secret, ssh};

/// The environment of a build: lilt's own, with changes by the Tiltfile.
pub(crate) struct Variables<'a>(pub(crate) &'a [(String, Option<String>)]);

impl Variables<'_> {
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        match self.0.iter().find(|(known, _)| known == name) {
            Some((_, value)) => value.clone().filter(|value| !value.is_empty()),
            None => environment::variable(name),
        }
    }
}

pub(crate) struct BuildInputs {
    pub(crate) secrets: BTreeMap<String, Vec<u8>>,
    pub(crate) ssh: BTreeMap<String, SshSource>,
}

impl BuildInputs {
    /// Reads the inputs. Paths are relative to `base`.
    pub(crate) fn read(recipe: &DockerBuild, base: &Path) -> Result<Self, Failure> {
        let variables = Variables(&recipe.variables);
        Ok(Self {
            secrets: secret::read(&recipe.secrets, base, &variables)?,
            ssh: ssh::read(&recipe.ssh, base, &variables)?,
        })
    }

    /// Returns the secrets that logs must not contain.
    pub(crate) fn secrets_to_redact(&self) -> Vec<Secret> {
        let secret = |(id, value): (&String, &Vec<u8>)| Secret {
            name: "docker_build".to_owned(),
            key: id.clone(),
            value: value.clone(),
            encoded: STANDARD.encode(value),
        };
        self.secrets.iter().map(secret).collect()
    }
}

/// Returns the build arguments. As with `docker build --build-arg NAME`, missing values come from the environment.
///
/// Without one there, the default of the Dockerfile applies.
pub(crate) fn arguments(recipe: &DockerBuild) -> Vec<(String, String)> {
    let variables = Variables(&recipe.variables);
    let argument = |(name, value): &(String, String)| {
        let value = Some(value.clone()).filter(|value| !value.is_empty());
        value.or_else(|| variables.get(name)).map(|value| (name.clone(), value))
    };
    recipe.build_args.iter().filter_map(argument).collect()
}

/// Returns the names of variables that a build reads.
pub(crate) fn names(recipe: &DockerBuild) -> BTreeSet<String> {
    let arguments =
        recipe.build_args.iter().filter(|(_, value)| value.is_empty()).map(|(name, _)| name.clone());
    let agent = (!recipe.ssh.is_empty()).then(|| ssh::AGENT.to_owned());
    recipe.secrets.iter().filter_map(|it| secret::variable(it)).chain(arguments).chain(agent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe() -> DockerBuild {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        DockerBuild {
            build_args: vec![pair("GIVEN", "x"), pair("SET", ""), pair("LILT_TEST_NOWHERE", "")],
            secrets: ["id=a,env=TOKEN", "id=b,src=file", "id=KEY"].map(str::to_owned).into(),
            variables: vec![("SET".into(), Some("by the Tiltfile".into())), ("TOKEN".into(), None)],
            ..DockerBuild::default()
        }
    }

    #[test]
    fn build_argument_without_a_value_comes_from_the_environment() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(arguments(&recipe()), [pair("GIVEN", "x"), pair("SET", "by the Tiltfile")]);
    }

    #[test]
    fn build_gets_only_variables_that_it_names() {
        let mut recipe = recipe();
        assert_eq!(Vec::from_iter(names(&recipe)), ["KEY", "LILT_TEST_NOWHERE", "SET", "TOKEN"]);
        recipe.ssh = vec!["default".into()];
        assert!(names(&recipe).contains("SSH_AUTH_SOCK"));
    }

    #[test]
    fn variable_removed_by_the_tiltfile_is_unset_for_builds() {
        let failure = BuildInputs::read(&recipe(), Path::new("/")).err().expect("TOKEN was removed");
        assert!(failure.message.contains("the variable TOKEN is not set"), "{failure}");
    }
}
