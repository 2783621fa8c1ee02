//! The number of threads, the size of tiles, and whether the output is a stream: none changes a byte.

use weighbridge::Model;
use weighbridge::ops::{self, ConvertOptions, QuantizeOptions};

use super::models::{expected, repository};
use crate::to_gguf::open;

#[test]
fn bytes_do_not_depend_on_threads_or_tiles() {
    let (expected, folder) = (expected("tiny"), tempfile::tempdir().unwrap());
    let model = open(&repository("tiny", &expected, folder.path()));
    let (how, out) = (QuantizeOptions::new("Q4_K_M"), folder.path().join("out.gguf"));
    ops::quantize(&model, &ConvertOptions::new(&out), &how).unwrap();
    let wanted = std::fs::read(&out).unwrap();
    let written = Model::open(&out).unwrap();
    let verified = ops::verify_quantized(&written, &model, &ConvertOptions::new(&out), &how);
    assert!(verified.unwrap().ok);
    for (threads, memory) in [(1, 1 << 17), (3, 1 << 30)] {
        let mut found = Vec::new();
        let options = ConvertOptions::new("-")
            .to("gguf")
            .threads(threads.try_into().unwrap())
            .max_memory(memory);
        ops::quantize_to(&model, &options, &how, &mut found).unwrap();
        assert!(found == wanted, "{threads}");
    }
}
