//! Ends a load early, also inside of a builtin that iterates over very many elements: the interpreter itself checks for
//! cancellation only between statements.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lilt_model::Failure;

use crate::failure;
use crate::messages::{LoadMessage, Message};
use crate::progress::{Observer, Position};
use crate::system::System;

/// How often cancellation and memory are checked while a load prints nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The most memory that a load may take, in bytes. The interpreter counts strings and lists, but not dicts and sets.
const MAX_MEMORY: usize = 2 << 30;

/// A request to end a load, with its reason. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Halt(Arc<OnceLock<Reason>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Cancelled,
    TooMuchMemory,
}

impl Halt {
    pub(crate) fn is_requested(&self) -> bool {
        self.0.get().is_some()
    }

    /// Returns the failure of the load, if it must end.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.0.get().map(|reason| match reason {
            Reason::Cancelled => failure::cancelled(),
            Reason::TooMuchMemory => failure::too_much_memory(),
        })
    }

    fn request(&self, reason: Reason) {
        // The first reason is kept.
        let _ = self.0.set(reason);
    }

    /// Passes on the messages of a load until it has ended, and requests its end if it is cancelled or takes too much memory.
    pub(crate) fn supervise(
        &self,
        messages: &Receiver<Message>,
        position: Position,
        system: &dyn System,
        cancelled: &(dyn Fn() -> bool + Sync),
        print: &mut dyn FnMut(LoadMessage<'_>),
    ) {
        let memory_before = system.memory_usage();
        let start = system.now();
        let mut observer = Observer::new(position);
        loop {
            match messages.recv_timeout(POLL_INTERVAL) {
                Ok(Message::Line(line)) => print(LoadMessage::Line(&line)),
                Ok(Message::Warning(warning)) => print(LoadMessage::Warning(&warning)),
                Ok(Message::File(source)) => observer.add_file(source),
                Ok(Message::Command(command)) => observer.set_command(command),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    if cancelled() {
                        self.request(Reason::Cancelled);
                    }
                    let taken = system
                        .memory_usage()
                        .zip(memory_before)
                        .map(|(now, memory_before)| now.saturating_sub(memory_before));
                    if taken.is_some_and(|taken| taken > MAX_MEMORY) {
                        self.request(Reason::TooMuchMemory);
                    }
                }
            }
            if let Some(progress) = observer.report(system.now().saturating_duration_since(start)) {
                print(LoadMessage::Progress(&progress));
            }
        }
    }
}
