//! Ends a load before its time, also inside of a builtin that goes through very many elements: the interpreter looks
//! only between the steps of the code.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lilt_model::Failure;

use crate::failure;
use crate::outside::Outside;
use crate::progress::{Observer, Position};
use crate::said::{Message, Said};

/// How often a load that says nothing is looked after. A save or Ctrl-C waits no longer than this.
const LOOK: Duration = Duration::from_millis(20);
/// What a load may take, in bytes. The interpreter counts strings and lists, but not what dicts and sets take.
const MOST_MEMORY: usize = 2 << 30;

/// Why a load must end, once it must. All clones are the same one.
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

    /// What came of the load, if it must end.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.0.get().map(|reason| match reason {
            Reason::Cancelled => failure::cancelled(),
            Reason::TooMuchMemory => failure::too_much_memory(),
        })
    }

    fn ask(&self, reason: Reason) {
        // The first reason stays.
        let _ = self.0.set(reason);
    }

    /// Passes on what the load says until it has ended, and meanwhile asks it to end if it must.
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
