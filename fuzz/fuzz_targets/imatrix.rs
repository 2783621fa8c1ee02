//! Bytes as an importance matrix, of either format.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| weighbridge_fuzz::read_importance(bytes));
