//! Bytes as a file of any kind, converted, opened again, verified and compared.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| weighbridge_fuzz::convert_and_compare(bytes));
