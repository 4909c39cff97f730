//! The YAML reader and writer on any text.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| lilt_tiltfile::fuzzing::yaml(text));
