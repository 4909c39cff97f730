//! What lilt and its agent in a container make of any bytes that the other side sends.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| lilt_agent::fuzzing::protocol(bytes));
