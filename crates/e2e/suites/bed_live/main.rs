//! Live updates on a real cluster, of images with and without the necessary tools.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

mod docker;
mod edits;
mod elsewhere;
mod faults;
mod images;
mod many;
mod process;
mod restart;
mod roots;
mod small;
mod steps;
