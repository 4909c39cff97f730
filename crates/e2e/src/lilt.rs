//! A running `lilt`: its output, its page, its exit, and what it leaves behind.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use lilt_testbed_env::{Namespace, Project, eventually};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use super::page::Page;
use super::processes;

/// The timeout of all waits, far more than a loaded machine with two cores needs.
pub const DEADLINE: Duration = Duration::from_secs(240);

/// A `lilt` command before its start.
#[derive(Debug)]
pub struct Start {
    pub(crate) command: Command,
    pub(crate) mark: String,
    /// The home folder, with caches and temporary files, so that leftovers are found.
    pub(crate) home: Project,
}

impl Start {
    /// Creates a `lilt` command in a project's folder, with neither a cluster nor a Docker engine.
    pub fn new(project: &Project, arguments: &[&str]) -> Start {
        Start::program(&crate::program(), project, arguments)
    }

    pub fn program(program: &Path, project: &Project, arguments: &[&str]) -> Start {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let mark = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let home = Project::new(&[("cache/.keep", ""), ("tmp/.keep", "")]);
        home.remove("cache/.keep");
        home.remove("tmp/.keep");
        // lilt starts with default signal dispositions, also if the tests run in the background or under `nohup`.
        lilt_host::signals::restore_defaults(&[Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT]);
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(project.path())
            .env("HOME", home.path())
            .env("XDG_CACHE_HOME", home.file("cache"))
            .env("TMPDIR", home.file("tmp"))
            .env(processes::MARKER_VARIABLE, &mark)
            // Without a token requests are simpler; authentication has its own tests.
            .env("TILT_DISABLE_HUD_AUTH", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for name in
            ["KUBECONFIG", "DOCKER_HOST", "DOCKER_CONFIG", "TILT_PORT", "TILT_HOST", "NO_COLOR", "COLUMNS"]
        {
            command.env_remove(name);
        }
        Start { command, mark, home }
    }

    /// Creates `lilt up --stream` on any free port.
    pub fn up(project: &Project) -> Start {
        Start::new(project, &["up", "--stream", "--port", "random"])
    }

    /// Creates `lilt ci` on any free port.
    pub fn ci(project: &Project) -> Start {
        Start::new(project, &["ci", "--port", "random"])
    }

    /// Uses this namespace of the test bed.
    pub fn in_namespace(mut self, namespace: &Namespace) -> Start {
        self.command.envs(namespace.variables());
        self
    }

    pub fn variable(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Start {
        self.command.env(name, value);
        self
    }

    /// Removes a variable.
    pub fn without(mut self, name: &str) -> Start {
        self.command.env_remove(name);
        self
    }

    /// Uses the home of a running session, like a second command of the same user.
    pub fn with_home_of(mut self, session: &Lilt) -> Start {
        let home = &session.home;
        self.command.env("HOME", home.path()).env("XDG_CACHE_HOME", home.file("cache"));
        self
    }

    /// Starts in another folder than the project's.
    pub fn in_folder(mut self, folder: &Path) -> Start {
        self.command.current_dir(folder);
        self
    }

    pub fn argument(mut self, argument: &str) -> Start {
        self.command.arg(argument);
        self
    }

    /// Uses a file as standard input.
    pub fn reading(mut self, path: &Path) -> Start {
        self.command.stdin(std::fs::File::open(path).expect("the file is there"));
        self
    }

    /// Uses a pipe as standard input, for [`Lilt::stdin`].
    pub fn with_piped_stdin(mut self) -> Start {
        self.command.stdin(Stdio::piped());
        self
    }

    pub fn start(mut self) -> Lilt {
        // In its own process group, like in a shell, for Ctrl-C.
        self.command.process_group(0);
        let mut child = self.command.spawn().unwrap_or_else(|error| panic!("lilt does not start: {error}"));
        // Unbounded, because the test reads rarely, and lilt must not wait for it.
        let (sender, incoming) = mpsc::channel();
        collect(child.stdout.take().expect("it was piped"), Source::Stdout, sender.clone());
        collect(child.stderr.take().expect("it was piped"), Source::Stderr, sender);
        Lilt {
            child,
            mark: self.mark,
            home: self.home,
            incoming,
            seen: RefCell::new(Vec::new()),
            page: RefCell::new(None),
        }
    }

    /// Starts it and waits until it exits.
    pub fn run(self) -> ExitedLilt {
        self.start().wait_for_exit()
    }
}

/// Reads lines until the pipe is closed.
fn collect(pipe: impl Read + Send + 'static, source: Source, sender: Sender<(Source, String)>) {
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            if sender.send((source, String::from_utf8_lossy(&line).into_owned())).is_err() {
                return;
            }
        }
    });
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Stdout,
    Stderr,
}

