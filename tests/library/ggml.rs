//! What the files of ggml's blocks hold. (Their values are a check of every such file in
//! `tests/samples`.)

use weighbridge::Model;
use weighbridge::internals::blocks::{BLOCKS, Standing};

use crate::common::root;

/// A type that is missing from the files would pass every other test.
#[test]
fn every_current_type_is_in_the_file() {
    for file in ["blocks.gguf", "blocks-big-endian.gguf"] {
        let model = Model::open(root().join("tests/files/ggml").join(file)).unwrap();
        for block in BLOCKS.iter().filter(|block| block.standing == Standing::Current) {
            for kind in ["real", "raw"] {
                let weight = model.weight(&format!("{}.{kind}", block.name)).unwrap();
                assert_eq!(weight.variant(), block.name, "{file}");
            }
        }
    }
}
