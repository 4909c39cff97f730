//! What lilt and its agent in a container share: where things are, the language they speak, how files are cut.
//!
//! The agent (`main.rs`) is a static program that needs nothing of the image it runs in: no shell, no libraries, no
//! user, no writable root. This library does no IO; it must not know anything else of lilt.

pub mod chunks;
pub mod frame;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod modified;
pub mod protocol;
pub mod transfer;

mod wire;

/// Changes with every change of the protocol. A pod that was made by another lilt says which it speaks.
pub const VERSION: u32 = 2;

/// Where a container has its part of the agent's volume.
pub const HOME: &str = "/.lilt";
/// The agent there.
pub const PROGRAM: &str = "/.lilt/agent";

/// As a file is addressed: 256 bits, told in full, because an error here would be a wrong file.
pub type Digest = [u8; 32];

pub fn digest(content: &[u8]) -> Digest {
    *blake3::hash(content).as_bytes()
}
