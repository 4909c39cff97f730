//! A running `lilt`, as a person sees it: what it prints, what its page shows, how it ends, what it leaves behind.

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

/// Where a test says what it waits for in vain. A loaded machine with two cores must not come near it.
pub const DEADLINE: Duration = Duration::from_secs(240);

/// How `lilt` is started.
#[derive(Debug)]
pub struct Start {
    pub(crate) command: Command,
    pub(crate) mark: String,
    /// Everything that lilt could leave behind goes here: home, caches, temporary files.
    pub(crate) home: Project,
}

impl Start {
    /// `lilt` with these arguments, in a project's folder, knowing neither a cluster nor an engine.
    pub fn new(project: &Project, arguments: &[&str]) -> Start {
        Start::program(&crate::program(), project, arguments)
    }

    pub fn program(program: &Path, project: &Project, arguments: &[&str]) -> Start {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let mark = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let home = Project::new(&[("cache/.keep", ""), ("tmp/.keep", "")]);
        home.remove("cache/.keep");
        home.remove("tmp/.keep");
        // lilt is started as in a terminal, also where the tests run as a background job of a script or under `nohup`.
        lilt_host::signals::restore_defaults(&[Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT]);
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(project.path())
            .env("HOME", home.path())
            .env("XDG_CACHE_HOME", home.file("cache"))
            .env("TMPDIR", home.file("tmp"))
            .env(processes::MARK, &mark)
            // Plain requests are easier to read without; who may come in has tests of its own.
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

    /// `lilt up --stream` on any free port.
    pub fn up(project: &Project) -> Start {
        Start::new(project, &["up", "--stream", "--port", "random"])
    }

    /// `lilt ci` on any free port.
    pub fn ci(project: &Project) -> Start {
        Start::new(project, &["ci", "--port", "random"])
    }

    /// On the bed, in this namespace.
    pub fn on(mut self, namespace: &Namespace) -> Start {
        self.command.envs(namespace.variables());
        self
    }

    pub fn variable(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Start {
        self.command.env(name, value);
        self
    }

    /// Without a variable that it would have.
    pub fn without(mut self, name: &str) -> Start {
        self.command.env_remove(name);
        self
    }

    /// With the home of a session that runs, as a second command in another terminal has.
    pub fn beside(mut self, session: &Lilt) -> Start {
        let home = &session.home;
        self.command.env("HOME", home.path()).env("XDG_CACHE_HOME", home.file("cache"));
        self
    }

    /// In another folder than the project's.
    pub fn within(mut self, folder: &Path) -> Start {
        self.command.current_dir(folder);
        self
    }

    pub fn argument(mut self, argument: &str) -> Start {
        self.command.arg(argument);
        self
    }

    /// With what comes in from a file.
    pub fn reading(mut self, path: &Path) -> Start {
        self.command.stdin(std::fs::File::open(path).expect("the file is there"));
        self
    }

    /// With a pipe for what [`Lilt::typed`] writes.
    pub fn typing(mut self) -> Start {
        self.command.stdin(Stdio::piped());
        self
    }

    pub fn start(mut self) -> Lilt {
        // As a shell does: Ctrl-C goes to this group, the test is in another one.
        self.command.process_group(0);
        let mut child = self.command.spawn().unwrap_or_else(|error| panic!("lilt does not start: {error}"));
        // Unbounded: the test reads when it likes, and lilt must not wait for that.
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

    /// Starts it and waits for its end.
    pub fn run(self) -> Ended {
        self.start().ended()
    }
}

/// Ends with the pipe.
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

/// A place in the output.
#[derive(Clone, Copy, Debug)]
pub struct Place(usize);

/// The beginning of the output.
pub const BEGIN: Place = Place(0);

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

    /// Where everything that lilt keeps goes.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Waits for a line that contains a text, anywhere in the output, and returns it.
    pub fn wait_for_line(&self, text: &str) -> String {
        self.wait_for_line_after(BEGIN, text)
    }

    /// Waits for a line that contains a text, from a place on.
    pub fn wait_for_line_after(&self, place: Place, text: &str) -> String {
        self.wait_for(place, &format!("a line with {text:?}"), |line| line.contains(text))
    }

    /// Waits for exactly this line of a resource.
    pub fn wait_for_words(&self, resource: &str, words: &str) {
        self.wait_for_words_after(BEGIN, resource, words);
    }

    pub fn wait_for_words_after(&self, place: Place, resource: &str, words: &str) {
        let wanted = format!("{resource:>13} │ {words}");
        self.wait_for(place, &format!("the line {wanted:?}"), |line| line == wanted);
    }

    fn wait_for(&self, place: Place, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + DEADLINE;
        let mut next = place.0;
        loop {
            if let Some((_, line)) = self.seen.borrow().iter().skip(next).find(|(_, line)| is_it(line)) {
                return line.clone();
            }
            next = self.seen.borrow().len().max(place.0);
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

    /// Where the output ends now.
    pub fn place(&self) -> Place {
        self.drain();
        Place(self.seen.borrow().len())
    }

    fn drain(&self) {
        self.seen.borrow_mut().extend(self.incoming.try_iter());
    }

    /// What was printed so far.
    pub fn output(&self) -> String {
        self.output_after(BEGIN)
    }

    pub fn output_after(&self, place: Place) -> String {
        self.drain();
        self.seen.borrow().iter().skip(place.0).map(|(_, line)| format!("{line}\n")).collect()
    }

    /// How many lines contain a text.
    pub fn count(&self, text: &str) -> usize {
        self.output().lines().filter(|line| line.contains(text)).count()
    }

    /// Waits until so many lines with a text were printed, and no more. The page may know what happened before it is
    /// printed.
    #[track_caller]
    pub fn has_lines(&self, text: &str, number: usize) {
        eventually(&format!("{number} lines with {text:?}"), || (self.count(text) >= number).then_some(()));
        assert_eq!(self.count(text), number, "lines with {text:?}");
    }

    /// The port of the page.
    pub fn port(&self) -> u16 {
        let line = self.wait_for_line("Tilt started on http://");
        // A token may follow.
        let address = line.split('?').next().unwrap_or_default();
        let port = address.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
        port.unwrap_or_else(|| panic!("no port in {line:?}"))
    }

    /// Waits until the page shows a resource in a state, and returns it. `what` completes "until the resource …".
    pub fn wait_until(&self, resource: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut page = self.page.borrow_mut();
        let page = page.get_or_insert_with(|| Page::open(self.port()));
        page.wait_until(resource, is_so).unwrap_or_else(|last| {
            panic!("waited {DEADLINE:?} in vain until {resource} {what}; the page shows {last:#}")
        })
    }

    /// Waits until a resource's last update succeeded and what it runs, if anything, is ready.
    pub fn wait_until_ready(&self, resource: &str) -> Value {
        self.wait_until(resource, "is ready", |it| {
            let good = |key: &str| matches!(it["status"][key].as_str(), Some("ok" | "not_applicable"));
            good("updateStatus") && good("runtimeStatus")
        })
    }

    /// Asks for an update over the page's socket.
    pub fn click(&self, resource: &str) {
        let mut page = self.page.borrow_mut();
        page.get_or_insert_with(|| Page::open(self.port())).trigger(resource);
    }

    /// Where to write what a person types; only for those that were started with [`Start::typing`].
    pub fn typed(&mut self) -> &mut impl std::io::Write {
        self.child.stdin.as_mut().expect("it was started with a pipe")
    }

    /// Presses Ctrl-C.
    pub fn ctrl_c(&self) {
        killpg(Pid::from_raw(self.pid()), Signal::SIGINT).expect("lilt runs");
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("lilt runs");
    }

    /// The commands that lilt started, what they started, and that run now.
    pub fn processes(&self) -> Vec<i32> {
        let marked = processes::marked(&self.mark).into_iter();
        marked.filter(|pid| *pid != self.pid() && !processes::is_guardian(*pid)).collect()
    }

    /// Presses Ctrl-C, waits for the end and checks that it is a good one.
    pub fn quit(self) {
        self.ctrl_c();
        self.ended().clean(0);
    }

    /// Waits for the end.
    pub fn ended(mut self) -> Ended {
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
        // Its last words may still be on their way.
        loop {
            match self.incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.seen.borrow_mut().push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("lilt left something that holds its output open"),
            }
        }
        Ended { code: status.code(), lilt: self }
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
        // What a failed test leaves, and what lilt wrongly left.
        for pid in processes::marked(&self.mark) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

/// A `lilt` that has ended.
#[derive(Debug)]
pub struct Ended {
    code: Option<i32>,
    lilt: Lilt,
}

impl Ended {
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

    /// The exit code, and nothing left: no process, no folder, no temporary file.
    #[track_caller]
    pub fn clean(self, code: i32) -> Ended {
        assert_eq!(self.code, Some(code), "the exit code");
        self.leaves_nothing()
    }

    /// No process is left.
    #[track_caller]
    pub fn leaves_no_process(&self) {
        eventually("every process that lilt started is gone", || {
            processes::marked(&self.lilt.mark).is_empty().then_some(())
        });
    }

    /// No process, no folder, no temporary file.
    #[track_caller]
    pub fn leaves_nothing(self) -> Ended {
        self.leaves_no_process();
        assert_empty(&self.lilt.home);
        self
    }

    /// Whether the output has a line with a text.
    #[track_caller]
    pub fn says(self, text: &str) -> Ended {
        let printed = self.output();
        assert!(printed.contains(text), "expected {text:?} in what lilt printed");
        self
    }
}

/// Nothing was left in a session's home.
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
