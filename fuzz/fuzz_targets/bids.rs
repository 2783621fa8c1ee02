//! Bytes as a model's tensors and config: names of every scheme, any types and shapes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| weighbridge_fuzz::settle_bids(bytes));
