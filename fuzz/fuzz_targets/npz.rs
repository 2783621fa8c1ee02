//! Bytes as an array: alone, and as a member of an archive.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weighbridge_fuzz::{exercise, stored_zip};

fuzz_target!(|bytes: &[u8]| {
    // A seed may be an archive already.
    if bytes.starts_with(b"PK") {
        return exercise(bytes, "x.npz");
    }
    exercise(bytes, "x.npy");
    exercise(&stored_zip(&[("a.npy", bytes), ("b/c.npy", bytes)]), "x.npz");
});
