//! Bytes as a folder: indexes, configs, shards and stores.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| weighbridge_fuzz::locate(bytes));
