//! Delivery of images to nodes and registries, and pruning.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

mod account;
mod again;
mod engine_front;
mod front;
mod nodes;
mod programs;
mod prune;
mod refused;
mod registries;
mod sharing;
mod stand_in;
