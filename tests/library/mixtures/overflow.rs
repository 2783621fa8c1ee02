//! Finite weights stay finite: what overflows in a type is rejected by name, and nothing is left.

use std::path::{Path, PathBuf};

use weighbridge::Model;
use weighbridge::ops::{self, ConvertOptions, Names, QuantizeOptions};

const NAME: &str = "model.layers.0.mlp.up_proj.weight";
const EXPERTS: &str = "model.layers.0.mlp.experts.gate_up_proj";
const COLUMNS: usize = 256;

/// A repository with one matrix, or one stack of two, with these values at the front of row 3.
fn repository(folder: &Path, outliers: &[f32]) -> Model {
    of_one(folder, NAME, &[64, COLUMNS], outliers)
}

fn of_one(folder: &Path, name: &str, shape: &[usize], outliers: &[f32]) -> Model {
    let folder = folder.join("hf");
    std::fs::create_dir_all(&folder).unwrap();
    let count = shape.iter().product::<usize>();
    let mut values: Vec<f32> = (0..count).map(|at| (at as f32 * 0.37).sin() * 0.05).collect();
    values[3 * COLUMNS + 7..][..outliers.len()].copy_from_slice(outliers);
    let place =
        serde_json::json!({ "dtype": "F32", "shape": shape, "data_offsets": [0, count * 4] });
    let header = serde_json::to_vec(&serde_json::json!({ name: place })).unwrap();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    std::fs::write(folder.join("model.safetensors"), bytes).unwrap();
    let config = r#"{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}"#;
    std::fs::write(folder.join("config.json"), config).unwrap();
    Model::open(&folder).unwrap()
}

/// An importance matrix of the older form, with one value for every column.
fn matrix(folder: &Path, value: f32) -> PathBuf {
    let number = |number: usize| i32::try_from(number).unwrap().to_le_bytes();
    let mut file = number(1).to_vec();
    file.extend([&number(NAME.len()), NAME.as_bytes(), &number(1), &number(COLUMNS)].concat());
    file.extend(value.to_le_bytes().repeat(COLUMNS));
    let path = folder.join("imatrix.dat");
    std::fs::write(&path, file).unwrap();
    path
}

/// Whether every stored number is finite.
fn is_finite(output: &Path) -> bool {
    let model = Model::open(output).unwrap();
    model
        .weights()
        .all(|weight| weight.decode_to_vec::<f32>().unwrap().iter().all(|value| value.is_finite()))
}

