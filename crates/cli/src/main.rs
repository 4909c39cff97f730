//! The `lilt` command: arguments become settings, settings become one command. Through a link named `tilt` it is
//! the same.

mod arguments;
mod client;
mod commands;
mod demo;
mod instances;
mod session;
mod signals;
mod stream;
mod terminal;

use std::process::ExitCode;

use clap::Parser as _;

use arguments::{Alpha, Arguments, Command};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help or a complaint, to where it belongs. A wrong argument is 1, as everything is that Tilt refuses.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    let result = match arguments.command {
        Command::Version(version) => commands::version::run(&version),
        Command::DemoServer(server) => block_on(demo::server::run(server)),
        Command::Up(up) => block_on(commands::up::run(up)),
        Command::Ci(ci) => block_on(commands::ci::run(ci)),
        Command::Down(down) => block_on(commands::down::run(down)),
        Command::Trigger(trigger) => block_on(commands::trigger::run(trigger)),
        Command::Enable(enable) => block_on(commands::switch::enable(enable)),
        Command::Disable(disable) => block_on(commands::switch::disable(disable)),
        Command::Dump(dump) => block_on(commands::dump::run(dump)),
        Command::Alpha(Alpha::TiltfileResult(result)) => block_on(commands::tiltfile_result::run(result)),
        Command::Demo(demo) => block_on(demo::run(demo)),
    };
    match result {
        Ok(code) => code,
        // `lilt dump webview | head -1` is no failure.
        Err(error) if terminal::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn block_on(command: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    // Two threads: the loop and the terminal never wait for an archive being packed.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(command);
    // A blocking call that is stuck must not keep the shell's prompt away.
    runtime.shutdown_timeout(std::time::Duration::from_millis(100));
    result
}
