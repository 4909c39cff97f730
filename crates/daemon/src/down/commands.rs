//! Runs delete commands: the user's own, and `docker compose down`.

use lilt_host::process::{Guardian, Launch, Process};
use lilt_host::session_dir::SessionDir;
use lilt_host::{environment, files};
use lilt_model::command::Command;
use lilt_model::compose::{ComposeConfig, ComposeProject};
use lilt_model::{ClusterName, Failure, escape};
use tokio::sync::mpsc;

use crate::settings::Settings;

/// Runs the user's delete commands one after the other, in the environment of a session's commands.
pub(super) async fn run_all(
    settings: &Settings,
    guardian: &Guardian,
    commands: Vec<(ClusterName, Command)>,
    print: &mut impl FnMut(&str),
) -> Vec<Failure> {
    let mut failures = Vec::new();
    for (cluster, command) in commands {
        print(&format!("Running cmd: {}\n", command.display()));
        let outcome = match launch(settings, &cluster, &command) {
            Ok(launch) => run(guardian, &launch, &command.display(), print).await,
            Err(failure) => Err(failure),
        };
        failures.extend(outcome.err());
    }
    failures
}

/// Adds the session's environment to a command, and the kubeconfig of the cluster that it deployed to.
fn launch(settings: &Settings, cluster: &ClusterName, command: &Command) -> Result<Launch, Failure> {
    let mut launch = Launch::from(command);
    let mut env = settings.variables();
    env.append(&mut launch.env);
    if !cluster.is_session()
        && let Some(path) = settings.kubeconfig.write_for(cluster.as_str())?
    {
        env.push(("KUBECONFIG".to_owned(), path.display().to_string()));
    }
    launch.env = env;
    Ok(launch)
}

/// Stops and removes the containers of a project, and its volumes if asked.
pub(super) async fn compose_down(
    guardian: &Guardian,
    project: &ComposeProject,
    volumes: bool,
    print: &mut impl FnMut(&str),
) -> Result<(), Failure> {
    let folder = SessionDir::create()?;
    let mut argv = compose();
    argv.extend(arguments(project, &folder)?);
    argv.push("down".to_owned());
    if volumes {
        argv.push("--volumes".to_owned());
    }
    // As when the project was loaded: `${PWD}` in its files is the folder in which lilt was started. All paths are absolute.
    let dir = environment::start_directory().unwrap_or_else(|| project.directory.clone());
    let env = match environment::variable("PWD") {
        Some(_) => Vec::new(),
        None => vec![("PWD".to_owned(), dir.display().to_string())],
    };
    let launch = Launch { argv, dir, env, unset: Vec::new() };
    run(guardian, &launch, "docker compose down", print).await
}

fn compose() -> Vec<String> {
    match environment::variable(environment::TILT_DOCKER_COMPOSE_CMD) {
        Some(program) => vec![program],
        None if environment::find_program("docker").is_some() => {
            vec!["docker".to_owned(), "compose".to_owned()]
        }
        None => vec!["docker-compose".to_owned()],
    }
}

/// Returns Compose's arguments that select a project. Inline configurations of the Tiltfile are written to the folder.
fn arguments(project: &ComposeProject, folder: &SessionDir) -> Result<Vec<String>, Failure> {
    let mut arguments = vec!["--project-directory".to_owned(), project.directory.display().to_string()];
    if !project.name.is_empty() {
        arguments.extend(["--project-name".to_owned(), project.name.clone()]);
    }
    if let Some(path) = &project.env_file {
        arguments.extend(["--env-file".to_owned(), path.display().to_string()]);
    }
    for (at, config) in project.configs.iter().enumerate() {
        let path = match config {
            ComposeConfig::File(path) => path.clone(),
            ComposeConfig::Text(text) => {
                let path = folder.path().join(format!("compose-{at}.yaml"));
                files::save_private(&path, text.as_bytes()).map_err(|error| {
                    Failure::environment(format!("cannot write {}: {error}", path.display()))
                })?;
                path
            }
        };
        arguments.extend(["-f".to_owned(), path.display().to_string()]);
    }
    arguments.extend(project.profiles.iter().flat_map(|profile| ["--profile".to_owned(), profile.clone()]));
    Ok(arguments)
}

/// Returns how much of the output can be printed: all but an incomplete character or control sequence at its end.
///
/// The printer could not recognize the two halves of a sequence.
fn complete_length(output: &[u8]) -> usize {
    // A character has up to four bytes, and all but the first are continuations.
    let last = output.iter().rev().take(4).position(|byte| byte & 0xc0 != 0x80).map_or(0, |back| back + 1);
    let length = match output.get(output.len() - last) {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => 0,
    };
    let characters = if last < length { output.len() - last } else { output.len() };
    characters - escape::unfinished_length(&output[..characters])
}

/// Runs a command to its end and prints its output.
async fn run(
    guardian: &Guardian,
    launch: &Launch,
    name: &str,
    print: &mut impl FnMut(&str),
) -> Result<(), Failure> {
    // Unbounded: such commands print little, and their output is printed at once.
    let (sender, mut output) = mpsc::unbounded_channel();
    let started = Process::spawn(guardian, launch, move |bytes: &[u8]| {
        // The receiver lives until the process has exited.
        let _ = sender.send(bytes.to_vec());
    });
    let mut process = started.await?;
    // The channel closes when the process exits: its supervisor holds the sender.
    let mut pending = Vec::new();
    while let Some(bytes) = output.recv().await {
        pending.extend(bytes);
        let rest = pending.split_off(complete_length(&pending));
        print(&String::from_utf8_lossy(&std::mem::replace(&mut pending, rest)));
    }
    print(&String::from_utf8_lossy(&pending));
    let exit = process.wait().await;
    if exit.success() { Ok(()) } else { Err(Failure::user(format!("Command {name:?} failed: {exit}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_length_holds_back_what_has_not_ended() {
        for (output, rest) in [
            ("plain é".as_bytes(), 0),
            (b"caf\xc3", 1),
            ("\u{1f600}".as_bytes(), 0),
            (&"\u{1f600}".as_bytes()[..3], 3),
            (b"a\x1b]52;c;cGFz", 11),
            (b"a\x1b]52;c;\xc3", 8),
            (b"a\x1b]52;c;cGFz\x07", 0),
            (b"not a character \xff", 0),
            (b"", 0),
        ] {
            assert_eq!(output.len() - complete_length(output), rest, "{output:?}");
        }
    }
}