/// Types for one file have names in capitals; the others are repositories.
fn is_for_a_file(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

/// Quantizes to a type. Returns the error, or nothing if every number that was stored is finite.
#[track_caller]
fn finite_or_refused(
    model: &Model,
    folder: &Path,
    how: &QuantizeOptions,
    name: &str,
) -> Option<String> {
    let out = folder.join(if is_for_a_file(name) { "out.gguf" } else { "out" });
    let before = std::fs::read_dir(folder).unwrap().count();
    match ops::quantize(model, &ConvertOptions::new(&out).names(Names::Keep), how) {
        Ok(_) => {
            assert!(is_finite(&out), "{name}");
            let removed = if out.is_dir() {
                std::fs::remove_dir_all(&out)
            } else {
                std::fs::remove_file(&out)
            };
            removed.unwrap();
            None
        }
        Err(error) => {
            assert_eq!(std::fs::read_dir(folder).unwrap().count(), before, "{name}");
            Some(error.to_string())
        }
    }
}

#[test]
fn every_type_stores_an_outlier_or_names_it() {
    let mut refused = Vec::new();
    for (outlier, shown) in [(1e6, "1000000"), (1e30, "1e30"), (3e38, "3e38")] {
        let folder = tempfile::tempdir().unwrap();
        let matrix = matrix(folder.path(), 1.0);
        let matrix_model = repository(folder.path(), &[outlier]);
        let stacked = tempfile::tempdir().unwrap();
        let stack = of_one(stacked.path(), EXPERTS, &[2, 64, COLUMNS], &[outlier]);
        for (name, _) in ops::quantizers() {
            let needs_stack = name == "mxfp4-gpt-oss";
            let (model, at) =
                if needs_stack { (&stack, &stacked) } else { (&matrix_model, &folder) };
            let mut how = QuantizeOptions::new(name).pure(is_for_a_file(name));
            if is_for_a_file(name) {
                how = how.importance(&matrix);
            }
            let Some(error) = finite_or_refused(model, at.path(), &how, name) else { continue };
            let (weight, place) =
                if needs_stack { (EXPERTS, "[0, 3, 7]") } else { (NAME, "[3, 7]") };
            for part in [weight, place, shown, "overflows"] {
                assert!(error.contains(part), "{name}: no {part} in: {error}");
            }
            refused.push((name, shown));
        }
    }
    // Half-precision scales overflow first; a power of two as a scale only at the very end.
    for (name, outlier) in [
        ("Q4_0", "1000000"),
        ("F16", "1000000"),
        ("bnb-int8", "1000000"),
        ("Q8_0", "1e30"),
        ("mxfp4", "3e38"),
    ] {
        assert!(refused.contains(&(name, outlier)), "{name} {outlier}: {refused:?}");
    }
    assert!(!refused.iter().any(|(name, _)| ["F32", "BF16", "fp8"].contains(name)), "{refused:?}");
}

/// The mean of nested scales overflows before the scales do, and ends as text that is not JSON.
#[test]
fn the_mean_of_scales_does_not_overflow_unseen() {
    let folder = tempfile::tempdir().unwrap();
    let model = repository(folder.path(), &[3e38; 8 * 64]);
    let how = QuantizeOptions::new("bnb-nf4-nested");
    let error = finite_or_refused(&model, folder.path(), &how, "bnb-nf4-nested").unwrap();
    assert!(error.contains(NAME) && error.contains("3e38 at [3, 7]"), "{error}");
}

#[test]
fn a_huge_importance_does_not_overflow_unseen() {
    let folder = tempfile::tempdir().unwrap();
    let (matrix, model) = (matrix(folder.path(), 3e38), repository(folder.path(), &[]));
    for (name, _) in ops::quantizers().filter(|(name, _)| is_for_a_file(name)) {
        let how = QuantizeOptions::new(name).pure(true).importance(&matrix);
        if let Some(error) = finite_or_refused(&model, folder.path(), &how, name) {
            assert!(error.contains(NAME) && error.contains("importance"), "{name}: {error}");
        }
    }
}

#[test]
fn what_overflows_is_checked_without_measuring_and_written_if_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (repository(folder.path(), &[1e6]), folder.path().join("out.gguf"));
    let options = ConvertOptions::new(&out).names(Names::Keep);
    let how = QuantizeOptions::new("Q4_0").pure(true);
    assert!(ops::quantize(&model, &options, &how.clone().measure(false)).is_err());
    let report = ops::quantize(&model, &options, &how.allow_non_finite(true)).unwrap();
    let cost = report.quantized.unwrap().cost.unwrap();
    assert_eq!((cost.nonfinite, cost.snr_db, cost.relative), (32, None, None));
    assert!(!is_finite(&out));
}

#[test]
fn a_size_is_met_without_types_that_overflow() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (repository(folder.path(), &[1e6]), folder.path().join("out.gguf"));
    let how = QuantizeOptions::new("Q4_0").pure(true).target_bits(7.0);
    ops::quantize(&model, &ConvertOptions::new(&out).names(Names::Keep), &how).unwrap();
    assert!(is_finite(&out));
}

/// A negative importance makes larger errors look better. The other format is tested beside it.
#[test]
fn a_negative_importance_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let golden = super::models::home("llama").join("imatrix.gguf");
    let sums = Model::open(&golden).unwrap();
    let sums = sums.weights().find(|weight| weight.name().ends_with(".in_sum2")).unwrap();
    let name = sums.name().strip_suffix(".in_sum2").unwrap();
    let mut bytes = std::fs::read(&golden).unwrap();
    let stored = sums.read_to_vec(weighbridge::DType::F32).unwrap();
    let at = bytes.windows(stored.len()).position(|window| window == stored).unwrap();
    for odd in [-1f32, f32::NAN] {
        bytes[at + 4..at + 8].copy_from_slice(&odd.to_le_bytes());
        let path = folder.path().join("imatrix.gguf");
        std::fs::write(&path, &bytes).unwrap();
        let matrix = weighbridge::ImportanceMatrix::open(&path).unwrap();
        let error = matrix.of(name).unwrap().values().unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("column 1 is"), "{error}");
    }
}

