//! This machine: its files, processes, clock, environment and terminal.
//!
//! The only crate that watches files, starts processes, writes to stdout, or reads the clock and the environment. It knows
//! nothing of resources, Docker or clusters, and says nothing of its own accord.

// The rule that sends everyone else here (clippy.toml) cannot apply here.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod clock;
pub mod editor;
pub mod environment;
mod error;
pub mod files;
pub mod limits;
pub mod memory;
pub mod ports;
pub mod private_file;
pub mod probe;
pub mod process;
pub mod session_dir;
pub mod signals;
pub mod terminal;
pub mod watch;
