//! Whole models against what ModelOpt makes of them.

use serde_json::Value as Json;
use weighbridge::Model;
use weighbridge::internals::schemes::{QuantizeWishes, SCHEMES};

use super::quantizing::{chosen, holds_against, nothing, samples};

#[test]
fn models_are_those_of_modelopt() {
    let folder = samples("encoded-modelopt");
    for dtype in ["bf16", "f16", "f32"] {
        let golden = folder.join(format!("nvfp4-{dtype}"));
        let source = folder.join(format!("source-{dtype}"));
        let quantizer = SCHEMES.quantizer_of("nvfp4", Some("modelopt")).unwrap();
        holds_against([&source, &golden], quantizer, &QuantizeWishes::default());
        let model = Model::open(source).unwrap();
        let chosen = chosen(&model, quantizer, &QuantizeWishes::default(), &nothing).unwrap();
        let (name, bytes) = &chosen.additions.files[0];
        let theirs = std::fs::read(golden.join(name)).unwrap();
        let json = |bytes| serde_json::from_slice::<Json>(bytes).unwrap();
        assert_eq!(json(bytes), json(&theirs));
    }
}
