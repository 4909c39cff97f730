//! What the end-to-end tests share.
#![allow(dead_code, reason = "every target uses its part of it")]
#![allow(clippy::print_stderr, reason = "a test that fails shows what lilt printed")]

pub(crate) mod bed;
pub(crate) mod chance;
pub(crate) mod lilt;
pub(crate) mod page;
pub(crate) mod processes;
pub(crate) mod proxy;
pub(crate) mod rights;
pub(crate) mod tty;
pub(crate) mod workload;
