//! Bids and findings; values are checked against the canonical library in whole files.

use serde_json::json;

use super::Awq;
use crate::arithmetic::columns::outcome::{Stored, outcome, outcome_as};
use crate::dtype::DType::{F16, I16, I32};

const LAYER: [Stored<'static>; 3] =
    [("p.qweight", I32, &[128, 8]), ("p.qzeros", I32, &[4, 8]), ("p.scales", F16, &[4, 64])];

fn config(version: &str) -> serde_json::Value {
    json!({"quant_method": "awq", "bits": 4, "group_size": 32, "version": version, "zero_point": true})
}

fn finding(layer: &[Stored<'_>], config: serde_json::Value) -> String {
    let (variants, findings) = outcome(&Awq, layer, Some(config));
    assert_eq!((variants, findings.len()), (vec!["undecided".to_owned()], 1));
    findings.into_iter().next().unwrap()
}

#[test]
fn a_layer_that_fits() {
    let (variants, findings) = outcome(&Awq, &LAYER, Some(config("GEMM")));
    assert_eq!((&*variants, &*findings), (&["gemm-4bit-g32".to_owned()][..], &[][..]));
    let old = json!({"w_bit": 4, "q_group_size": 32, "zero_point": true, "version": "GEMM"});
    assert_eq!(outcome(&Awq, &LAYER, Some(old)).0, ["gemm-4bit-g32"]);
    let auto = json!({"quant_method": "auto-round", "packing_format": "auto_round:auto_awq",
        "bits": 4, "group_size": 32});
    assert_eq!(outcome(&Awq, &LAYER, Some(auto)).0, ["gemm-4bit-g32"]);
}

#[test]
fn other_layouts_are_refused_by_name() {
    for name in ["gemv", "gemv_fast", "llm-awq", "marlin"] {
        assert!(finding(&LAYER, config(name)).contains(&format!("`{name}`")));
    }
    // Shapes of the other layouts under a config that says nothing of them.
    let gemv = [
        ("p.qweight", I32, &[64, 16][..]),
        ("p.qzeros", I32, &[64, 1]),
        ("p.scales", F16, &[64, 8]),
    ];
    assert!(finding(&gemv, config("gemm")).contains("gemv"));
    let fast = [
        ("p.qweight", I16, &[16, 128][..]),
        ("p.qzeros", F16, &[8, 64]),
        ("p.scales", F16, &[8, 64]),
    ];
    assert!(finding(&fast, config("gemm")).contains("gemv_fast"));
}

#[test]
fn companions_that_do_not_fit_are_findings() {
    assert!(finding(&[LAYER[0], LAYER[2]], config("gemm")).contains("`qzeros` are missing"));
    assert!(finding(&LAYER[..2], config("gemm")).contains("`scales` are missing"));
    let zeros = ("p.qzeros", I32, &[4, 64][..]);
    assert!(finding(&[LAYER[0], zeros, LAYER[2]], config("gemm")).contains("expected I32 [4, 8]"));
    let scales = ("p.scales", I32, &[4, 64][..]);
    assert!(finding(&[LAYER[0], LAYER[1], scales], config("gemm")).contains("float type"));
    let mut other = config("gemm");
    other["group_size"] = json!(64);
    assert!(finding(&LAYER, other.clone()).contains("gives 2 groups"));
    other["bits"] = json!(8);
    assert!(finding(&LAYER, other).contains("8 bits"));
    let theta = ("p.theta", F16, &[4][..]);
    let rotated = [LAYER[0], LAYER[1], LAYER[2], theta];
    assert!(finding(&rotated, config("gemm")).contains("ParoQuant"));
    let indexed = [LAYER[0], LAYER[1], LAYER[2], ("p.g_idx", I32, &[128])];
    assert!(finding(&indexed, config("gemm")).contains("g_idx"));
    let (_, findings) = outcome(&Awq, &LAYER[1..], Some(config("gemm")));
    assert_eq!(findings.len(), 2);
    assert!(findings.iter().all(|finding| finding.contains(": orphan: ")), "{findings:?}");
}

#[test]
fn without_a_config_it_is_named_not_guessed() {
    let (variants, findings) = outcome(&Awq, &LAYER, None);
    assert_eq!(variants, ["undecided"]);
    assert!(findings[0].starts_with("p.qweight: ambiguous: "), "{findings:?}");
    assert!(findings[0].contains("awq/gemm-4bit-g32"), "{findings:?}");
    for says in ["awq/gemm", "awq/gemm-4bit-g32"] {
        let (variants, findings) = outcome_as(&Awq, &LAYER, None, says);
        assert_eq!((&*variants, &*findings), (&["gemm-4bit-g32".to_owned()][..], &[][..]));
    }
    let rotated = || {
        json!({"quant_method": "auto-round", "packing_format": "auto_round:auto_awq",
        "bits": 4, "group_size": 32, "rotation_config": {"hadamard_type": "hadamard"}})
    };
    assert!(finding(&LAYER, rotated()).contains("rotates activations at run time"));
    assert_eq!(outcome_as(&Awq, &LAYER, Some(rotated()), "awq/gemm").0, ["gemm-4bit-g32"]);
    assert_eq!(outcome_as(&Awq, &LAYER, None, "awq/gemv").0, ["undecided"]);
    assert_eq!(outcome_as(&Awq, &LAYER, None, "gptq/4bit-g32").0, ["undecided"]);
}

#[test]
fn what_others_own_is_left_to_them() {
    for method in ["gptq", "compressed-tensors", "quark"] {
        let (variants, findings) =
            outcome(&Awq, &LAYER, Some(json!({"quant_method": method, "bits": 4})));
        assert_eq!((variants.len(), findings.len()), (0, 0), "{method}");
    }
    let gptq: [Stored<'_>; 3] =
        [("p.qweight", I32, &[16, 64]), ("p.qzeros", I32, &[4, 8]), ("p.scales", F16, &[4, 64])];
    assert_eq!(outcome(&Awq, &gptq, None).0.len(), 0);
}
