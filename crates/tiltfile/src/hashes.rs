//! Hashes of the code that a load ran.

use sha2::{Digest as _, Sha256};

/// SHA-256 in hexadecimal; empty if nothing ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hashes {
    /// Of the main file.
    pub tiltfile: String,
    /// Of all files, concatenated in the order in which they began to run.
    pub all_files: String,
}

/// Hashes the files in the order in which they begin to run.
#[derive(Debug, Default)]
pub(crate) struct Hasher {
    first: String,
    all: Sha256,
}

impl Hasher {
    pub(crate) fn add(&mut self, text: &str) {
        if self.first.is_empty() {
            self.first = hex(&Sha256::digest(text.as_bytes()));
        }
        self.all.update(text.as_bytes());
    }

    pub(crate) fn finish(self) -> Hashes {
        if self.first.is_empty() {
            return Hashes::default();
        }
        Hashes { tiltfile: self.first, all_files: hex(&self.all.finalize()) }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
