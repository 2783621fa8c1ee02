//! Files of llama-quantize, compared with their originals: the original encoded once more gives their
//! bytes, and where it does not, the errors are compared.

use std::num::NonZeroUsize;
use std::path::Path;

use weighbridge::catalog::TensorInfo;
use weighbridge::ops::{
    self, ConvertOptions, DiffOptions, DiffReport, Names, QuantizeOptions, Reencoded, Values,
};
use weighbridge::{ErrorKind, Model, Select};

use super::models::{converted, expected, home, repository};
use crate::common::tensor_bytes;
use crate::diff::{bytes, model, numbers};
use crate::to_gguf::open;

fn again(original: &Model, stored: &Model) -> DiffReport {
    ops::diff(original, stored, &DiffOptions::default().reencode(true)).unwrap()
}

/// What came of a weight, by its name on the side that is stored.
fn of<'r>(report: &'r DiffReport, name: &str) -> Option<&'r Reencoded> {
    let tensor = report.tensors.iter().find(|tensor| tensor.name_b == name);
    tensor.unwrap().reencoded.as_ref()
}

/// The original of the tiny model, and what llama-quantize made of it.
fn tiny(name: &str, folder: &Path) -> (Model, Vec<u8>) {
    let original = open(&repository("tiny", &expected("tiny"), folder));
    (original, std::fs::read(home("tiny").join("whole").join(name)).unwrap())
}

fn opened(file: Vec<u8>) -> Model {
    Model::open_bytes(file, "stored.gguf").unwrap()
}

/// Where in a file a tensor is.
fn place_of(file: &[u8], name: &str) -> usize {
    let model = opened(file.to_vec());
    let source = &model.sources()[0];
    let is_it = |tensor: &&TensorInfo| &*tensor.name == name;
    let tensor = source.catalog().tensors.iter().find(is_it).unwrap();
    let bytes = tensor_bytes(source, tensor).unwrap();
    file.windows(bytes.len()).position(|here| here == bytes).unwrap()
}

#[test]
fn files_of_llama_quantize_have_the_bytes_that_encoding_gives() {
    for name in ["Q4_0.gguf", "Q4_K_M.gguf"] {
        let folder = tempfile::tempdir().unwrap();
        let (original, file) = tiny(name, folder.path());
        let report = again(&original, &opened(file));
        let summary = report.summary.reencoded.unwrap();
        // All matrices, of which the heads of two are permuted; the vectors stay plain.
        assert_eq!((summary.compared, summary.same_bytes), (9, 9), "{name}");
        assert_eq!(summary.worst_ratio, Some(1.0), "{name}");
        let permuted = of(&report, "blk.0.attn_q.weight").unwrap();
        assert_eq!((permuted.side, permuted.identical_blocks), ("b", permuted.blocks));
        assert_eq!(permuted.blocks, 64 * 2);
        assert!(of(&report, "output_norm.weight").is_none());
    }
}

#[test]
fn the_stored_side_may_be_the_first_and_the_original_another_file() {
    let (expected, folder) = (expected("tiny"), tempfile::tempdir().unwrap());
    let original = Model::open_bytes(converted("tiny", &expected), "made.gguf").unwrap();
    let (_, file) = tiny("Q4_0.gguf", folder.path());
    let report = again(&opened(file), &original);
    let summary = report.summary.reencoded.unwrap();
    assert_eq!((summary.compared, summary.same_bytes), (9, 9));
    let output = of(&report, "blk.0.ffn_down.weight").unwrap();
    assert_eq!((output.encoder, output.side, output.blocks), ("Q4_0", "a", 64 * 3));
}

#[test]
fn one_other_block_is_found_and_costs() {
    let folder = tempfile::tempdir().unwrap();
    let (original, mut file) = tiny("Q4_0.gguf", folder.path());
    // The scale of a block is its first two bytes: half of it.
    let at = place_of(&file, "blk.0.attn_k.weight") + 18 * 5;
    file[at + 1] -= 4;
    let report = again(&original, &opened(file));
    let summary = report.summary.reencoded.unwrap();
    assert_eq!((summary.compared, summary.same_bytes), (9, 8));
    let changed = of(&report, "blk.0.attn_k.weight").unwrap();
    assert_eq!((changed.encoder, changed.blocks, changed.identical_blocks), ("Q4_0", 32, 31));
    let ratio = changed.error_ratio.unwrap();
    assert!(ratio > 1.1, "{ratio}");
    assert_eq!(summary.worst_ratio, Some(ratio));
    assert_eq!(of(&report, "blk.0.attn_q.weight").unwrap().error_ratio, Some(1.0));
}

#[test]
fn the_ratio_is_that_of_the_errors() {
    let folder = tempfile::tempdir().unwrap();
    let (original, mut file) = tiny("Q4_0.gguf", folder.path());
    let name = "blk.0.ffn_up.weight";
    let rmse = |file: &[u8]| {
        let report = again(&original, &opened(file.to_vec()));
        let tensor = report.tensors.into_iter().find(|tensor| tensor.name_b == name).unwrap();
        (tensor.rmse.unwrap(), tensor.reencoded.unwrap().error_ratio.unwrap())
    };
    let (before, _) = rmse(&file);
    let at = place_of(&file, name);
    // The codes of some blocks, turned around.
    for block in 3..9 {
        file[at + 18 * block + 2..at + 18 * (block + 1)].reverse();
    }
    let (after, ratio) = rmse(&file);
    assert!(ratio > 1.0 && (ratio / (after / before) - 1.0).abs() < 1e-9, "{ratio}");
}

