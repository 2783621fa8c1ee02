//! Bytes as two models whose names are paired.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| weighbridge_fuzz::pair_names(bytes));
