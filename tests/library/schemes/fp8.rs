//! Whole models against what transformers makes of them.

use weighbridge::Model;
use weighbridge::internals::schemes::{QuantizeWishes, SCHEMES};

use super::quantizing::{holds_against, loader_warnings, samples};

fn holds(layout: &str) {
    let folder = samples("encoded-fp8");
    for dtype in ["bf16", "f16", "f32"] {
        let golden = folder.join(format!("{layout}-{dtype}"));
        let source = folder.join(format!("source-{dtype}"));
        let quantizer = SCHEMES.quantizer_of("fp8", Some(layout)).unwrap();
        holds_against([&source, &golden], quantizer, &QuantizeWishes::default());
    }
}

#[test]
fn blocks_are_those_of_transformers() {
    holds("block");
}

#[test]
fn weights_with_one_scale_are_those_of_transformers() {
    holds("tensor");
}

#[test]
fn partial_blocks_are_said() {
    let model = Model::open(samples("encoded-fp8/source-bf16")).unwrap();
    let warnings = loader_warnings(&model, "fp8-block");
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!((warning.kind, &*warning.key), ("will-not-load", "type"));
    assert!(warning.message.starts_with("weights have sides that are not multiples of 128"));
}
