//! Fuzzes the protocol between lilt and its agent: each side parses arbitrary bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| lilt_agent::fuzzing::protocol(bytes));
