//! Whole models against what transformers makes of them, and the ends of scales.

use weighbridge::Model;
use weighbridge::internals::schemes::{QuantizeWishes, SCHEMES};

use super::quantizing::{chosen, holds_against, nothing, samples};

#[test]
fn experts_are_those_of_transformers() {
    let [source, golden] = ["source", "mxfp4"].map(|name| samples("encoded-gpt-oss").join(name));
    let quantizer = SCHEMES.quantizer_of("mxfp4", Some("gpt-oss")).unwrap();
    holds_against([&source, &golden], quantizer, &QuantizeWishes::default());
}

#[test]
fn a_model_without_experts_is_refused() {
    let model = Model::open(samples("encoded-fp8/source-bf16")).unwrap();
    let quantizer = SCHEMES.quantizer_of("mxfp4", Some("gpt-oss")).unwrap();
    let refused = chosen(&model, quantizer, &QuantizeWishes::default(), &nothing).err().unwrap();
    assert!(refused.to_string().contains("no stacked experts"), "{refused}");
    let refused = SCHEMES.quantizer_of("MXFP4", Some("odd")).err().unwrap().to_string();
    assert!(refused.contains("MXFP4 has no layout odd; available: ggml, gpt-oss"), "{refused}");
}

/// A file with one block of MXFP4 under these names.
fn one_block(blocks: &str, scales: &str, scale: u8) -> Model {
    let header = format!(
        r#"{{"{blocks}":{{"dtype":"U8","shape":[1,1,1,16],"data_offsets":[0,16]}},"{scales}":{{"dtype":"U8","shape":[1,1,1],"data_offsets":[16,17]}}}}"#
    );
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend([0x82; 16]);
    bytes.push(scale);
    Model::open_bytes(bytes, "model.safetensors").unwrap()
}

/// The byte 0 is a power of two, 255 is no scale; in rows and turned.
#[test]
fn the_ends_of_powers_of_two_are_what_they_are() {
    for (blocks, scales) in [("w_blocks", "w_scales"), ("w.blocks", "w.scales")] {
        let model = one_block(blocks, scales, 0);
        let mut values = [0f32; 32];
        model.weight("w").unwrap().decode_into(&mut values).unwrap();
        assert_eq!(values[0].to_bits(), 0x0040_0000);
        assert!(values[1] == 0.0 && values[1].is_sign_negative());
        let model = one_block(blocks, scales, 255);
        let error = model.weight("w").unwrap().decode_into(&mut [0f32; 32]).unwrap_err();
        assert!(error.to_string().contains("group 0"), "{error}");
    }
}
