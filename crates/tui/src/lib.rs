//! A session in the terminal that it was started in: every line of its log, the prompt that `up` begins with, or the whole
//! screen with resources, logs and keys.
//!
//! It reads the store of a session in its own process and sends requests, as the page does. It decides nothing about
//! resources, and must know neither the loop nor the web port's server.

mod overview;
mod prompt;
mod screen;
mod status;
pub mod stream;
mod terminal_mode;
mod tty;
mod wrap;

pub use terminal_mode::{SessionLink, TerminalMode, show};
pub use tty::is_foreground;