/// What a quantizer stores of values that are not finite: how many numbers are lost, or the error.
fn stored(name: &str, values: &[f32]) -> Result<u64, String> {
    let folder = tempfile::tempdir().unwrap();
    let model = repository(folder.path(), values);
    let out = folder.path().join(if is_for_a_file(name) { "out.gguf" } else { "out" });
    let how = QuantizeOptions::new(name).pure(is_for_a_file(name)).allow_non_finite(true);
    let report = ops::quantize(&model, &ConvertOptions::new(&out).names(Names::Keep), &how);
    let count = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(count, 1 + usize::from(report.is_ok()), "{name}");
    let lost = |report: ops::ConvertReport| report.quantized.unwrap().cost.unwrap().nonfinite;
    report.map(lost).map_err(|error| error.to_string())
}

/// A block, a group or a row is lost, as in the type's own library.
#[test]
fn values_that_are_not_finite_are_stored_if_that_is_wanted() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(stored("bnb-nf4", &[bad]), Ok(64), "{bad}");
        assert_eq!(stored("bnb-fp4", &[bad]), Ok(64), "{bad}");
        assert_eq!(stored("bnb-int8", &[bad]), Ok(COLUMNS as u64), "{bad}");
        // MLX takes the extremes of a group without NaN, which gets the code 0.
        let lost = if bad.is_nan() { 1 } else { 64 };
        assert_eq!(stored("mlx-4bit", &[bad]), Ok(lost), "{bad}");
    }
}

/// ggml's four-bit blocks have no NaN: the value becomes zero, and with infinity all of its group. Such a
/// value is counted, and the others as what became zero.
#[test]
fn four_bit_blocks_count_what_was_not_finite() {
    let weight = "blk.0.ffn_up.weight";
    for name in ["NVFP4", "NVFP4-ggml"] {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let folder = tempfile::tempdir().unwrap();
            let model = of_one(folder.path(), weight, &[64, COLUMNS], &[bad]);
            let out = folder.path().join("out.gguf");
            let how = QuantizeOptions::new(name).pure(true).allow_non_finite(true);
            let options = ConvertOptions::new(&out).names(Names::Keep);
            let cost = ops::quantize(&model, &options, &how).unwrap().quantized.unwrap().cost;
            assert_eq!(cost.unwrap().nonfinite, 1, "{name} {bad}");
            let made = Model::open(&out).unwrap();
            let tensors = made.sources()[0].catalog().tensors.len();
            assert_eq!(tensors, if name == "NVFP4" { 2 } else { 1 });
            let values = made.weight(weight).unwrap().decode_to_vec::<f32>().unwrap();
            let [group, next] = [0, 16].map(|at| &values[3 * COLUMNS + at..][..16]);
            assert_eq!(group[7], 0.0, "{name} {bad}");
            let is_lost = group.iter().all(|value| *value == 0.0);
            // With the scale beside it, the largest scale of a group suits the others.
            let loses = name == "NVFP4-ggml" && bad.is_infinite();
            assert_eq!(is_lost, loses, "{name} {bad}: {group:?}");
            assert!(next.iter().any(|value| *value != 0.0), "{name} {bad}: {next:?}");
        }
    }
}

/// Where the library's result says nothing about the values, it is not written, and the weight named.
#[test]
fn values_that_would_be_lost_without_a_trace_are_refused_even_then() {
    for name in ["bnb-nf4-nested", "bnb-fp4-nested", "mlx-mxfp4", "mlx-mxfp8", "mlx-nvfp4"] {
        for bad in [f32::NAN, f32::INFINITY] {
            let error = stored(name, &[0.0, bad]).unwrap_err();
            let library = if name.starts_with("bnb") { "bitsandbytes" } else { "MLX would store" };
            for part in [NAME, "[3, 8]", library] {
                assert!(error.contains(part), "{name}: no {part} in: {error}");
            }
        }
    }
    let error = stored("bnb-nf4-nested", &[3e38; 8 * 64]).unwrap_err();
    assert!(error.contains("3e38 at [3, 7]") && error.contains("not JSON"), "{error}");
}
