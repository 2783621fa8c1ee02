//! Bytes as one of the files of a tokenizer.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| weighbridge_fuzz::read_tokenizer(bytes));
