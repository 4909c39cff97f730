//! The object commands on real sessions. They need neither a cluster nor Docker.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

mod applying;
mod deleting;
mod editing;
mod explaining;
mod making;
mod reading;
mod session;
mod waiting;
mod watching;
