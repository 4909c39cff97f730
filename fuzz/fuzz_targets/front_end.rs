//! Fuzzes the parser and the checks before the evaluation of a Tiltfile.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| lilt_tiltfile::fuzzing::front_end(text));
