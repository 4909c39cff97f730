//! What the tests of this crate share. Each of them uses a part of it.
#![allow(dead_code, unused_imports, reason = "each test uses a part of it")]

mod machine;
mod shown;
mod system;

pub(crate) use machine::Machine;
pub(crate) use shown::yaml;
pub(crate) use system::{Shortage, TestSystem};
