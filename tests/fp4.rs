//! NVFP4 and MX samples against the values of the libraries that wrote them.

use std::path::{Path, PathBuf};

use weighbridge::schemes::Element;
use weighbridge::{DType, Model, Weight, bf16, f16};

fn cases(scheme: &str) -> Vec<PathBuf> {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files").join(scheme);
    std::fs::read_dir(files).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn model(case: &Path) -> Model {
    let index = case.join("model.safetensors.index.json");
    Model::open(if index.exists() { index } else { case.join("model.safetensors") }).unwrap()
}

fn decoded<T: Element>(weight: &Weight<'_>) -> Vec<T> {
    let mut out = vec![T::default(); weight.len()];
    weight.decode_into(&mut out).unwrap();
    out
}

/// Values as bits, where NaN is NaN.
fn bits(weight: &Weight<'_>, dtype: DType) -> Vec<u32> {
    let of = |value: f32| if value.is_nan() { u32::MAX } else { value.to_bits() };
    match dtype {
        DType::BF16 => decoded::<bf16>(weight).iter().map(|v| of(v.to_f32())).collect(),
        DType::F16 => decoded::<f16>(weight).iter().map(|v| of(v.to_f32())).collect(),
        _ => decoded::<f32>(weight).iter().map(|v| of(*v)).collect(),
    }
}

fn check(scheme: &str, least: usize) {
    let cases = cases(scheme);
    assert!(cases.len() >= least);
    for case in cases {
        let model = model(&case);
        assert!(model.findings().is_empty(), "{case:?} {:?}", model.findings());
        for file in ["expected.safetensors", "expected-f32.safetensors"] {
            let expected = Model::open(case.join(file)).unwrap();
            let mut count = 0;
            for wanted in expected.weights() {
                let found = model.weight(wanted.name()).unwrap();
                let at = format!("{case:?} {file} {}", wanted.name());
                assert_eq!(found.scheme(), scheme, "{at}");
                assert_eq!(found.shape(), wanted.shape(), "{at}");
                let dtype = wanted.native().unwrap();
                assert!(dtype == DType::F32 || found.native() == Some(dtype), "{at}");
                let (ours, theirs) = (bits(&found, dtype), bits(&wanted, dtype));
                let differ = ours.iter().zip(&theirs).position(|(a, b)| a != b);
                assert_eq!(differ, None, "{at}: {:x?}", differ.map(|i| (ours[i], theirs[i])));
                count += 1;
            }
            let ours = model.weights().filter(|weight| weight.scheme() == scheme).count();
            assert_eq!(count, ours, "{case:?}");
        }
    }
}

#[test]
fn nvfp4_is_what_modelopt_and_comfy_kitchen_decode() {
    check("nvfp4", 5);
}

#[test]
fn mx_is_what_transformers_openai_modelopt_and_quark_decode() {
    check("mx", 8);
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
        let values = decoded::<f32>(&model.weight("w").unwrap());
        assert_eq!(values[0].to_bits(), 0x0040_0000);
        assert!(values[1] == 0.0 && values[1].is_sign_negative());
        let model = one_block(blocks, scales, 255);
        let error = model.weight("w").unwrap().decode_into(&mut [0f32; 32]).unwrap_err();
        assert!(error.to_string().contains("group 0"), "{error}");
    }
}
