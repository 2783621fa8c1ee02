//! Whole models against what transformers makes of them.

use weighbridge::Model;
use weighbridge::internals::schemes::{QuantizeWishes, SCHEMES};

use super::quantizing::{chosen, holds_against, nothing, samples};

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
    let quantizer = SCHEMES.quantizer_of("fp8", Some("block")).unwrap();
    let chosen = chosen(&model, quantizer, &QuantizeWishes::default(), &nothing).unwrap();
    assert!(chosen.notes[0].starts_with("7 weights have sides"), "{:?}", chosen.notes);
}
