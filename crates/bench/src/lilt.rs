//! The program that is measured.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use lilt_testbed_env::{Project, free_port};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::memory;

/// A session that has not ended after this long after it was asked to is a bug worth stopping for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at a running command.
const LOOK: Duration = Duration::from_millis(5);

const CI: [&str; 3] = ["ci", "--port", "random"];

#[derive(Debug)]
pub(crate) struct Lilt {
    pub(crate) program: PathBuf,
}

impl Lilt {
    /// The given one, or the one that was built beside this program.
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
        // Complaints go to whoever reads the table; ports and the like of a session around us do not come in.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TILT_") {
                command.env_remove(name);
            }
        }
        // Its page is read here as a plain client does, and tokens of the ports are not kept.
        command.env("TILT_DISABLE_HUD_AUTH", "1");
        command
    }

    /// Runs a command to its end: from before the process exists to after it is gone.
    pub(crate) fn run(&self, folder: &Path, arguments: &[&str]) -> Duration {
        self.run_with(folder, arguments, [])
    }

    /// The same, with these variables.
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
        end_well(child, arguments);
        begin.elapsed()
    }

    /// What a command prints.
    pub(crate) fn output(&self, folder: &Path, arguments: &[&str]) -> String {
        let mut command = self.command(folder, arguments);
        let output = command.stdout(Stdio::piped()).output().expect("lilt starts");
        assert!(output.status.success(), "lilt {} failed: {}", arguments.join(" "), output.status);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// How many lines a command prints.
    pub(crate) fn count_lines(&self, folder: &Path, arguments: &[&str]) -> usize {
        let mut child = self.command(folder, arguments).stdout(Stdio::piped()).spawn().expect("lilt starts");
        let mut printed = child.stdout.take().expect("it was piped");
        let mut buffer = vec![0; 64 * 1024];
        let mut lines = 0;
        while let Ok(length @ 1..) = printed.read(&mut buffer) {
            lines += buffer[..length].iter().filter(|byte| **byte == b'\n').count();
        }
        end_well(child, arguments);
        lines
    }

    /// Waits until a session's port is open.
    pub(crate) fn wait_for_port(&self, session: &Session, patience: Duration) {
        while std::net::TcpStream::connect(("127.0.0.1", session.port)).is_err() {
            assert!(session.begin.elapsed() < patience, "the port does not open");
            std::thread::sleep(LOOK);
        }
    }

    /// The same, looked at while it runs.
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
        // Both only grow, so that the last look before the end is near enough.
        while matches!(child.try_wait(), Ok(None)) {
            run.peak = memory::peak(child.id()).unwrap_or(run.peak);
            run.ticks = memory::ticks(child.id()).unwrap_or(run.ticks);
            std::thread::sleep(LOOK);
        }
        end_well(child, arguments);
        run.took = begin.elapsed();
        run
    }

    /// `lilt ci` on a project.
    pub(crate) fn ci(&self, project: &Project) -> Duration {
        self.run(project.path(), &CI)
    }

    /// The same, looked at while it runs.
    pub(crate) fn watch_ci(&self, project: &Project) -> Run {
        self.watch_ci_with(project, [])
    }

    /// The same, with these variables.
    pub(crate) fn watch_ci_with<'a>(
        &self,
        project: &Project,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Run {
        self.watch(project.path(), &CI, variables)
    }

    /// Starts `lilt up` with its dashboard on a port of its own.
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

    /// The same, with what it prints.
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

    /// Of the program's file.
    pub(crate) fn megabytes(&self) -> f64 {
        fs::metadata(&self.program).expect("the program's file is there").len() as f64 / 1e6
    }
}

/// One command that was watched to its end.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) took: Duration,
    /// Its most memory, in megabytes.
    pub(crate) peak: f64,
    /// Its own processor time, without what it started.
    pub(crate) ticks: u64,
}

fn end_well(mut child: Child, arguments: &[&str]) {
    let status = child.wait().expect("a child can be waited for");
    assert!(status.success(), "lilt {} failed: {status}", arguments.join(" "));
}

/// A running `lilt up`. Dropping it ends it as Ctrl-C does.
#[derive(Debug)]
pub(crate) struct Session {
    child: Child,
    pub(crate) port: u16,
    /// Just before the process was made.
    pub(crate) begin: Instant,
}

impl Session {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it and tells how long that took.
    pub(crate) fn end(mut self) -> Duration {
        self.interrupt()
    }

    fn interrupt(&mut self) -> Duration {
        let begin = Instant::now();
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("process ids are small"));
        let _ = kill(pid, Signal::SIGINT);
        while matches!(self.child.try_wait(), Ok(None)) {
            if begin.elapsed() > PATIENCE {
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
