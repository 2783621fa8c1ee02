//! What is taken, what is left alone, what must be refused.

use serde_json::{Value as Json, json};

use super::*;
use crate::catalog::Metadata;
use crate::framework::TensorId;
use crate::framework::testing::{self, Stored as Made};

struct Outcome {
    variants: Vec<(String, String)>,
    findings: Vec<(String, &'static str, String)>,
    dropped: Vec<TensorId>,
}

fn outcome(tensors: &[Made<'_>], config: &Json) -> Outcome {
    outcome_reading(tensors, config, &[])
}

#[test]
fn a_description_that_cannot_be_read_is_a_finding() {
    let tensors = [("a.weight", F8_E4M3, &[8, 8][..]), ("a.weight_scale", F32, &[][..])];
    let with = |text: &str| {
        let mut metadata = Metadata::default();
        metadata.push("_quantization_metadata", crate::catalog::Value::text(text));
        outcome_with(&tensors, &json!({}), &[], &metadata)
    };
    for text in ["not JSON", r#"{"other": 1}"#, r#"{"layers": 3}"#] {
        assert!(with(text).findings[0].2.contains("_quantization_metadata"), "{text}");
    }
    let good = with(r#"{"layers": {"a": {"format": "float8_e4m3fn"}}}"#);
    assert!(good.findings.is_empty(), "{:?}", good.findings);
}

/// Adds the contents of every small tensor.
fn outcome_reading(tensors: &[Made<'_>], config: &Json, contents: &[u8]) -> Outcome {
    outcome_with(tensors, config, contents, &Metadata::default())
}

fn outcome_with(
    tensors: &[Made<'_>],
    config: &Json,
    contents: &[u8],
    metadata: &Metadata,
) -> Outcome {
    let (tensors, configs) = (testing::tensors(tensors), [testing::config(config.clone())]);
    let read = |_| Ok(contents.to_vec());
    let evidence =
        Evidence::new(std::iter::once((&tensors[..], metadata)), &configs, testing::SCHEMES)
            .reading(&read);
    let bids = testing::bids(&Fp8, &evidence);
    Outcome {
        variants: bids.weights.iter().map(|b| (b.name.clone(), b.variant.to_string())).collect(),
        findings: bids
            .findings
            .into_iter()
            .map(|f| (f.tensor.unwrap_or_default(), f.kind, f.message))
            .collect(),
        dropped: bids.dropped.into_iter().map(|(id, _)| id).collect(),
    }
}

/// One finding about `a.weight` that has these words.
#[track_caller]
fn refused(tensors: &[Made<'_>], config: &Json, words: &str) {
    let Outcome { variants, findings, .. } = outcome(tensors, config);
    let [(tensor, kind, message)] = &findings[..] else { panic!("{findings:?} {variants:?}") };
    assert_eq!((&**tensor, *kind), ("a.weight", "undecodable"));
    assert!(message.contains(words), "{message}");
    assert_eq!(variants, [("a.weight".to_owned(), "undecided".to_owned())]);
}

#[track_caller]
fn decoded(tensors: &[Made<'_>], config: &Json, variant: &str) {
    let Outcome { variants, findings, .. } = outcome(tensors, config);
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(variants, [("a.weight".to_owned(), variant.to_owned())]);
}

fn fp8(block: &Json) -> Json {
    json!({ "quantization_config": { "quant_method": "fp8", "weight_block_size": block } })
}

use DType::{BF16, F8_E4M3, F8_E5M2, F8_E8M0, F16, F32, I8, U8};

#[test]
fn the_stored_type_decides_and_the_config_must_agree() {
    let pair = |dtype| [("a.weight", dtype, &[8, 8][..]), ("a.weight_scale", F32, &[][..])];
    decoded(&pair(F8_E5M2), &json!({}), "e5m2-tensor");
    decoded(&pair(F8_E4M3), &json!({}), "e4m3-tensor");
    let config = json!({ "quantization_config": { "quant_method": "fp8", "fmt": "e4m3" } });
    refused(&pair(F8_E5M2), &config, "the config says F8_E4M3 weights, but this one is F8_E5M2");
    decoded(&pair(F8_E4M3), &config, "e4m3-tensor");
}

#[test]
fn whole_numbers_are_not_floats() {
    let pair = |dtype, scale| {
        [("a.weight", dtype, &[256, 256][..]), ("a.weight_scale_inv", scale, &[2, 2][..])]
    };
    refused(&pair(I8, F32), &fp8(&json!([128, 128])), "blockwise_int8");
    refused(&pair(U8, F32), &fp8(&json!([128, 128])), "8-bit floats");
    refused(&pair(BF16, F32), &json!({}), "8-bit floats");
    let config = json!({ "quantization_config":
        { "quant_method": "blockwise_int8", "weight_block_size": [128, 128] } });
    decoded(&pair(I8, F32), &config, "int8-b128x128");
    // Pairs of 4-bit floats, which another scheme owns.
    assert!(outcome(&pair(I8, F8_E8M0), &fp8(&json!([128, 128]))).variants.is_empty());
}

#[test]
fn another_block_than_the_configs_is_refused() {
    let pair = |cells: &'static [u64]| {
        [("a.weight", F8_E4M3, &[256, 512][..]), ("a.weight_scale_inv", F32, cells)]
    };
    decoded(&pair(&[4, 8]), &json!({}), "e4m3-b64x64");
    decoded(&pair(&[4, 8]), &fp8(&json!([64, 64])), "e4m3-b64x64");
    refused(&pair(&[4, 8]), &fp8(&json!([128, 128])), "blocks of 64 would fit");
    refused(&pair(&[2, 4]), &fp8(&json!([64, 64])), "need 4 cells");
    refused(&pair(&[2, 4]), &fp8(&json!([128])), "two positive numbers");
    refused(&pair(&[2, 4]), &fp8(&json!([0, 128])), "two positive numbers");
    refused(&pair(&[3, 4]), &json!({}), "fit no block size");
    // Blocks that restart in each of four shards, without a config: 106 would be wrong.
    let shards = [("a.weight", F8_E4M3, &[1696, 256][..]), ("a.weight_scale_inv", F32, &[16, 2])];
    refused(&shards, &json!({}), "blocks of 106, or of another size");
}

#[test]
fn blocks_that_restart_in_each_shard_are_named() {
    let tensors = |weight: &'static str, scale: &'static str| {
        [(weight, F8_E4M3, &[1696, 256][..]), (scale, F32, &[16, 2][..])]
    };
    let mimo = json!({ "model_type": "mimo_v2", "quantization_config":
        { "quant_method": "fp8", "weight_block_size": [128, 128] } });
    refused(&tensors("a.weight", "a.weight_scale_inv"), &mimo, "MiMo");
    let found = outcome(
        &tensors("a.qkv_proj.weight", "a.qkv_proj.weight_scale_inv"),
        &fp8(&json!([128, 128])),
    );
    assert!(found.findings[0].2.contains("tensor-parallel shard"));
    // The same shapes elsewhere are padding.
    decoded(&tensors("a.weight", "a.weight_scale_inv"), &fp8(&json!([128, 128])), "e4m3-b128x128");
}

#[test]
fn missing_doubled_and_wrong_scales_are_findings() {
    let weight = ("a.weight", F8_E4M3, &[8, 8][..]);
    refused(&[weight], &fp8(&Json::Null), "this one has none");
    let with = |name, dtype, shape| [weight, (name, dtype, shape)];
    refused(&with("a.weight_scale", DType::I32, &[]), &json!({}), "expected F32, BF16, F16");
    refused(&with("a.weight_scale", F32, &[7]), &json!({}), "do not fit");
    refused(&with("a.weight_scale", F32, &[0]), &json!({}), "no scales");
    refused(
        &[weight, ("a.weight_scale", F32, &[]), ("a.weight_scale_inv", F32, &[])],
        &json!({}),
        "two scales",
    );
    // A module that the config leaves as it is may be without.
    let config = json!({ "quantization_config":
        { "quant_method": "fp8", "modules_to_not_convert": ["a"] } });
    assert!(outcome(&[weight], &config).findings.is_empty());
    // Scales that are 8-bit floats themselves are no weights.
    let scale = [("b.weight", U8, &[8, 8][..]), ("b.weight_scale", F8_E4M3, &[8, 1][..])];
    assert!(outcome(&scale, &fp8(&Json::Null)).findings.is_empty());
    for own in ["a.scale", "a.scale_weight", "a.qscale_weight", "a.weight_scale"] {
        refused(&with(own, F8_E4M3, &[8, 1]), &fp8(&Json::Null), "expected F32, BF16, F16");
    }
    // So may every weight where no config speaks of scales: it is a plain type.
    let plain = outcome(&[weight], &json!({}));
    assert!(plain.findings.is_empty() && plain.variants.is_empty());
}

#[test]
fn every_name_of_a_scale_is_known_in_every_type() {
    let names =
        ["a.weight_scale_inv", "a.weight_scale", "a.scale_weight", "a.qscale_weight", "a.scale"];
    for name in names {
        for (dtype, ending) in [(F32, ""), (BF16, ""), (F16, ""), (F8_E8M0, "-e8m0"), (U8, "-e8m0")]
        {
            let tensors = [("a.weight", F8_E4M3, &[8, 8][..]), (name, dtype, &[8, 1][..])];
            decoded(&tensors, &json!({}), &format!("e4m3-channel{ending}"));
        }
    }
}

#[test]
fn a_lone_scale_without_a_config_is_ambiguous() {
    let tensors = |dtype, shape| [("a.weight", F8_E4M3, &[8, 16][..]), ("a.scale", dtype, shape)];
    let open = |shape: &'static [u64], words: &str| {
        let found = outcome(&tensors(F32, shape), &json!({}));
        let [(tensor, kind, message)] = &found.findings[..] else { panic!("{:?}", found.findings) };
        assert_eq!((&**tensor, *kind), ("a.weight", "ambiguous"));
        for word in ["multiply by", "divisor", "unrelated parameter", words] {
            assert!(message.contains(word), "{message}");
        }
        assert_eq!(found.variants, [("a.weight".to_owned(), "undecided".to_owned())]);
    };
    open(&[8], "a.scale of shape [8] is: a factor to multiply by (fp8/e4m3-channel)");
    open(&[], "fp8/e4m3-tensor");
    open(&[1], "fp8/e4m3-tensor");
    // What does not fit at all is no question.
    refused(&tensors(F32, &[7]), &json!({}), "do not fit");
    // A grid is DeepSeek's, a config or a marker says what it is, and other names are certain.
    decoded(&tensors(F32, &[8, 1]), &json!({}), "e4m3-channel");
    decoded(&tensors(F32, &[8]), &fp8(&Json::Null), "e4m3-channel");
    let named = [("a.weight", F8_E4M3, &[8, 16][..]), ("a.weight_scale", F32, &[8][..])];
    decoded(&named, &json!({}), "e4m3-channel");
}

#[test]
fn the_user_says_that_a_lone_scale_is_one() {
    use crate::framework::SchemeChoice;
    let stored = testing::tensors(&[("a.weight", F8_E4M3, &[8, 16]), ("a.scale", F32, &[8])]);
    let found = |says: &str| {
        let choices = [SchemeChoice::new(Arc::new(|_: &str| true), says.into())];
        let evidence = testing::evidence(&stored, &[]).with_choices(&choices);
        let bids = testing::bids(&Fp8, &evidence);
        let findings: Vec<String> = bids.findings.into_iter().map(|f| f.message).collect();
        (bids.weights[0].variant.to_string(), findings)
    };
    assert_eq!(found("fp8/e4m3-channel"), ("e4m3-channel".to_owned(), vec![]));
    let (variant, findings) = found("fp8/e4m3-tensor");
    assert_eq!(variant, "undecided");
    assert!(findings[0].contains("'fp8/e4m3-tensor' was given, but does not match"));
}

#[test]
fn compressed_tensors_are_left_alone() {
    let tensors = [("a.weight", F8_E4M3, &[8, 8][..]), ("a.weight_scale", F32, &[8, 1][..])];
    for config in [
        json!({ "quantization_config": { "quant_method": "compressed-tensors" } }),
        json!({ "compression_config": { "config_groups": {} } }),
    ] {
        assert!(outcome(&tensors, &config).variants.is_empty());
    }
}

#[test]
fn a_marker_of_another_type_is_a_contradiction() {
    let tensors = |marker, dtype| {
        [
            ("a.weight", dtype, &[8, 8][..]),
            ("a.scale_weight", F32, &[][..]),
            ("scaled_fp8", marker, &[0][..]),
        ]
    };
    decoded(&tensors(F8_E5M2, F8_E5M2), &json!({}), "e5m2-tensor");
    decoded(&tensors(F32, F8_E4M3), &json!({}), "e4m3-tensor");
    refused(&tensors(F32, F8_E5M2), &json!({}), "the marker scaled_fp8");
    refused(&tensors(F8_E5M2, F8_E4M3), &json!({}), "the marker scaled_fp8");
    assert_eq!(outcome(&tensors(F32, F8_E4M3), &json!({})).dropped.len(), 1);
}

#[test]
fn formats_of_comfyui_must_agree_and_others_are_named() {
    let tensors = |dtype| {
        [
            ("a.weight", dtype, &[8, 8][..]),
            ("a.weight_scale", F32, &[][..]),
            ("a.comfy_quant", U8, &[30][..]),
        ]
    };
    let with = |text: &str, dtype| outcome_reading(&tensors(dtype), &json!({}), text.as_bytes());
    let says = |text: &str, dtype, words: &str| {
        let found = with(text, dtype);
        assert!(found.findings[0].2.contains(words), "{:?}", found.findings);
        assert_eq!(found.variants[0].1, "undecided");
    };
    assert_eq!(with(r#"{"format":"float8_e5m2"}"#, F8_E5M2).variants[0].1, "e5m2-tensor");
    says(r#"{"format":"float8_e5m2"}"#, F8_E4M3, "declared format is `float8_e5m2`");
    says(r#"{"format":"mxfp8"}"#, F8_E4M3, "should be E8M0");
    says(r#"{"format":"float8_e4m3fn"}"#, I8, "with a weight of I8");
    says(r#"{"format":"nvfp4"}"#, F8_E4M3, "declared format is `nvfp4`");
    says(r#"{"other":1}"#, F8_E4M3, "names no format");
    says("not JSON", F8_E4M3, "not JSON");
    // Another scheme's to decode, or to name.
    assert!(with(r#"{"format":"int8_tensorwise"}"#, I8).variants.is_empty());
    assert!(with(r#"{"format":"nvfp4"}"#, U8).variants.is_empty());
}
