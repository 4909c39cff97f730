//! Access to this machine: files, processes, clock, environment and terminal.
//!
//! The only crate that watches files, starts processes, writes to stdout, or reads the clock and the environment. It does
//! not know resources, Docker or clusters, and prints nothing unless it is called to.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "clippy.toml sends all other crates here"
)]

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
