//! What is not quantized: numbers that are none, what has few bits already; and sizes that are kept to.

use std::path::Path;
use std::sync::Arc;

use weighbridge::Model;
use weighbridge::internals::schemes::{Even, SCHEMES};
use weighbridge::ops::{self, ConvertOptions, Names, QuantizeOptions};

use super::models::{expected, repository};
use crate::to_gguf::open;

/// A safetensors file with one matrix.
fn file(values: &[f32], columns: usize) -> Model {
    let shape = [values.len() / columns, columns];
    let header = serde_json::json!({ "blk.0.ffn_up.weight":
        { "dtype": "F32", "shape": shape, "data_offsets": [0, values.len() * 4] } });
    let header = header.to_string().into_bytes();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    Model::open_bytes(bytes, "one.safetensors").unwrap()
}

fn options(out: &Path) -> ConvertOptions {
    ConvertOptions::new(out).names(Names::Keep)
}

#[test]
fn numbers_that_are_none_are_named_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.gguf");
    for odd in [f32::NAN, f32::NEG_INFINITY] {
        let mut values = vec![0.25f32; 64 * 256];
        values[40 * 256 + 3] = odd;
        let (model, how) = (file(&values, 256), QuantizeOptions::new("Q4_K").pure(true));
        let error = ops::quantize(&model, &options(&out), &how).unwrap_err();
        assert!(error.to_string().contains("element [40, 3] is"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let how = how.allow_non_finite(true);
        ops::quantize(&model, &options(&out), &how).unwrap();
        std::fs::remove_file(&out).unwrap();
    }
}

#[test]
fn few_bits_are_quantized_again_only_if_that_is_wanted() {
    let (expected, folder) = (expected("tiny"), tempfile::tempdir().unwrap());
    let model = open(&repository("tiny", &expected, folder.path()));
    let small = |name: &str| folder.path().join(name);
    let how = |name: &str| QuantizeOptions::new(name);
    ops::quantize(&model, &ConvertOptions::new(small("a.gguf")), &how("Q4_0")).unwrap();
    ops::quantize(&model, &ConvertOptions::new(small("b.gguf")), &how("Q8_0")).unwrap();
    let [four, eight] = ["a.gguf", "b.gguf"].map(|name| Model::open(small(name)).unwrap());
    let to = ConvertOptions::new(small("c.gguf")).force(true);
    let error = ops::quantize(&four, &to, &how("Q5_0")).unwrap_err();
    assert!(error.to_string().contains("fewer than 8 bits"), "{error}");
    ops::quantize(&four, &to, &how("Q5_0").allow_requantize(true)).unwrap();
    ops::quantize(&eight, &to, &how("Q5_0")).unwrap();
    // What has the type already is copied.
    ops::quantize(&four, &to, &how("Q4_0")).unwrap();
    let bytes = |name: &str| std::fs::read(small(name)).unwrap();
    assert!(bytes("c.gguf") == bytes("a.gguf"));
}

#[test]
fn a_size_is_kept_to_and_more_bytes_are_fewer_errors() {
    let (expected, folder) = (expected("tiny"), tempfile::tempdir().unwrap());
    let model = open(&repository("tiny", &expected, folder.path()));
    let plan = |how: &QuantizeOptions| {
        let out = folder.path().join("out.gguf");
        ops::quantize(&model, &ConvertOptions::new(out).force(true), how).unwrap()
    };
    let mut before = 0.0;
    for bits in [4.7, 5.5, 7.0] {
        let report = plan(&QuantizeOptions::new("Q4_K_M").target_bits(bits)).quantized.unwrap();
        assert!(report.bits_per_weight <= bits && report.bits_per_weight > bits - 1.0, "{bits}");
        let snr = report.cost.unwrap().snr_db.unwrap();
        assert!(snr > before, "{bits}: {snr}");
        before = snr;
    }
    let size = 60_000;
    assert!(plan(&QuantizeOptions::new("Q4_K_M").target_size(size)).write_bytes <= size);
    let out = ConvertOptions::new(folder.path().join("x.gguf"));
    let too_small = QuantizeOptions::new("Q4_K_M").target_bits(1.0);
    assert!(ops::quantize(&model, &out, &too_small).is_err());
}

/// A run that is told to go on must not mix blocks of two rules.
#[test]
fn encoders_of_other_rules_are_told_apart() {
    let plain = SCHEMES.encoder("Q4_0").unwrap();
    let even = |columns| plain.with_importance(Arc::new(Even { columns })).unwrap();
    let identities = [plain.clone(), even(32), even(64)].map(|of| of.identity().unwrap());
    assert!(identities[0] != identities[1] && identities[1] != identities[2], "{identities:?}");
    assert_eq!(even(32).identity().unwrap(), identities[1]);
}

/// Files that are complete would be taken up by a later run; one that must fail again leaves none.
#[test]
fn numbers_that_are_none_leave_no_part_of_a_directory() {
    let (expected, folder) = (expected("tiny"), tempfile::tempdir().unwrap());
    let source = repository("tiny", &expected, folder.path());
    let weights = source.join("model.safetensors");
    let mut bytes = std::fs::read(&weights).unwrap();
    // The last number before the 64 of the last norm.
    let last = bytes.len() - 2 * 65;
    bytes[last..last + 2].copy_from_slice(&[0xc0, 0x7f]);
    std::fs::write(&weights, bytes).unwrap();
    let out = ConvertOptions::new(folder.path().join("out")).max_shard_size(10_000);
    let error = ops::quantize(&open(&source), &out, &QuantizeOptions::new("fp8")).unwrap_err();
    assert!(error.to_string().contains("NaN"), "{error}");
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}
