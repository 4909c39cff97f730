//! The command line: all commands with their arguments, and how it is parsed.

mod cobra;
#[cfg(test)]
mod facts;

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use lilt_kubectl::api_resources::ApiResources;
use lilt_kubectl::apply::Apply;
use lilt_kubectl::create::Create;
use lilt_kubectl::delete::Delete;
use lilt_kubectl::describe::Describe;
use lilt_kubectl::edit::Edit;
use lilt_kubectl::explain::Explain;
use lilt_kubectl::get::Get;
use lilt_kubectl::patch::Patch;
use lilt_kubectl::shell::Shell;
use lilt_kubectl::wait::Wait;

use crate::arguments::{Ci, Demo, DemoServer, Down, TiltfileResult, Up, Version, version};
use crate::commands;
use crate::commands::analytics::Analytics;
use crate::commands::completion::Completion;
use crate::commands::doctor::Doctor;
use crate::commands::dump::Dump;
use crate::commands::logs::Logs;
use crate::commands::replay::Replay;
use crate::commands::snapshot::Snapshot;
use crate::commands::switch::{Disable, Enable};
use crate::commands::timeline::TimelineArguments;
use crate::commands::tree_view::TreeView;
use crate::commands::trigger::Trigger;
use crate::commands::updog::Updog;
use crate::commands::verify_install::VerifyInstall;
use crate::diagnostics::Verbosity;

/// The inner development loop on Kubernetes: reads a Tiltfile, brings up what it describes and keeps it up to date
/// while you edit.
#[derive(Debug, Parser)]
#[command(name = "lilt", version = version(), args_override_self = true, disable_help_subcommand = false)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  lilt demo                 try it, without cluster or Docker
  lilt up                   bring up the project of this folder
  lilt up web api           only these resources
  lilt up -- --env=test     arguments for the Tiltfile's config.parse()
  lilt ci                   bring it up once, for scripts
  lilt logs -f web          follow the log of a resource
  lilt trigger web          update it now
  lilt get uiresources      what the session knows, as objects
  lilt down                 delete what was deployed")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Returns the definition of all commands, for parsing, help, completion and documentation.
pub(crate) fn definition() -> clap::Command {
    Arguments::command()
}

/// Parses the command line as Tilt's parser does.
pub(crate) fn parse(typed: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let mut definition = definition();
    definition.build();
    let adapted = cobra::adapt(&definition, typed)
        .map_err(|error| definition.error(clap::error::ErrorKind::InvalidValue, error))?;
    // Parsing changes the definition, so it needs a new one.
    let matches = self::definition().try_get_matches_from(adapted)?;
    Arguments::from_arg_matches(&matches)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(Up),
    Ci(Ci),
    Down(Down),
    Plan(commands::plan::Plan),
    Trigger(Trigger),
    Enable(Enable),
    Disable(Disable),
    Args(commands::args::Args),
    Open(commands::open::Open),
    Token(commands::token::Token),
    Get(Box<Get>),
    Describe(Describe),
    Wait(Box<Wait>),
    Create(Box<Create>),
    Apply(Box<Apply>),
    Edit(Box<Edit>),
    Patch(Box<Patch>),
    Delete(Box<Delete>),
    Explain(Explain),
    ApiResources(ApiResources),
    Docker(commands::docker::Docker),
    DockerPrune(commands::docker_prune::DockerPrune),
    Doctor(Doctor),
    /// Keep what a session knows in a file, and look at it later
    #[command(subcommand)]
    Snapshot(Snapshot),
    Logs(Logs),
    Timeline(TimelineArguments),
    #[command(hide = true)]
    Replay(Replay),
    /// Print what lilt knows, for people who look into it
    #[command(subcommand)]
    Dump(Dump),
    Demo(Demo),
    /// Commands whose output may still change
    #[command(subcommand)]
    Alpha(Alpha),
    Version(Version),
    VerifyInstall(VerifyInstall),
    /// Print completions for a shell
    #[command(subcommand)]
    Completion(Completion),
    Analytics(Analytics),
    /// The servers of the demo
    #[command(hide = true)]
    DemoServer(DemoServer),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Alpha {
    /// As `lilt api-resources`
    ApiResources(ApiResources),
    /// As `lilt get`
    Get(Box<Get>),
    Shell(Shell),
    TiltfileResult(TiltfileResult),
    TreeView(TreeView),
    Updog(Updog),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_definition_is_consistent() {
        definition().debug_assert();
    }
}
