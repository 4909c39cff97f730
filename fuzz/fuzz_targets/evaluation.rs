//! Fuzzes the complete load of a Tiltfile, without access to files, commands or the network.
#![no_main]

#[path = "../../crates/tiltfile/tests/garbage/shut.rs"]
mod shut;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| shut::evaluate(text.to_owned()));
