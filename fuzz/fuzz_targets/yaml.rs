//! Fuzzes the YAML parser and writer.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| lilt_tiltfile::fuzzing::yaml(text));
