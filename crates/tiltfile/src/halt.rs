//! Ends a load early, also inside of a builtin that iterates over very many elements: the interpreter itself checks for
//! cancellation only between statements.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lilt_model::Failure;

use crate::failure;
use crate::outside::Outside;
use crate::progress::{Observer, Position};
use crate::said::{Message, Said};

/// How often cancellation and memory are checked while a load prints nothing.
const LOOK: Duration = Duration::from_millis(20);
/// The most memory that a load may take, in bytes. The interpreter counts strings and lists, but not dicts and sets.
const MOST_MEMORY: usize = 2 << 30;

/// A request to end a load, with its reason. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Halt(Arc<OnceLock<Reason>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Cancelled,
    TooMuchMemory,
}

impl Halt {
    pub(crate) fn is_asked(&self) -> bool {
        self.0.get().is_some()
    }

    /// Returns the failure of the load, if it must end.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.0.get().map(|reason| match reason {
            Reason::Cancelled => failure::cancelled(),
            Reason::TooMuchMemory => failure::too_much_memory(),
        })
    }

    fn ask(&self, reason: Reason) {
        // The first reason is kept.
        let _ = self.0.set(reason);
    }

    /// Passes on the messages of a load until it has ended, and requests its end if it is cancelled or takes too much memory.
    pub(crate) fn look_after(
        &self,
        messages: &Receiver<Message>,
        position: Position,
        outside: &dyn Outside,
        cancelled: &(dyn Fn() -> bool + Sync),
        print: &mut dyn FnMut(Said<'_>),
    ) {
        let begun = outside.memory();
        let start = outside.now();
        let mut observer = Observer::new(position);
        loop {
            match messages.recv_timeout(LOOK) {
                Ok(Message::Line(line)) => print(Said::Line(&line)),
                Ok(Message::Warning(warning)) => print(Said::Warning(&warning)),
                Ok(Message::File(source)) => observer.add_file(source),
                Ok(Message::Command(command)) => observer.set_command(command),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    if cancelled() {
                        self.ask(Reason::Cancelled);
                    }
                    let taken = outside.memory().zip(begun).map(|(now, begun)| now.saturating_sub(begun));
                    if taken.is_some_and(|taken| taken > MOST_MEMORY) {
                        self.ask(Reason::TooMuchMemory);
                    }
                }
            }
            if let Some(progress) = observer.report(outside.now().saturating_duration_since(start)) {
                print(Said::Progress(&progress));
            }
        }
    }
}
