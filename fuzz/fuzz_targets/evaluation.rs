//! A whole load of any text, with everything outside shut off.
#![no_main]

#[path = "../../crates/tiltfile/tests/garbage/shut.rs"]
mod shut;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| shut::evaluate(text.to_owned()));
