//! One file per command.

pub(crate) mod ci;
pub(crate) mod down;
pub(crate) mod dump;
pub(crate) mod switch;
pub(crate) mod tiltfile_result;
pub(crate) mod trigger;
pub(crate) mod up;
pub(crate) mod version;