/// A position in the output.
#[derive(Clone, Copy, Debug)]
pub struct OutputPosition(usize);

/// The beginning of the output.
pub const OUTPUT_START: OutputPosition = OutputPosition(0);

#[derive(Debug)]
pub struct Lilt {
    child: Child,
    mark: String,
    home: Project,
    incoming: Receiver<(Source, String)>,
    seen: RefCell<Vec<(Source, String)>>,
    page: RefCell<Option<Page>>,
}

impl Lilt {
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("process ids are small")
    }

    /// Returns the home folder of this lilt.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Waits for a line that contains a text, anywhere in the output, and returns it.
    pub fn wait_for_line(&self, text: &str) -> String {
        self.wait_for_line_after(OUTPUT_START, text)
    }

    /// Waits for a line that contains a text, after a position.
    pub fn wait_for_line_after(&self, start: OutputPosition, text: &str) -> String {
        self.wait_for(start, &format!("a line with {text:?}"), |line| line.contains(text))
    }

    /// Waits for exactly this line of a resource.
    pub fn wait_for_log_line(&self, resource: &str, words: &str) {
        self.wait_for_log_line_after(OUTPUT_START, resource, words);
    }

    pub fn wait_for_log_line_after(&self, start: OutputPosition, resource: &str, words: &str) {
        let wanted = format!("{resource:>13} │ {words}");
        self.wait_for(start, &format!("the line {wanted:?}"), |line| line == wanted);
    }

    fn wait_for(&self, start: OutputPosition, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + DEADLINE;
        let mut next = start.0;
        loop {
            if let Some((_, line)) = self.seen.borrow().iter().skip(next).find(|(_, line)| is_it(line)) {
                return line.clone();
            }
            next = self.seen.borrow().len().max(start.0);
            match self.incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.seen.borrow_mut().push(line),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("waited {DEADLINE:?} in vain for {what}")
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("lilt ended before it printed {what}")
                }
            }
        }
    }

    /// Returns the current end of the output.
    pub fn output_end(&self) -> OutputPosition {
        self.drain();
        OutputPosition(self.seen.borrow().len())
    }

    fn drain(&self) {
        self.seen.borrow_mut().extend(self.incoming.try_iter());
    }

    /// Returns the output so far.
    pub fn output(&self) -> String {
        self.output_after(OUTPUT_START)
    }

    pub fn output_after(&self, start: OutputPosition) -> String {
        self.drain();
        self.seen.borrow().iter().skip(start.0).map(|(_, line)| format!("{line}\n")).collect()
    }

    /// Returns how many lines contain a text.
    pub fn count(&self, text: &str) -> usize {
        self.output().lines().filter(|line| line.contains(text)).count()
    }

    /// Waits until so many lines with a text were printed, and no more. The page may show an event before it is
    /// printed.
    #[track_caller]
    pub fn has_lines(&self, text: &str, number: usize) {
        eventually(&format!("{number} lines with {text:?}"), || (self.count(text) >= number).then_some(()));
        assert_eq!(self.count(text), number, "lines with {text:?}");
    }

    /// Returns the port of the page.
    pub fn port(&self) -> u16 {
        let line = self.wait_for_line("Tilt started on http://");
        // A token may follow.
        let address = line.split('?').next().unwrap_or_default();
        let port = address.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
        port.unwrap_or_else(|| panic!("no port in {line:?}"))
    }

    /// Waits until `is_so` holds for a resource on the page, and returns it. `what` completes "until the resource …".
    pub fn wait_until(&self, resource: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut page = self.page.borrow_mut();
        let page = page.get_or_insert_with(|| Page::open(self.port()));
        page.wait_until(resource, is_so).unwrap_or_else(|last| {
            panic!("waited {DEADLINE:?} in vain until {resource} {what}; the page shows {last:#}")
        })
    }

    /// Waits until a resource's update has succeeded and its runtime is ready.
    pub fn wait_until_ready(&self, resource: &str) -> Value {
        self.wait_until(resource, "is ready", |it| {
            let good = |key: &str| matches!(it["status"][key].as_str(), Some("ok" | "not_applicable"));
            good("updateStatus") && good("runtimeStatus")
        })
    }

    /// Triggers an update over the page's socket.
    pub fn click(&self, resource: &str) {
        let mut page = self.page.borrow_mut();
        page.get_or_insert_with(|| Page::open(self.port())).trigger(resource);
    }

    /// Returns standard input, if it was started with [`Start::with_piped_stdin`].
    pub fn stdin(&mut self) -> &mut impl std::io::Write {
        self.child.stdin.as_mut().expect("it was started with a pipe")
    }

    /// Sends Ctrl-C.
    pub fn ctrl_c(&self) {
        killpg(Pid::from_raw(self.pid()), Signal::SIGINT).expect("lilt runs");
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("lilt runs");
    }

    /// Returns the running processes that lilt started, directly or indirectly.
    pub fn processes(&self) -> Vec<i32> {
        let with_marker = processes::with_marker(&self.mark).into_iter();
        with_marker.filter(|pid| *pid != self.pid() && !processes::is_guardian(*pid)).collect()
    }

    /// Sends Ctrl-C, and checks that it exits with 0 and leaves nothing.
    pub fn quit(self) {
        self.ctrl_c();
        self.wait_for_exit().expect_clean_exit(0);
    }

    /// Waits until it exits.
    pub fn wait_for_exit(mut self) -> ExitedLilt {
        let deadline = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                break status;
            }
            if Instant::now() > deadline {
                panic!("lilt did not end within {DEADLINE:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        // The pipes may still contain its last lines.
        loop {
            match self.incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.seen.borrow_mut().push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("lilt left something that holds its output open"),
            }
        }
        ExitedLilt { code: status.code(), lilt: self }
    }
}

