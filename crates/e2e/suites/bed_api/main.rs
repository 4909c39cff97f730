//! The object API of a session, through an unmodified kubectl.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

mod acting;
mod applying;
mod both;
mod client;
mod clusters;
mod editing;
mod pods;
mod random;
mod reading;
mod writing;
