//! The `lilt` program that is measured.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use lilt_testbed_env::{Project, free_port};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::memory;

/// How long a session may take to end; a longer time is a bug.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a running command is sampled.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(5);

const CI: [&str; 3] = ["ci", "--port", "random"];

#[derive(Debug)]
pub(crate) struct Lilt {
    pub(crate) program: PathBuf,
}

impl Lilt {
    /// Returns the given program, or the one beside this program.
    pub(crate) fn find(given: Option<PathBuf>) -> Result<Self, String> {
        let program = match given {
            Some(program) => program,
            None => {
                let own = std::env::current_exe().map_err(|error| error.to_string())?;
                own.with_file_name("lilt")
            }
        };
        match program.canonicalize() {
            Ok(program) => Ok(Self { program }),
            Err(error) => Err(format!("there is no {}: {error}; make bench builds it", program.display())),
        }
    }

    fn command(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
        // Errors go to stderr; variables of a surrounding session are removed.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TILT_") {
                command.env_remove(name);
            }
        }
        // The page is read without a token, and tokens are not kept.
        command.env("TILT_DISABLE_HUD_AUTH", "1");
        command
    }

    /// Runs a command and measures from before the process exists until it has ended.
    pub(crate) fn run(&self, folder: &Path, arguments: &[&str]) -> Duration {
        self.run_with(folder, arguments, [])
    }

    /// Like the method without `_with`, with environment variables.
    pub(crate) fn run_with<'a>(
        &self,
        folder: &Path,
        arguments: &[&str],
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Duration {
        let mut command = self.command(folder, arguments);
        command.envs(variables);
        let begin = Instant::now();
        let child = command.spawn().expect("lilt starts");
        wait_for_success(child, arguments);
        begin.elapsed()
    }

    /// Returns the output of a command.
    pub(crate) fn output(&self, folder: &Path, arguments: &[&str]) -> String {
        let mut command = self.command(folder, arguments);
        let output = command.stdout(Stdio::piped()).output().expect("lilt starts");
        assert!(output.status.success(), "lilt {} failed: {}", arguments.join(" "), output.status);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns the number of lines that a command prints.
    pub(crate) fn count_lines(&self, folder: &Path, arguments: &[&str]) -> usize {
        let mut child = self.command(folder, arguments).stdout(Stdio::piped()).spawn().expect("lilt starts");
        let mut printed = child.stdout.take().expect("it was piped");
        let mut buffer = vec![0; 64 * 1024];
        let mut lines = 0;
        while let Ok(length @ 1..) = printed.read(&mut buffer) {
            lines += buffer[..length].iter().filter(|byte| **byte == b'\n').count();
        }
        wait_for_success(child, arguments);
        lines
    }

    /// Waits until a session's port is open.
    pub(crate) fn wait_for_port(&self, session: &Session, patience: Duration) {
        while std::net::TcpStream::connect(("127.0.0.1", session.port)).is_err() {
            assert!(session.begin.elapsed() < patience, "the port does not open");
            std::thread::sleep(SAMPLE_INTERVAL);
        }
    }

    /// Also samples memory and CPU time while it runs.
    fn watch<'a>(
        &self,
        folder: &Path,
        arguments: &[&str],
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Run {
        let mut command = self.command(folder, arguments);
        command.envs(variables);
        let begin = Instant::now();
        let mut child = command.spawn().expect("lilt starts");
        let mut run = Run::default();
        // Both only grow, so the last sample before the end is close enough.
        while matches!(child.try_wait(), Ok(None)) {
            run.peak = memory::peak(child.id()).unwrap_or(run.peak);
            run.ticks = memory::ticks(child.id()).unwrap_or(run.ticks);
            std::thread::sleep(SAMPLE_INTERVAL);
        }
        wait_for_success(child, arguments);
        run.took = begin.elapsed();
        run
    }

    /// Runs `lilt ci` on a project.
    pub(crate) fn ci(&self, project: &Project) -> Duration {
        self.run(project.path(), &CI)
    }

    /// Also samples memory and CPU time while it runs.
    pub(crate) fn watch_ci(&self, project: &Project) -> Run {
        self.watch_ci_with(project, [])
    }

    /// Like the method without `_with`, with environment variables.
    pub(crate) fn watch_ci_with<'a>(
        &self,
        project: &Project,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Run {
        self.watch(project.path(), &CI, variables)
    }

    /// Starts `lilt up` with its dashboard on a free port.
    pub(crate) fn up<'a>(
        &self,
        project: &Project,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Session {
        let port = free_port();
        let mut command = self.command(project.path(), &["up", "--stream", "--port", &port.to_string()]);
        command.envs(variables);
        let begin = Instant::now();
        Session { child: command.spawn().expect("lilt starts"), port, begin }
    }

    /// Starts `lilt up`, and returns its output, too.
    pub(crate) fn up_reading<'a>(
        &self,
        project: &Project,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> (Session, ChildStdout) {
        let port = free_port();
        let mut command = self.command(project.path(), &["up", "--stream", "--port", &port.to_string()]);
        command.envs(variables).stdout(Stdio::piped());
        let begin = Instant::now();
        let mut child = command.spawn().expect("lilt starts");
        let output = child.stdout.take().expect("it was piped");
        (Session { child, port, begin }, output)
    }

    /// Returns the size of the program's file.
    pub(crate) fn megabytes(&self) -> f64 {
        fs::metadata(&self.program).expect("the program's file is there").len() as f64 / 1e6
    }
}

/// The measurements of one command.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) took: Duration,
    /// Its peak memory, in megabytes.
    pub(crate) peak: f64,
    /// Its own CPU time, without that of its children.
    pub(crate) ticks: u64,
}

fn wait_for_success(mut child: Child, arguments: &[&str]) {
    let status = child.wait().expect("a child can be waited for");
    assert!(status.success(), "lilt {} failed: {status}", arguments.join(" "));
}

/// A running `lilt up`. Dropping it ends it like Ctrl-C.
#[derive(Debug)]
pub(crate) struct Session {
    child: Child,
    pub(crate) port: u16,
    /// Just before the process was started.
    pub(crate) begin: Instant,
}

impl Session {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it and returns how long that took.
    pub(crate) fn end(mut self) -> Duration {
        self.interrupt()
    }

    fn interrupt(&mut self) -> Duration {
        let begin = Instant::now();
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("process ids are small"));
        let _ = kill(pid, Signal::SIGINT);
        while matches!(self.child.try_wait(), Ok(None)) {
            if begin.elapsed() > STOP_TIMEOUT {
                let _ = self.child.kill();
                let _ = self.child.wait();
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        begin.elapsed()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.interrupt();
        }
    }
}
