//! Bytes as a safetensors file.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| weighbridge_fuzz::exercise(bytes, "x.safetensors"));
