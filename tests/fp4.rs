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
