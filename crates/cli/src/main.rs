//! The `lilt` program: parses arguments and runs a command. Called through a link named `tilt` it behaves
//! the same.

mod api;
mod arguments;
mod command_line;
mod commands;
mod demo;
mod diagnostics;
mod hosts;
mod reference;
mod session;
mod session_menu;
mod signals;
mod snapshot;
mod token;

use std::process::ExitCode;

use clap::error::ErrorKind;
use lilt_host::terminal;
use lilt_model::Failure;
use nix::sys::signal::Signal;

use command_line::{Alpha, Command};

fn main() -> ExitCode {
    // A script's shell starts background jobs with these signals ignored.
    lilt_host::signals::restore_defaults(&[Signal::SIGINT, Signal::SIGQUIT]);
    // An internal command that must start fast: see `lilt_host::process::Guardian`.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == lilt_host::process::GUARDIAN_ARGUMENT) {
        return guard();
    }
    let arguments = match command_line::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => return print_usage(&error),
    };
    let verbosity = arguments.verbosity;
    verbosity.start();
    let result = match arguments.command {
        Command::Version(version) => commands::version::run(&version),
        Command::DemoServer(server) => block_on(demo::server::run(server)),
        Command::Up(up) => block_on(commands::up::run(up)),
        Command::Ci(ci) => block_on(commands::ci::run(ci)),
        Command::Down(down) => block_on(commands::down::run(down)),
        Command::Plan(plan) => block_on(commands::plan::run(plan)),
        Command::Trigger(trigger) => block_on(commands::trigger::run(trigger)),
        Command::Enable(enable) => block_on(commands::switch::enable(enable)),
        Command::Disable(disable) => block_on(commands::switch::disable(disable)),
        Command::Args(args) => block_on(commands::args::run(args)),
        Command::Open(open) => block_on(commands::open::run(open)),
        Command::Token(token) => block_on(commands::token::run(token)),
        Command::Docker(docker) => block_on(commands::docker::run(docker)),
        Command::DockerPrune(prune) => block_on(commands::docker_prune::run(prune)),
        Command::Doctor(doctor) => block_on(commands::doctor::run(doctor)),
        Command::Snapshot(snapshot) => block_on(commands::snapshot::run(snapshot)),
        Command::Analytics(analytics) => commands::analytics::run(&analytics),
        Command::Completion(completion) => commands::completion::run(&completion, command_line::definition()),
        Command::VerifyInstall(_) => commands::verify_install::run(),
        Command::Alpha(Alpha::TreeView(tree)) => block_on(commands::tree_view::run(tree)),
        Command::Alpha(Alpha::Updog(updog)) => block_on(commands::updog::run(updog)),
        Command::Alpha(Alpha::Shell(shell)) => run_verb(lilt_kubectl::shell::run(shell)),
        Command::Get(get) | Command::Alpha(Alpha::Get(get)) => run_verb(lilt_kubectl::get::run(*get)),
        Command::Describe(describe) => run_verb(lilt_kubectl::describe::run(describe)),
        Command::Wait(wait) => run_verb(lilt_kubectl::wait::run(*wait)),
        Command::Create(create) => run_verb(lilt_kubectl::create::run(*create)),
        Command::Apply(apply) => run_verb(lilt_kubectl::apply::run(*apply)),
        Command::Edit(edit) => run_verb(lilt_kubectl::edit::run(*edit)),
        Command::Patch(patch) => run_verb(lilt_kubectl::patch::run(*patch)),
        Command::Delete(delete) => run_verb(lilt_kubectl::delete::run(*delete)),
        Command::Explain(explain) => run_verb(lilt_kubectl::explain::run(explain)),
        Command::ApiResources(resources) | Command::Alpha(Alpha::ApiResources(resources)) => {
            run_verb(lilt_kubectl::api_resources::run(resources))
        }
        Command::Logs(logs) => block_on(commands::logs::run(logs)),
        Command::Timeline(arguments) => block_on(commands::timeline::run(arguments)),
        Command::Replay(replay) => commands::replay::run(&replay),
        Command::Dump(dump) => block_on(commands::dump::run(dump, command_line::definition())),
        Command::Alpha(Alpha::TiltfileResult(result)) => {
            block_on(commands::tiltfile_result::run(result, verbosity))
        }
        Command::Demo(demo) => block_on(demo::run(demo)),
    };
    match result {
        Ok(code) => code,
        // A closed stdout is no failure: `lilt dump webview | head -1`.
        Err(error) if is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Returns whether a command failed because its output was closed.
fn is_closed(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Prints why the command failed.
fn print_error(error: &anyhow::Error) {
    match error.downcast_ref::<Failure>() {
        Some(failure) => terminal::complain(&format!("Error: {failure}\n")),
        None => terminal::complain(&lilt_model::os_error::plain(&format!("Error: {error:#}\n"))),
    }
}

/// Prints help, the version or an error of the arguments. The exit code of wrong arguments is 1, as in Tilt.
fn print_usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayVersion => terminal::line(&commands::version::text()),
        // A missing command prints the help.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => terminal::print(&error.render().to_string()),
        _ => {
            // The output may be closed.
            let _ = error.print();
        }
    }
    let is_mistake =
        error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_mistake { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn guard() -> ExitCode {
    match lilt_host::process::run_guardian() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&anyhow::Error::new(error).context("this command is lilt's own"));
            ExitCode::FAILURE
        }
    }
}

fn run_verb(verb: impl Future<Output = lilt_kubectl::Outcome>) -> anyhow::Result<ExitCode> {
    Ok(lilt_kubectl::run(verb)?)
}

fn block_on(command: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    lilt_host::memory::limit_malloc_arenas();
    // Two threads: packing an archive must not block the loop and the terminal.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(command);
    // A stuck blocking call must not delay the exit.
    runtime.shutdown_timeout(std::time::Duration::from_millis(100));
    result
}
