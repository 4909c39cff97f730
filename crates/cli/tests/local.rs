//! The `lilt` command on projects that need neither a cluster nor Docker.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

#[allow(dead_code, reason = "every target uses its part of it")]
mod support {
    pub(crate) mod lilt;
    pub(crate) mod page;
    pub(crate) mod processes;
}

mod local {
    mod commands;
    mod demo;
    mod ending;
    mod resources;
    mod tiltfile;
}
