//! Terminal settings, restored on every exit.
//!
//! Keys arrive one by one and without echo, but Ctrl-C and Ctrl-Z stay signals, so that they always work.

use std::cell::Cell;
use std::io::{IsTerminal as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::panic;
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver};

use crossterm::event::EventStream;
use crossterm::{cursor, queue, terminal};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// How often to check whether we are in the foreground again: there is no signal for it.
const FOREGROUND_CHECK_INTERVAL: std::time::Duration = std::time::Duration::from_millis(500);

#[cfg(target_os = "linux")]
const DISABLED: u8 = 0;
#[cfg(not(target_os = "linux"))]
const DISABLED: u8 = 0xff;

/// The terminal's original settings.
static ORIGINAL_SETTINGS: OnceLock<Termios> = OnceLock::new();

thread_local! {
    /// Whether this thread draws: its panic ends the UI.
    static IS_DRAWING: Cell<bool> = const { Cell::new(false) };
}

fn with_device<T>(act: impl FnOnce(BorrowedFd<'_>) -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    // Standard input, or standard output if the input is no terminal.
    let (input, output) = (std::io::stdin(), std::io::stdout());
    if input.is_terminal() { act(input.as_fd()) } else { act(output.as_fd()) }
}

/// Returns whether keys reach this process: not in a background job, whose shell has the keyboard.
pub fn is_foreground() -> bool {
    with_device(|device| tcgetpgrp(device)).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Returns columns and rows; 80 by 24 if the terminal does not know.
pub(crate) fn size() -> (u16, u16) {
    let known = |cells: u16, usual: u16| if cells == 0 { usual } else { cells };
    let (columns, rows) = terminal::size().unwrap_or_default();
    (known(columns, 80), known(rows, 24))
}

/// A terminal in raw mode. Dropping it restores the settings.
pub(crate) struct Tty {
    /// None: the terminal is released.
    keys: Option<EventStream>,
    /// Ctrl-Z, or a signal with the same meaning. Kept for the process: a caught signal stays caught.
    suspend: Signal,
    quit: Signal,
    /// Whether the alternate screen is active.
    whole: bool,
    /// The process was stopped, and is not in the foreground yet.
    away: bool,
    over: CancellationToken,
    /// Panic messages of other threads, printed when the screen is released.
    panics: Receiver<String>,
}

impl std::fmt::Debug for Tty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tty").field("whole", &self.whole).finish_non_exhaustive()
    }
}

/// An event of the terminal.
#[derive(Debug)]
pub(crate) enum TerminalEvent {
    Event(crossterm::event::Event),
    Nothing,
    /// The screen must be redrawn: the process was stopped and continued.
    Resumed,
    /// The user quits.
    Quit,
    /// The terminal was closed.
    Closed,
    /// The session has ended while the process was in the background.
    Over,
}

