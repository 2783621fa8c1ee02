//! Bids and findings; values are checked against the canonical library in whole files.

use serde_json::json;

use super::Gptq;
use crate::arithmetic::columns::outcome::{Stored, outcome, outcome_as};
use crate::dtype::DType::{self, F16, I32};

const LAYER: [Stored<'static>; 4] = [
    ("p.qweight", I32, &[16, 64]),
    ("p.qzeros", I32, &[4, 8]),
    ("p.scales", F16, &[4, 64]),
    ("p.g_idx", I32, &[128]),
];

fn config() -> serde_json::Value {
    json!({"quant_method": "gptq", "bits": 4, "group_size": 32, "checkpoint_format": "gptq"})
}

/// The one finding about a layer of which one tensor is another.
fn finding(change: usize, to: Option<(DType, &[u64])>) -> String {
    let mut layer = LAYER.to_vec();
    match to {
        Some((dtype, shape)) => layer[change] = (layer[change].0, dtype, shape),
        None => _ = layer.remove(change),
    }
    let (variants, findings) = outcome(&Gptq, &layer, Some(config()));
    assert_eq!((variants, findings.len()), (vec!["undecided".to_owned()], 1));
    findings.into_iter().next().unwrap()
}

#[test]
fn a_layer_that_fits() {
    let (variants, findings) = outcome(&Gptq, &LAYER, Some(config()));
    assert_eq!((&*variants, &*findings), (&["4bit-g32".to_owned()][..], &[][..]));
    let (variants, _) = outcome(&Gptq, &LAYER[..3], Some(config()));
    assert_eq!(variants, ["4bit-g32"], "g_idx may be missing");
}

#[test]
fn companions_that_do_not_fit_are_findings() {
    assert!(finding(1, None).contains("`qzeros` are missing"));
    assert!(finding(2, None).contains("`scales` are missing"));
    assert!(finding(1, Some((I32, &[4, 16]))).contains("expected I32 [4, 8] for 4 bits"));
    assert!(finding(1, Some((F16, &[4, 8]))).contains("qzeros are F16"));
    assert!(finding(2, Some((I32, &[4, 64]))).contains("expected a float type"));
    assert!(finding(2, Some((F16, &[4, 32]))).contains("32 columns, but qweight has 64"));
    assert!(finding(3, Some((I32, &[384]))).contains("expected I32 [128] for 4 bits"));
    assert!(finding(0, Some((I32, &[1, 16, 64]))).contains("two dimensions"));
}

#[test]
fn a_config_that_contradicts_the_tensors_is_a_finding() {
    let with = |key: &str, value: serde_json::Value| {
        let mut config = config();
        config[key] = value;
        let (variants, findings) = outcome(&Gptq, &LAYER, Some(config));
        assert_eq!(variants, ["undecided"]);
        findings.concat()
    };
    assert!(with("bits", json!(8)).contains("for 8 bits"));
    assert!(with("group_size", json!(64)).contains("gives 2 groups for 128 inputs"));
    assert!(with("group_size", json!(-1)).contains("gives 1 groups"));
    assert!(with("bits", json!(5)).contains("5-bit GPTQ (bit planes)"));
    assert!(with("checkpoint_format", json!("marlin")).contains("marlin"));
    assert!(with("checkpoint_format", json!("bitblas")).contains("`bitblas`"));
    assert!(with("pack_dtype", json!("int16")).contains("words of int16"));
    assert!(with("dynamic", json!({"-:p.*": {}})).contains("not quantized"));
    assert!(with("dynamic", json!({"+:p$": {"bits": 8}})).contains("for 8 bits"));
    assert!(
        with("dynamic", json!({"(?!q)p": {"bits": 8}, "p": {"bits": 8}})).contains("for 8 bits")
    );
}

/// Shapes tell bits and groups, but not whether zero points are stored less one: the two readings
/// differ by one step in every value.
#[test]
fn without_a_config_the_readings_are_named() {
    let (variants, findings) = outcome(&Gptq, &LAYER, None);
    assert_eq!(variants, ["undecided"]);
    assert!(findings[0].starts_with("p.qweight: ambiguous: "), "{findings:?}");
    assert!(findings[0].contains("gptq/4bit-g32 or gptq/4bit-g32-v2"), "{findings:?}");
    assert!(!findings[0].contains("8bit"), "{findings:?}");
    let stated = |says: &str| outcome_as(&Gptq, &LAYER, None, says);
    assert_eq!(stated("gptq/4bit-g32-v2"), (vec!["4bit-g32-v2".to_owned()], vec![]));
    assert_eq!(stated("gptq/4bit-g32").0, ["4bit-g32"]);
    let (variants, findings) = stated("gptq/8bit-g32");
    assert_eq!(variants, ["undecided"]);
    assert!(
        findings[0].contains("'gptq/8bit-g32' was given, but is not one of them"),
        "{findings:?}"
    );
}

