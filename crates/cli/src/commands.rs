//! One file per command.

pub(crate) mod analytics;
pub(crate) mod args;
pub(crate) mod ci;
pub(crate) mod completion;
pub(crate) mod docker;
pub(crate) mod docker_prune;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod dump;
pub(crate) mod logs;
pub(crate) mod open;
pub(crate) mod plan;
pub(crate) mod replay;
pub(crate) mod snapshot;
pub(crate) mod starter;
pub(crate) mod switch;
pub(crate) mod tiltfile_result;
pub(crate) mod timeline;
pub(crate) mod token;
pub(crate) mod tree_view;
pub(crate) mod trigger;
pub(crate) mod up;
pub(crate) mod updog;
pub(crate) mod verify_install;
pub(crate) mod version;
