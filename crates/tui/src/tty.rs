//! The terminal's settings, put back on every way out.
//!
//! Keys come one by one and without echo, but Ctrl-C and Ctrl-Z stay signals: they work whatever lilt is busy with.

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

/// How often to look whether we are in the foreground again: no signal tells.
const LOOK: std::time::Duration = std::time::Duration::from_millis(500);

#[cfg(target_os = "linux")]
const DISABLED: u8 = 0;
#[cfg(not(target_os = "linux"))]
const DISABLED: u8 = 0xff;

/// The terminal's settings as we found them.
static FOUND: OnceLock<Termios> = OnceLock::new();

thread_local! {
    /// This thread draws: its panic is the end of the picture.
    static DRAWS: Cell<bool> = const { Cell::new(false) };
}

fn with_device<T>(act: impl FnOnce(BorrowedFd<'_>) -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    // Where keys come from; with input from elsewhere, the terminal that is written to.
    let (input, output) = (std::io::stdin(), std::io::stdout());
    if input.is_terminal() { act(input.as_fd()) } else { act(output.as_fd()) }
}

/// Whether a person can press keys here: not in a job of the background, whose shell has the keyboard.
pub fn is_foreground() -> bool {
    with_device(|device| tcgetpgrp(device)).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Columns and rows. Some terminals do not know: then what was usual for decades.
pub(crate) fn size() -> (u16, u16) {
    let known = |cells: u16, usual: u16| if cells == 0 { usual } else { cells };
    let (columns, rows) = terminal::size().unwrap_or_default();
    (known(columns, 80), known(rows, 24))
}

/// A terminal whose keys come here. Dropping it gives it back.
pub(crate) struct Tty {
    /// None: the terminal is not ours now.
    keys: Option<EventStream>,
    /// Ctrl-Z, or a signal that means it. Heard for good: once a signal is caught it stays so.
    suspend: Signal,
    quit: Signal,
    /// The whole screen is ours.
    whole: bool,
    /// It was stopped, and is not in the foreground yet.
    away: bool,
    over: CancellationToken,
    /// What other threads said while they must not write.
    panics: Receiver<String>,
}

impl std::fmt::Debug for Tty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tty").field("whole", &self.whole).finish_non_exhaustive()
    }
}

/// What comes from the terminal.
#[derive(Debug)]
pub(crate) enum Sign {
    Event(crossterm::event::Event),
    Nothing,
    /// The screen must be drawn anew: lilt was stopped and goes on.
    Resumed,
    /// Somebody asked for the end.
    Quit,
    /// Nothing will come any more.
    Closed,
    /// The session has ended, while it was not to be seen.
    Over,
}

impl Tty {
    /// Takes the terminal. `over` ends any waiting for it.
    pub(crate) fn open(over: CancellationToken) -> std::io::Result<Tty> {
        let found = with_device(|device| tcgetattr(device))?;
        FOUND.get_or_init(|| found);
        let suspend = signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGTSTP as i32))?;
        let quit = signal(SignalKind::quit())?;
        let panics = guard_panics();
        DRAWS.set(true);
        let mut tty = Tty { keys: None, suspend, quit, whole: false, away: false, over, panics };
        tty.enter()?;
        Ok(tty)
    }

    /// Takes the whole screen, or gives it back.
    pub(crate) fn fill(&mut self, whole: bool) -> std::io::Result<()> {
        let changed = std::mem::replace(&mut self.whole, whole) != whole;
        if changed && !self.away { show_screen(whole) } else { Ok(()) }
    }

    fn enter(&mut self) -> std::io::Result<()> {
        let mut modes = FOUND.get().expect("invariant: found before it is changed").clone();
        modes.local_modes &=
            !(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHONL | LocalModes::IEXTEN);
        modes.input_modes &= !(InputModes::ICRNL | InputModes::INLCR | InputModes::IXON);
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Its core dump would come in the middle of the picture.
        modes.special_codes[SpecialCodeIndex::VQUIT] = DISABLED;
        with_device(|device| tcsetattr(device, OptionalActions::Now, &modes))?;
        if self.whole {
            show_screen(true)?;
        }
        self.keys = Some(EventStream::new());
        Ok(())
    }

    fn leave(&mut self) {
        // Who is not in the foreground must neither read nor change settings.
        if self.keys.take().is_some() {
            restore(self.whole);
        }
    }

    /// The next thing that comes from the terminal. May be cancelled and called again.
    pub(crate) async fn next(&mut self) -> Sign {
        use futures_util::StreamExt as _;
        if self.away {
            return self.come_back().await;
        }
        let Some(keys) = &mut self.keys else { return Sign::Closed };
        tokio::select! {
            event = keys.next() => match event {
                Some(Ok(event)) => Sign::Event(event),
                // The one before it was told to end.
                Some(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => Sign::Nothing,
                Some(Err(_)) | None => Sign::Closed,
            },
            _ = self.suspend.recv() => {
                self.leave();
                self.away = true;
                halt();
                self.come_back().await
            }
            _ = self.quit.recv() => Sign::Quit,
        }
    }

    /// Waits for Ctrl-Z and obeys, for those who read no keys any more.
    pub(crate) async fn obey(&mut self) {
        loop {
            self.suspend.recv().await;
            halt();
        }
    }

    /// After it was continued, here or in the background. May be cancelled and called again.
    async fn come_back(&mut self) -> Sign {
        while !is_foreground() {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = self.over.cancelled() => return Sign::Over,
            }
        }
        self.away = false;
        match self.enter() {
            Ok(()) => Sign::Resumed,
            Err(_) => Sign::Closed,
        }
    }

    /// Somebody else has the terminal: nothing may be drawn.
    pub(crate) fn is_away(&self) -> bool {
        self.away
    }

    /// Gives the terminal back for lines to be printed.
    pub(crate) fn release(&mut self) {
        self.leave();
        self.whole = false;
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.leave();
        DRAWS.set(false);
        if !std::thread::panicking() {
            // Back to the one before ours.
            let _ = panic::take_hook();
            for words in self.panics.try_iter() {
                lilt_host::terminal::aside(&words);
            }
        }
    }
}

/// Stops this process, as Ctrl-Z does; returns when it is continued.
fn halt() {
    // To this thread: one to the process may reach another thread first, and this one would go on for a moment.
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

/// For when the thread that draws cannot do it: it waits for a terminal that takes no output.
pub(crate) fn restore_settings() {
    if let Some(found) = FOUND.get().filter(|_| is_foreground()) {
        let _ = with_device(|device| tcsetattr(device, OptionalActions::Now, found));
    }
}

/// A panic of the thread that draws is told on a screen that can be read. Other threads' panics are events of the
/// session; their words wait until the screen is given back.
fn guard_panics() -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if DRAWS.get() {
            restore(true);
            before(info);
        } else {
            // Nobody is left to be told.
            let _ = sender.send(info.to_string());
        }
    }));
    receiver
}
