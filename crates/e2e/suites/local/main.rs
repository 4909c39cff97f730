//! The `lilt` command on projects that need neither a cluster nor Docker.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

mod arguments;
mod clients;
mod commands;
mod demo;
mod documentation;
mod edits;
mod ending;
mod engine;
mod help;
mod instances;
mod interactive;
mod kubeconfig;
mod logs;
mod no_dashboard;
mod objects;
mod orphans;
mod probes;
mod prompt;
mod resources;
mod snapshot;
mod telemetry;
mod tiltfile;
mod tiltfile_result;
mod token;
mod tui;
