//! Bytes as a server's answer: status, headers and body.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| weighbridge_fuzz::read_answer(bytes));