#[test]
fn numbers_that_are_not_finite_have_no_ratio() {
    let folder = tempfile::tempdir().unwrap();
    let (_, stored) = tiny("Q4_K_M.gguf", folder.path());
    let path = folder.path().join("hf/model.safetensors");
    let mut file = std::fs::read(&path).unwrap();
    let end = file.len() - 2 * 64;
    // The last matrix is before the last vector: NaN, in BF16.
    file[end - 2..end].copy_from_slice(&[0xff, 0x7f]);
    std::fs::write(&path, file).unwrap();
    let report = again(&open(&folder.path().join("hf")), &opened(stored));
    let summary = report.summary.reencoded.unwrap();
    assert_eq!((summary.compared, summary.same_bytes), (9, 8));
    assert_eq!(of(&report, "blk.0.attn_v.weight").unwrap().error_ratio, None);
}

#[test]
fn stacked_experts_are_encoded_one_by_one() {
    let (expected, folder) = (expected("qwen3moe"), tempfile::tempdir().unwrap());
    let original = open(&repository("qwen3moe", &expected, folder.path()));
    let wanted = |name: &str| name.starts_with("blk.0.ffn_") || name.contains("layers.0.mlp.");
    let quantized = |how: QuantizeOptions| {
        let options = ConvertOptions::new(folder.path().join("out.gguf")).names(Names::Gguf);
        let options = options.force(true);
        ops::quantize(&original, &options, &how.measure(false)).unwrap();
        open(&folder.path().join("out.gguf"))
    };
    let plain = QuantizeOptions::new("Q4_K_M").keep(move |name| !wanted(name));
    let important = QuantizeOptions::new("Q4_K_M").keep(move |name| !wanted(name));
    let options = |threads| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let select = Select::default().include(wanted);
        DiffOptions::default().reencode(true).select(select).threads(threads)
    };
    let stored = quantized(plain);
    let report = ops::diff(&original, &stored, &options(1)).unwrap();
    let summary = report.summary.reencoded.unwrap();
    assert_eq!((summary.compared, summary.same_bytes), (12, 12));
    let stored = quantized(important.importance(home("qwen3moe").join("imatrix.gguf")));
    let report = ops::diff(&original, &stored, &options(1)).unwrap();
    let summary = report.summary.reencoded.unwrap();
    assert_eq!((summary.compared, summary.same_bytes), (12, 0));
    assert!(summary.worst_ratio.unwrap() > 1.0);
    let by_many = ops::diff(&original, &stored, &options(3)).unwrap();
    let told = |report: &DiffReport| serde_json::to_string(&report).unwrap();
    assert_eq!(told(&report), told(&by_many));
}

#[test]
fn large_weights_and_long_rows_are_encoded_piece_by_piece() {
    // More than a worker does at once, and rows that are longer than what is read at once.
    let large = bytes(&numbers(700 * 512, 1));
    let long = bytes(&numbers(3 * 70_016, 2));
    let original =
        model(&[("w.weight", "F32", &[700, 512], large), ("l.weight", "F32", &[3, 70_016], long)]);
    let mut file = Vec::new();
    let options = ConvertOptions::new("-").to("gguf").names(Names::Keep);
    let how = QuantizeOptions::new("Q8_0").measure(false);
    ops::quantize_to(&original, &options, &how, &mut file).unwrap();
    let summary = again(&original, &opened(file.clone())).summary.reencoded.unwrap();
    assert_eq!((summary.compared, summary.same_bytes), (2, 2));
    // Codes of the last block of one, and of a block in the second row of the other.
    let (last, middle) = (700 * 16 - 1, 2188 + 2100);
    for (name, block) in [("w.weight", last), ("l.weight", middle)] {
        let at = place_of(&file, name) + 34 * block;
        file[at + 2..at + 34].reverse();
    }
    let report = again(&original, &opened(file));
    for (name, blocks) in [("w.weight", 700 * 16), ("l.weight", 3 * 2188)] {
        let changed = of(&report, name).unwrap();
        assert_eq!((changed.blocks, changed.identical_blocks), (blocks, blocks - 1), "{name}");
        assert!(changed.error_ratio.unwrap() > 1.0, "{name}");
    }
}

#[test]
fn without_values_nothing_can_be_encoded() {
    let folder = tempfile::tempdir().unwrap();
    let (original, file) = tiny("Q4_0.gguf", folder.path());
    let stored = opened(file);
    let none = DiffOptions::default().reencode(true).values(Values::None);
    assert_eq!(ops::diff(&original, &stored, &none).unwrap_err().kind(), ErrorKind::Usage);
    let report = ops::diff(&original, &stored, &DiffOptions::default()).unwrap();
    assert!(report.summary.reencoded.is_none());
    assert!(report.tensors.iter().all(|tensor| tensor.reencoded.is_none()));
}