/// Rotated weights are another model's to whoever does not rotate along.
#[test]
fn a_rotated_model_is_decoded_only_if_asked_for() {
    let rotated = || {
        json!({"quant_method": "auto-round", "bits": 4, "group_size": 32,
        "packing_format": "auto_round:auto_gptq", "rotation_config": {"hadamard_type": "hadamard"}})
    };
    let (variants, findings) = outcome(&Gptq, &LAYER, Some(rotated()));
    assert_eq!(variants, ["undecided"]);
    assert!(findings[0].starts_with("p.qweight: ambiguous: "), "{findings:?}");
    assert_eq!(outcome_as(&Gptq, &LAYER, Some(rotated()), "gptq/4bit-g32").0, ["4bit-g32"]);
    let mut plain = rotated();
    plain["rotation_config"] = json!({});
    assert_eq!(outcome(&Gptq, &LAYER, Some(plain)).0, ["4bit-g32"]);
}

/// What a config leaves out is left to the shapes, if these are clear.
#[test]
fn shapes_fill_in_for_the_config() {
    let bare = || json!({"quant_method": "gptq"});
    assert_eq!(outcome(&Gptq, &LAYER, Some(bare())).0, ["4bit-g32"]);
    assert_eq!(outcome(&Gptq, &LAYER[..3], Some(bare())).0, ["4bit-g32"]);
    // Python's look-ahead cannot be read: eight bits would not fit, so it is the usual.
    for rule in ["-:(?!q).*", "+:(?!q).*"] {
        let mut config = config();
        config["dynamic"] = json!({rule: {"bits": 8}});
        assert_eq!(outcome(&Gptq, &LAYER, Some(config)), (vec!["4bit-g32".to_owned()], vec![]));
    }
    // Thirteen inputs of three bits take two words, and so do twenty-one.
    let three: [Stored<'_>; 3] =
        [("p.qweight", I32, &[2, 32]), ("p.qzeros", I32, &[1, 3]), ("p.scales", F16, &[1, 32])];
    let config = json!({"quant_method": "gptq", "bits": 3, "group_size": -1});
    let (_, findings) = outcome(&Gptq, &three, Some(config));
    assert!(findings[0].contains("no `g_idx` to tell their number"), "{findings:?}");
}

#[test]
fn what_others_own_is_left_to_them() {
    for method in ["awq", "compressed-tensors", "quark"] {
        let (variants, findings) =
            outcome(&Gptq, &LAYER, Some(json!({"quant_method": method, "bits": 4})));
        assert_eq!((variants.len(), findings.len()), (0, 0), "{method}");
    }
    let awq: [Stored<'_>; 3] =
        [("p.qweight", I32, &[128, 8]), ("p.qzeros", I32, &[4, 8]), ("p.scales", F16, &[4, 64])];
    assert_eq!(outcome(&Gptq, &awq, None).0.len(), 0);
    let (_, findings) = outcome(&Gptq, &awq, Some(config()));
    assert!(findings[0].contains("the shapes pack eight outputs"), "{findings:?}");
}

#[test]
fn zero_points_without_a_weight_are_orphans() {
    let (variants, findings) = outcome(&Gptq, &LAYER[1..], Some(config()));
    assert_eq!(variants.len(), 0);
    assert!(findings[0].starts_with("p.qzeros: orphan: "), "{findings:?}");
    assert!(findings[1].starts_with("p.scales: orphan: "), "{findings:?}");
    assert!(findings[2].starts_with("p.g_idx: orphan: "), "{findings:?}");
    // Scales of activations have one dimension.
    let scales: [Stored<'_>; 2] = [("p.scales", F16, &[4, 64]), ("act.scales", F16, &[64])];
    assert_eq!(outcome(&Gptq, &scales, Some(config())).1.len(), 1);
    assert_eq!(outcome(&Gptq, &scales, None).1.len(), 0);
}
