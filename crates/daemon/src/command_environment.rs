//! The environment of a project's commands, in addition to lilt's own: variables, programs and a kubeconfig.

use std::path::PathBuf;

use lilt_cluster::SessionKubeconfig;
use lilt_host::session_dir::SessionDir;
use lilt_host::{environment, files, terminal};
use lilt_model::Failure;

use crate::settings::Project;

/// What all commands get, including those of the Tiltfile.
#[derive(Clone, Debug)]
pub struct CommandEnvironment {
    /// Variables of the session, and defaults for those that lilt's own environment lacks.
    pub variables: Vec<(String, String)>,
    /// Folders where commands find programs after those of `PATH`.
    pub programs: Vec<PathBuf>,
    pub kubeconfig: SessionKubeconfig,
}

impl CommandEnvironment {
    /// Prepares the environment in a folder that lives as long as the commands. `host` and `port` are the session's.
    pub fn prepare(
        folder: &SessionDir,
        project: &Project,
        host: &str,
        port: u16,
    ) -> Result<CommandEnvironment, Failure> {
        let (context, namespace) = (project.context.clone(), project.namespace.clone());
        Ok(CommandEnvironment {
            variables: variables(host, port),
            programs: programs(folder)?,
            // Commands use the session's cluster, even if somebody switches contexts meanwhile.
            kubeconfig: SessionKubeconfig::in_folder(folder.path().to_owned(), context, namespace),
        })
    }

    /// Returns the variables, with a `PATH` that includes the programs.
    pub(crate) fn variables_with_path(&self) -> Vec<(String, String)> {
        let path = environment::variable(environment::PATH).unwrap_or_default();
        let path = path_with(path, &self.programs).map(|path| (environment::PATH.to_owned(), path));
        self.variables.iter().cloned().chain(path).collect()
    }
}

fn variables(host: &str, port: u16) -> Vec<(String, String)> {
    let session = [
        ("TILT_HOST", host.to_owned()),
        ("TILT_PORT", port.to_string()),
        ("TILT_DISABLE_ANALYTICS", "1".to_owned()),
    ];
    // Without a terminal, programs would guess a size, omit colours and buffer their output.
    let color = if terminal::has_colours() { Some(("FORCE_COLOR", "1")) } else { None };
    let defaults = [("LINES", "24"), ("COLUMNS", "80"), ("PYTHONUNBUFFERED", "1")].into_iter().chain(color);
    let unset = defaults.filter(|(name, _)| environment::variable(name).is_none());
    let unset = unset.map(|(name, value)| (name, value.to_owned()));
    session.into_iter().chain(unset).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Creates a folder in which scripts that call `tilt` find lilt, unless there is a `tilt` already.
fn programs(folder: &SessionDir) -> Result<Vec<PathBuf>, Failure> {
    if environment::find_program("tilt").is_some() {
        return Ok(Vec::new());
    }
    let programs = folder.path().join("bin");
    let linked = std::env::current_exe().and_then(|own| files::link(&own, &programs.join("tilt")));
    linked.map_err(|error| Failure::environment(error.to_string()))?;
    Ok(vec![programs])
}

/// Returns a `PATH` with folders appended. None if there is nothing to append.
fn path_with(path: String, programs: &[PathBuf]) -> Option<String> {
    let folders = programs.iter().map(|folder| folder.display().to_string());
    let all: Vec<String> = std::iter::once(path).chain(folders).filter(|part| !part.is_empty()).collect();
    (!programs.is_empty()).then(|| all.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_folders_are_appended_to_the_path() {
        let folder = || PathBuf::from("/session/bin");
        assert_eq!(path_with("/bin:/usr/bin".into(), &[folder()]).unwrap(), "/bin:/usr/bin:/session/bin");
        assert_eq!(path_with(String::new(), &[folder()]).unwrap(), "/session/bin");
        assert_eq!(path_with("/bin".into(), &[]), None);
    }

    #[test]
    fn commands_get_host_and_port_of_the_session() {
        let variables = variables("devbox", 10350);
        let value =
            |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        assert_eq!((value("TILT_HOST"), value("TILT_PORT")), (Some("devbox"), Some("10350")));
        assert_eq!(value("TILT_DISABLE_ANALYTICS"), Some("1"));
    }
}
