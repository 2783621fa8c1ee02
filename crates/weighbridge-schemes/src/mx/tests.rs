use serde_json::json;

use super::*;
use crate::catalog::TensorInfo;
use crate::dtype::DType;
use crate::framework::testing::{self, tensor};

fn bids(tensors: &[TensorInfo], quantization: &serde_json::Value) -> Bids {
    let configs = [testing::config(json!({ "quantization_config": quantization }))];
    testing::bids(&Mx, &testing::evidence(tensors, &configs))
}

fn experts() -> Vec<TensorInfo> {
    vec![
        tensor("e.gate_up_proj_blocks", DType::U8, &[2, 6, 3, 16]),
        tensor("e.gate_up_proj_scales", DType::U8, &[2, 6, 3]),
    ]
}

#[test]
fn the_transposed_result_is_named_as_such() {
    let method = json!({ "quant_method": "mxfp4" });
    let found = bids(&experts(), &method);
    assert!(found.findings.is_empty());
    let bid = &found.weights[0];
    assert_eq!((&*bid.name, &bid.shape[..]), ("e.gate_up_proj", &[2, 96, 6][..]));
    assert_eq!(&*bid.variant, "mxfp4-transposed-interleaved");
    let mut plain = experts();
    plain[0].name = "b.mlp2_weight.blocks".into();
    plain[1].name = "b.mlp2_weight.scales".into();
    let found = bids(&plain, &method);
    assert_eq!(&found.weights[0].shape[..], [2, 6, 96]);
    assert_eq!(&*found.weights[0].variant, "mxfp4");
}

#[test]
fn blocks_and_scales_must_fit() {
    let method = json!({ "quant_method": "mxfp4" });
    let cases: [(usize, TensorInfo, &str); 4] = [
        (0, tensor("e.gate_up_proj_blocks", DType::U8, &[2, 6, 3, 8]), "8 bytes"),
        (0, tensor("e.gate_up_proj_blocks", DType::U8, &[6, 3, 16]), "four dimensions"),
        (1, tensor("e.gate_up_proj_scales", DType::U8, &[2, 6, 4]), "[2, 6, 4]"),
        (1, tensor("e.gate_up_proj_scales", DType::F32, &[2, 6, 3]), "F32"),
    ];
    for (index, other, says) in cases {
        let mut tensors = experts();
        tensors[index] = other;
        let found = bids(&tensors, &method);
        assert_eq!(found.findings[0].kind, "undecodable");
        assert!(found.findings[0].message.contains(says), "{}", found.findings[0].message);
    }
    let found = bids(&experts()[..1], &method);
    assert!(found.findings[0].message.contains("missing"));
    let found = bids(&experts()[1..], &method);
    assert_eq!((found.findings[0].kind, found.weights.len()), ("orphan", 0));
}

/// Sides that fit nowhere, in tensors without elements.
#[test]
fn sides_without_bounds_are_refused() {
    for side in [u64::MAX, u64::MAX - 14, 1 << 60] {
        let blocks = [
            tensor("w_blocks", DType::U8, &[0, side, 3, 16]),
            tensor("w_scales", DType::U8, &[0, side, 3]),
        ];
        let rows = [
            tensor("m.weight", DType::I8, &[0, side, 64]),
            tensor("m.scale", DType::F8_E8M0, &[0, side, 4]),
        ];
        for tensors in [blocks, rows] {
            let found = bids(&tensors, &json!({}));
            assert_eq!(found.findings[0].kind, "undecodable");
            assert!(found.weights[0].recipe.is_err());
        }
    }
}

#[test]
fn widths_decide_between_four_and_six_bits() {
    let e3m2 = json!({ "quant_method": "quark", "global_quant_config": {
        "weight": { "dtype": "fp6_e3m2", "scale_format": "e8m0" } } });
    let both = json!({ "quant_method": "quark", "a": { "dtype": "fp6_e3m2" },
        "b": { "dtype": "fp6_e2m3" } });
    let e5m3 = json!({ "quant_method": "quark", "a": { "scale_format": "e5m3" } });
    let cases = [
        (64, &e3m2, "mxfp4"),
        (96, &e3m2, "mxfp6-e3m2"),
        (96, &both, "undecided"),
        (128, &e3m2, "undecided"),
        (64, &e5m3, "undecided"),
    ];
    for (bytes, config, variant) in cases {
        let tensors = [
            tensor("m.weight", DType::U8, &[8, bytes]),
            tensor("m.weight_scale", DType::U8, &[8, 4]),
        ];
        let found = bids(&tensors, config);
        assert_eq!(&*found.weights[0].variant, variant);
        assert_eq!(found.findings.len(), usize::from(variant == "undecided"));
    }
}

#[test]
fn scales_of_other_schemes_are_left_alone() {
    let fp8 = json!({ "quant_method": "fp8" });
    let cases = [
        [tensor("m.weight", DType::I8, &[8, 64]), tensor("m.weight_scale", DType::F32, &[8, 1])],
        [tensor("m.weight", DType::F8_E4M3, &[8, 64]), tensor("m.scale", DType::F8_E8M0, &[8, 2])],
        [tensor("m.weight", DType::U8, &[8, 64]), tensor("m.weight_scale_2", DType::F32, &[])],
    ];
    for tensors in cases {
        let found = bids(&tensors, &fp8);
        assert!(found.weights.is_empty() && found.findings.is_empty());
    }
    let mx = json!({ "quant_method": "quark", "dtype": "mx" });
    let found = bids(&[tensor("m.weight", DType::U8, &[8, 17])], &mx);
    assert!(found.findings[0].message.contains("`mx`"));
}
