//! Bytes as the pickle of a PyTorch archive with one small storage.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weighbridge_fuzz::{exercise, stored_zip};

fuzz_target!(|bytes: &[u8]| {
    let storage: [u8; 64] = std::array::from_fn(|i| i as u8);
    let members: [(&str, &[u8]); 2] = [("archive/data.pkl", bytes), ("archive/data/0", &storage)];
    exercise(&stored_zip(&members), "x.pth");
});
