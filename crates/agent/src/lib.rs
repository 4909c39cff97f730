//! What lilt and its agent in a container share: paths, the protocol between them, and how files are split into chunks.
//!
//! The agent (`main.rs`) is a static program that needs nothing from the image it runs in: no shell, no libraries, no
//! user, no writable root. This library does no IO and does not depend on other crates of lilt.

pub mod chunks;
pub mod frame;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod modified;
pub mod protocol;
pub mod transfer;

/// The protocol version, which changes with every change of the protocol. The agent of a pod that another version of
/// lilt deployed reports its own.
pub const VERSION: u32 = 3;

/// Where the agent's volume is mounted in a container.
pub const HOME: &str = "/.lilt";
/// The path of the agent's program in that volume.
pub const PROGRAM: &str = "/.lilt/agent";

/// The BLAKE3 hash of a file's content, not truncated, because a collision would produce a wrong file.
pub type Digest = [u8; 32];

pub fn digest(content: &[u8]) -> Digest {
    *blake3::hash(content).as_bytes()
}