impl Tty {
    /// Opens the terminal. `over` cancels all waits.
    pub(crate) fn open(over: CancellationToken) -> std::io::Result<Tty> {
        let found = with_device(|device| tcgetattr(device))?;
        ORIGINAL_SETTINGS.get_or_init(|| found);
        let suspend = signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGTSTP as i32))?;
        let quit = signal(SignalKind::quit())?;
        let panics = guard_panics();
        IS_DRAWING.set(true);
        let mut tty = Tty { keys: None, suspend, quit, whole: false, away: false, over, panics };
        tty.enter()?;
        Ok(tty)
    }

    /// Enters or leaves the alternate screen.
    pub(crate) fn fill(&mut self, whole: bool) -> std::io::Result<()> {
        let changed = std::mem::replace(&mut self.whole, whole) != whole;
        if changed && !self.away { show_screen(whole) } else { Ok(()) }
    }

    fn enter(&mut self) -> std::io::Result<()> {
        let mut modes = ORIGINAL_SETTINGS.get().expect("invariant: found before it is changed").clone();
        modes.local_modes &=
            !(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHONL | LocalModes::IEXTEN);
        modes.input_modes &= !(InputModes::ICRNL | InputModes::INLCR | InputModes::IXON);
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        // A core dump message would overwrite the screen.
        modes.special_codes[SpecialCodeIndex::VQUIT] = DISABLED;
        with_device(|device| tcsetattr(device, OptionalActions::Now, &modes))?;
        if self.whole {
            show_screen(true)?;
        }
        self.keys = Some(EventStream::new());
        Ok(())
    }

    fn leave(&mut self) {
        // A background process must neither read from the terminal nor change its settings.
        if self.keys.take().is_some() {
            restore(self.whole);
        }
    }

    /// Returns the next event of the terminal. Cancel-safe.
    pub(crate) async fn next(&mut self) -> TerminalEvent {
        use futures_util::StreamExt as _;
        if self.away {
            return self.wait_for_foreground().await;
        }
        let Some(keys) = &mut self.keys else { return TerminalEvent::Closed };
        tokio::select! {
            event = keys.next() => match event {
                Some(Ok(event)) => TerminalEvent::Event(event),
                // The former reader was cancelled.
                Some(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => TerminalEvent::Nothing,
                Some(Err(_)) | None => TerminalEvent::Closed,
            },
            _ = self.suspend.recv() => {
                self.leave();
                self.away = true;
                stop_process();
                self.wait_for_foreground().await
            }
            _ = self.quit.recv() => TerminalEvent::Quit,
        }
    }

    /// Handles Ctrl-Z for modes that read no keys.
    pub(crate) async fn handle_suspend(&mut self) {
        loop {
            self.suspend.recv().await;
            stop_process();
        }
    }

    /// Waits until the process is in the foreground again after it was continued. Cancel-safe.
    async fn wait_for_foreground(&mut self) -> TerminalEvent {
        while !is_foreground() {
            tokio::select! {
                () = tokio::time::sleep(FOREGROUND_CHECK_INTERVAL) => {}
                () = self.over.cancelled() => return TerminalEvent::Over,
            }
        }
        self.away = false;
        match self.enter() {
            Ok(()) => TerminalEvent::Resumed,
            Err(_) => TerminalEvent::Closed,
        }
    }

    /// Returns whether another process has the terminal: then nothing may be drawn.
    pub(crate) fn is_in_background(&self) -> bool {
        self.away
    }

    /// Releases the terminal, so that lines can be printed.
    pub(crate) fn release(&mut self) {
        self.leave();
        self.whole = false;
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.leave();
        IS_DRAWING.set(false);
        if !std::thread::panicking() {
            // Restores the former panic hook.
            let _ = panic::take_hook();
            for words in self.panics.try_iter() {
                lilt_host::terminal::aside(&words);
            }
        }
    }
}

/// Stops this process, as Ctrl-Z does; returns when it is continued.
fn stop_process() {
    // Sent to this thread: one sent to the process may reach another thread first, and this one would continue for a moment.
    // Cannot fail: a process may stop itself.
    let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGSTOP);
}

fn show_screen(whole: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if whole {
        queue!(out, terminal::EnterAlternateScreen, cursor::Hide, terminal::Clear(terminal::ClearType::All))?;
    } else {
        queue!(out, crossterm::style::ResetColor, terminal::LeaveAlternateScreen, cursor::Show)?;
    }
    out.flush()
}

/// Best effort: the terminal may be gone.
fn restore(whole: bool) {
    if whole {
        let _ = show_screen(false);
    }
    restore_settings();
}

/// Restores the settings from another thread, if the drawing thread is blocked by the terminal.
pub(crate) fn restore_settings() {
    if let Some(found) = ORIGINAL_SETTINGS.get().filter(|_| is_foreground()) {
        let _ = with_device(|device| tcsetattr(device, OptionalActions::Now, found));
    }
}

/// Restores the screen before a panic of the drawing thread is printed. Panics of other threads are events of the
/// session; their messages are printed when the screen is released.
fn guard_panics() -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if IS_DRAWING.get() {
            restore(true);
            before(info);
        } else {
            // The receiver may be gone.
            let _ = sender.send(info.to_string());
        }
    }));
    receiver
}