impl Drop for Lilt {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("lilt printed:\n{}", self.output());
        }
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        // Leftovers of a failed test.
        for pid in processes::with_marker(&self.mark) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

/// A `lilt` that has exited.
#[derive(Debug)]
pub struct ExitedLilt {
    code: Option<i32>,
    lilt: Lilt,
}

impl ExitedLilt {
    pub fn code(&self) -> Option<i32> {
        self.code
    }

    pub fn output(&self) -> String {
        self.lilt.output()
    }

    fn of(&self, wanted: Source) -> String {
        self.lilt.drain();
        let seen = self.lilt.seen.borrow();
        seen.iter().filter(|(source, _)| *source == wanted).map(|(_, line)| format!("{line}\n")).collect()
    }

    pub fn stdout(&self) -> String {
        self.of(Source::Stdout)
    }

    pub fn stderr(&self) -> String {
        self.of(Source::Stderr)
    }

    /// Asserts the exit code, and that no process, folder or temporary file is left.
    #[track_caller]
    pub fn expect_clean_exit(self, code: i32) -> ExitedLilt {
        assert_eq!(self.code, Some(code), "the exit code");
        self.leaves_nothing()
    }

    /// Asserts that no process is left.
    #[track_caller]
    pub fn leaves_no_process(&self) {
        eventually("every process that lilt started is gone", || {
            processes::with_marker(&self.lilt.mark).is_empty().then_some(())
        });
    }

    /// Asserts that no process, folder or temporary file is left.
    #[track_caller]
    pub fn leaves_nothing(self) -> ExitedLilt {
        self.leaves_no_process();
        assert_empty(&self.lilt.home);
        self
    }

    /// Asserts that the output contains a text.
    #[track_caller]
    pub fn expect_output(self, text: &str) -> ExitedLilt {
        let printed = self.output();
        assert!(printed.contains(text), "expected {text:?} in what lilt printed");
        self
    }
}

/// Asserts that nothing is left in a session's home.
#[track_caller]
pub(crate) fn assert_empty(home: &Project) {
    let folders = [home.file("cache/lilt/sessions"), home.file("tmp")];
    let left: Vec<PathBuf> = folders.iter().flat_map(|folder| entries(folder)).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}
