//! `lilt` in a pseudo terminal with an emulated screen.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Instant;

use lilt_testbed_env::{Project, eventually};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

use super::lilt::{DEADLINE, Start, assert_empty};
use super::processes;

pub struct Terminal {
    child: Child,
    mark: String,
    home: Project,
    /// The user's side.
    keyboard: File,
    /// The program's side, kept open so that its settings can be read after the exit.
    device: File,
    settings: String,
    incoming: Receiver<Vec<u8>>,
    screen: RefCell<vt100::Parser>,
    raw: RefCell<Vec<u8>>,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").field("child", &self.child).finish_non_exhaustive()
    }
}

impl Terminal {
    /// Starts `lilt` with these arguments in a terminal of 80×24.
    pub fn start(project: &Project, arguments: &[&str]) -> Terminal {
        Terminal::start_with(project, arguments, &[])
    }

    /// Starts a shell with job control, whose prompt is `PROMPT>`.
    pub fn shell(project: &Project) -> Terminal {
        Terminal::program(project, &["bash", "--norc", "-i"], &[("PS1", "PROMPT>")])
    }

    pub fn start_with(project: &Project, arguments: &[&str], variables: &[(&str, &str)]) -> Terminal {
        let lilt = crate::program();
        let lilt = lilt.to_str().expect("the folder of a build has a UTF-8 name");
        Terminal::program(project, &[&[lilt], arguments].concat(), variables)
    }

    fn program(project: &Project, arguments: &[&str], variables: &[(&str, &str)]) -> Terminal {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are pseudo terminals");
        grantpt(&keyboard).expect("it is ours");
        unlockpt(&keyboard).expect("it is ours");
        let name = ptsname(&keyboard, Vec::new()).expect("it has a name");
        let device = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty());
        let device = File::from(device.expect("the other side opens"));
        let keyboard = File::from(keyboard);
        set_size(&keyboard, 80, 24);
        // The child makes it its controlling terminal, then executes the program.
        let arguments = [&["-c"], arguments].concat();
        let mut start =
            Start::program(Path::new("setsid"), project, &arguments).variable("TERM", "xterm-256color");
        for (name, value) in variables {
            start = start.variable(name, value);
        }
        let settings = settings(&device);
        let copy = || device.try_clone().expect("a file can be shared");
        let child = start.command.stdin(copy()).stdout(copy()).stderr(copy()).spawn();
        let child = child.unwrap_or_else(|error| panic!("setsid does not start: {error}"));
        // The command holds copies of the device, which must be closed.
        let Start { mark, home, .. } = start;
        let incoming = collect(keyboard.try_clone().expect("a file can be shared"));
        let screen = RefCell::new(vt100::Parser::new(size(24), size(80), 0));
        let raw = RefCell::new(Vec::new());
        Terminal { child, mark, home, keyboard, device, settings, incoming, screen, raw }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("process ids are small")
    }

    pub fn types(&self, keys: &str) {
        (&self.keyboard).write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        self.screen.borrow_mut().screen_mut().set_size(size(rows), size(columns));
        set_size(&self.keyboard, columns, rows);
    }

    /// With size 0×0, like terminals without a window.
    pub fn forget_size(&self) {
        set_size(&self.keyboard, 0, 0);
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("lilt runs");
    }

    /// Waits until the screen contains a text.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(&format!("has {text:?}"), |screen| screen.contents().contains(text));
    }

    /// Waits until `is_so` holds for the screen. `what` completes "until the screen …".
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !is_so(self.screen.borrow().screen()) {
            match self.incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.take(&bytes),
                Err(error) => {
                    let end = if error == RecvTimeoutError::Timeout { "in vain" } else { "to its end" };
                    panic!("waited {end} until the screen {what}; it shows:\n{}", self.screen_text());
                }
            }
        }
    }

    fn take(&self, bytes: &[u8]) {
        self.screen.borrow_mut().process(bytes);
        self.raw.borrow_mut().extend_from_slice(bytes);
    }

    /// Returns the text of the screen.
    pub fn screen_text(&self) -> String {
        while let Ok(bytes) = self.incoming.try_recv() {
            self.take(&bytes);
        }
        self.screen.borrow().screen().contents()
    }

    /// Returns all output, with control sequences.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.raw.borrow()).into_owned()
    }

    /// Waits for a control sequence.
    pub fn wait_for_written(&self, text: &str) {
        self.wait_until(&format!("was sent {text:?}"), |_| self.written().contains(text));
    }

    /// Waits until lilt is suspended.
    pub fn wait_until_stopped(&self) {
        eventually("lilt is stopped", || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')).then_some(())
        });
        self.screen_text();
    }

    /// Asserts that settings, cursor and screen of the terminal are restored.
    #[track_caller]
    pub fn assert_restored(&self) {
        assert_eq!(settings(&self.device), self.settings, "the settings of the terminal");
        // The last output may still be in transit.
        eventually("screen and cursor are given back", || {
            self.screen_text();
            let parser = self.screen.borrow();
            let screen = parser.screen();
            (!screen.alternate_screen() && !screen.hide_cursor()).then_some(())
        });
    }

    pub fn is_raw(&self) -> bool {
        settings(&self.device) != self.settings
    }

    /// Returns the running processes that lilt started.
    pub fn processes(&self) -> Vec<i32> {
        processes::with_marker(&self.mark).into_iter().filter(|pid| *pid != self.pid()).collect()
    }

    /// Waits until it exits, and asserts that no process or file is left and the terminal is restored.
    #[track_caller]
    pub fn ends_clean(mut self) -> ExitStatus {
        let status = eventually("lilt has ended", || {
            // A test that does not read blocks the writer.
            self.screen_text();
            self.child.try_wait().expect("a child can be waited for")
        });
        eventually("every process that lilt started is gone", || {
            processes::with_marker(&self.mark).is_empty().then_some(())
        });
        self.assert_restored();
        assert_empty(&self.home);
        status
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the terminal shows:\n{}", self.screen_text());
        }
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        for pid in processes::with_marker(&self.mark) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

fn size(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).expect("a screen has cells")
}

fn set_size(terminal: &File, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("a terminal has a size");
}

fn settings(device: &File) -> String {
    format!("{:?}", tcgetattr(device).expect("a terminal has settings"))
}

/// Reads until the terminal is closed.
fn collect(mut output: File) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(length) = output.read(&mut buffer) {
            if length == 0 || sender.send(buffer[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}
