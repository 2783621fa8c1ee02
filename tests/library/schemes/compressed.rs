//! Whole models against what llm-compressor makes of them, and what cannot be stored.

use weighbridge::Model;
use weighbridge::internals::schemes::{QuantizeWishes, SCHEMES, TypeAssignment};

use super::quantizing::{chosen, grouped, holds_against, loader_warnings, nothing, samples};

/// A case of every type that a model has.
fn holds(case: &str, name: &str, group_size: Option<u64>) {
    let folder = samples("encoded-compressed");
    let wishes = grouped(group_size);
    for dtype in ["bf16", "f16", "f32"] {
        let golden = folder.join(format!("{case}-{dtype}"));
        let source = folder.join(format!("source-{dtype}"));
        holds_against([&source, &golden], SCHEMES.quantizer(name).unwrap(), &wishes);
    }
}

#[test]
fn rows_of_eight_bit_floats() {
    holds("fp8", "fp8", None);
}

#[test]
fn rows_of_bytes() {
    holds("int8", "int8", None);
}

#[test]
fn groups_of_bytes() {
    holds("w8a16", "w8a16", None);
}

#[test]
fn groups_of_four_bits() {
    holds("w4a16", "w4a16", None);
    holds("w4a16-g32", "w4a16", Some(32));
}

#[test]
fn groups_of_four_bits_with_zero_points() {
    holds("w4a16-asym", "w4a16-asym", None);
}

#[test]
fn four_bit_floats_with_exponents() {
    holds("mxfp4", "mxfp4", None);
}

#[test]
fn eight_bit_floats_with_exponents() {
    holds("mxfp8", "mxfp8", None);
}

#[test]
fn four_bit_floats_with_two_levels_of_scales() {
    holds("nvfp4", "nvfp4", None);
}

#[test]
fn what_stays_is_ignored_and_said() {
    let model = Model::open(samples("encoded-compressed/source-bf16")).unwrap();
    let wishes = QuantizeWishes::default();
    let chosen = chosen(&model, SCHEMES.quantizer("W4A16").unwrap(), &wishes, &|name| {
        name.contains("v_proj")
    })
    .unwrap();
    let section = &chosen.additions.config_keys[0].1;
    let attention = ["o_proj", "v_proj"].map(|name| format!("model.layers.0.self_attn.{name}"));
    let ignored = ["model.layers.0.mlp.down_proj", &attention[0], &attention[1], "lm_head"];
    assert_eq!(section["ignore"], serde_json::json!(ignored));
    let encoded =
        chosen.fates.iter().filter(|fate| matches!(fate, TypeAssignment::Encode(_))).count();
    assert_eq!((encoded, chosen.notes.len()), (4, 2));
    let note = "model.layers.0.mlp.down_proj.weight is not quantized: row length 20 is not a \
                multiple of the group size (128)";
    assert!(chosen.notes.iter().any(|line| line == note), "{:?}", chosen.notes);
}

#[test]
fn groups_that_cannot_be_are_refused() {
    let model = Model::open(samples("encoded-compressed/source-bf16")).unwrap();
    let reason = |name, size| {
        let wishes = grouped(Some(size));
        let refused = chosen(&model, SCHEMES.quantizer(name).unwrap(), &wishes, &nothing);
        refused.err().unwrap().to_string()
    };
    assert!(reason("nvfp4", 32).contains("nvfp4 has a fixed group size of 16"));
    assert!(reason("fp8", 32).contains("fp8 has one scale per row and no group size"));
    assert!(reason("w4a16", 12).contains("a multiple of 8, not 12"));
    assert!(reason("w4a16", 512).contains("not a multiple of the group size (512)"));
}

#[test]
fn types_that_do_not_run_in_transformers_are_said() {
    let kinds = |name, dtype: &str| -> Vec<&str> {
        let folder = samples("encoded-compressed").join(format!("source-{dtype}"));
        loader_warnings(&Model::open(folder).unwrap(), name)
            .iter()
            .inspect(|warning| assert!(warning.message.starts_with("the model is not BF16")))
            .map(|warning| warning.kind)
            .collect()
    };
    for name in ["nvfp4", "mxfp4", "mxfp8"] {
        assert_eq!(kinds(name, "f16"), ["will-not-load"], "{name}");
        assert_eq!(kinds(name, "bf16"), [""; 0], "{name}");
    }
    assert_eq!(kinds("fp8", "f16"), [""; 0]);
}
