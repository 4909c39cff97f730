//! The `lilt` command on a real cluster and a real Docker engine, from the Tiltfile to a changed container.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

mod absent;
mod applying;
mod arguments;
mod ci;
mod clusters;
mod contexts;
mod custom_build;
mod custom_deploy;
mod down;
mod drift;
mod ending;
mod engine;
mod errors;
mod forwards;
mod given;
mod gone;
mod hosts;
mod kinds;
mod logs;
mod machine;
mod network;
mod objects;
mod path;
mod plan;
mod reload;
mod rights;
mod shared;
mod status;
mod two_sessions;
