//! The projects in `examples/`, each through its whole story on a real cluster.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

mod dynamo_operator;
mod example;
mod gpu_operator;
mod kpulse;
mod myapp;
mod ocm_controller;
