//! This machine: its files, processes, clock and environment.
//!
//! The only crate that watches files, starts processes or reads the clock and the environment. It knows nothing of
//! resources, Docker or clusters, and prints nothing.

// The rule that sends everyone else here (clippy.toml) cannot apply here.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod clock;
pub mod environment;
pub mod files;
pub mod limits;
pub mod memory;
pub mod ports;
pub mod private_file;
pub mod probe;
pub mod process;
pub mod session_dir;
pub mod signals;
pub mod watch;
